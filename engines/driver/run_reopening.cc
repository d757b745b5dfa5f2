// Run's part for stores that a killed run left: opening them, timing what follows, and checking
// what they hold. See run.h for who calls what.
#include <algorithm>
#include <string>

#include "kvdyno/base/clock.h"
#include "measure/kernel.h"
#include "run.h"

namespace kvdyno {
namespace {

// Keys that are checked before the mix can overwrite them: few, because the check warms caches.
constexpr size_t kCheckedFirst = 1024;

double SecondsSince(uint64_t ns) { return static_cast<double>(NowNs() - ns) * 1e-9; }

OpenContext OpenContextOf(const Settings& settings) {
  return {.directory = settings.data_dir,
          .memory_cap_bytes = settings.memory_cap,
          .sync = settings.sync,
          .log = settings.log};
}

Status BrokenPromise(const Reopening::Found& found) {
  return Status::Corruption(std::to_string(found.lost) +
                            " acknowledged rows are lost, though the engine promises to keep them "
                            "when its process is killed; the first: " +
                            found.first_lost.message());
}

}  // namespace

bool Run::Open() {
  if (settings_.reopens()) {
    if (Status s = Reopening::Make(workload_, &reopening_); !s.ok()) {
      outcome_->error = std::move(s);
      return false;
    }
  }
  std::vector<Counter> before;
  SampleProcess("/proc/self", &before);
  const uint64_t begin_ns = NowNs();
  if (Status status = adapter_->Open(OpenContextOf(settings_)); !status.ok()) {
    outcome_->error = std::move(status);
    return false;
  }
  open_seconds_ = SecondsSince(begin_ns);
  if (reopening_ == nullptr) return true;
  const std::unique_ptr<Session> session = adapter_->NewSession();
  if (Status s = reopening_->FirstGet(session.get()); !s.ok()) {
    current_.name = "first get";
    Fail(s);
    return true;
  }
  recovery_ = {{"recovery.first_answer_s", SecondsSince(begin_ns), "s", false}};
  std::vector<Counter> after;
  SampleProcess("/proc/self", &after);
  for (const Counter& change : Changes(before, after)) {
    if (change.name != "io.read_bytes" && change.name != "io.write_bytes") continue;
    recovery_.push_back({"recovery." + change.name.substr(3), change.value, "byte", false});
  }
  CheckAcknowledged(session.get(), kCheckedFirst);
  return true;
}

void Run::CheckAcknowledged(Session* session, size_t keys_max) {
  Status checked = reopening_->Check(session, keys_max);
  const Reopening::Found& found = reopening_->found();
  const std::optional<Durability> promise = adapter_->durability(settings_.sync);
  if (checked.ok() && found.lost > 0 && promise && promise->survives_process) {
    checked = BrokenPromise(found);
  }
  if (checked.ok()) return;
  current_.name = "check";
  Fail(checked);
}

void Run::AddRecovery() {
  PhaseResult& measure =
      *std::find_if(outcome_->phases.begin(), outcome_->phases.end(),
                    [](const PhaseResult& phase) { return phase.name == "measure"; });
  const auto add = [&](const char* name, double value, const char* unit) {
    recovery_.push_back({name, value, unit, false});
  };
  if (const std::optional<double> rate = reopening_->rate_before()) {
    add("recovery.rate_before", *rate, "op/s");
    if (const auto seconds = measure.curve->SecondsToNear(*rate, measure.seconds)) {
      add("recovery.full_speed_s", recovery_.front().value + *seconds, "s");
    }
  }
  if (const auto bytes = reopening_->log_bytes()) add("recovery.log_bytes", *bytes, "byte");
  CheckAcknowledged(adapter_->NewSession().get(), SIZE_MAX);
  const Reopening::Found& found = reopening_->found();
  add("recovery.checked_rows", static_cast<double>(found.checked), "row");
  add("recovery.overwritten_rows", static_cast<double>(found.overwritten), "row");
  add("recovery.lost_rows", static_cast<double>(found.lost), "row");
  measure.after.insert(measure.after.end(), recovery_.begin(), recovery_.end());
  border_ = observer_->SampleBorder();
}

void Run::Fail(const Status& status) {
  const bool wrong_data = status.code() == Code::kCorruption;
  stop_->Fail({status, wrong_data});
}

}  // namespace kvdyno
