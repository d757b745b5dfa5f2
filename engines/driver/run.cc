// The order of things in a run. The main thread owns everything here; clients work on the crew's
// threads only inside WorkPhase.
#include "run.h"

#include <cstdio>
#include <span>
#include <thread>

#include "kvdyno/base/clock.h"
#include "load/kill.h"
#include "report/console.h"

namespace kvdyno {
namespace {

uint64_t OrUnlimited(uint64_t limit) { return limit == 0 ? Limits::kUnlimited : limit; }

}  // namespace

Run::Run(const Workload& workload, Adapter* adapter, StopSignal* stop)
    : workload_(workload),
      settings_(workload.settings()),
      adapter_(adapter),
      stop_(stop),
      started_(std::chrono::steady_clock::now()),
      started_ns_(NowNs()),
      started_at_(UnixSeconds()),
      clock_(FastClock::Calibrate()),
      sampler_(adapter, settings_.data_dir),
      files_(settings_, started_ns_, started_at_),
      new_keys_(static_cast<uint64_t>(settings_.record_count),
                static_cast<uint64_t>(settings_.thread_count)),
      records_(static_cast<uint64_t>(settings_.record_count)) {}

bool Run::Execute(Outcome* outcome) {
  outcome_ = outcome;
  if (!Open()) return false;
  if (Status status = MakeClients(); !status.ok()) {
    stop_->Fail({std::move(status)});
  } else if (!stop_->requested()) {
    Phases();
  }
  if (stop_->failure().status.ok()) current_.name = "close";
  Finish();

  const Failure failure = stop_->failure();
  outcome->interrupted = stop_->interrupted();
  outcome->error = failure.status;
  if (!failure.status.ok()) outcome->error_phase = current_.name;
  return failure.wrong_data;
}

// Sessions go before the store that they belong to.
void Run::Finish() {
  const auto check = [&](Status status) {
    if (!status.ok()) stop_->Fail({std::move(status)});
  };
  if (observer_ != nullptr) check(observer_->Finish());
  clients_.clear();
  probe_.reset();
  background_.reset();
  crew_.reset();
  check(adapter_->Close());
  check(files_.Finish(&sampler_, outcome_));
}

Status Run::MakeClients() {
  const auto count = static_cast<uint64_t>(settings_.thread_count);
  std::vector<Recorder*> recorders;
  if (settings_.kills()) {
    const std::string path = settings_.output_dir + "/" + kAcknowledgedFile;
    Status status = AcknowledgedWrites::Create(path, count, &acknowledged_);
    if (!status.ok()) return status;
  }
  for (uint64_t i = 0; i < count; ++i) {
    std::unique_ptr<Session> session = adapter_->NewSession();
    if (session == nullptr) {
      return Status::Internal("session " + std::to_string(i) + ": the engine returned none");
    }
    std::unique_ptr<Client> client;
    Status status =
        Client::Make(workload_, i, std::move(session), &new_keys_, clock_, stop_, &client);
    if (!status.ok()) return status;
    client->BookWrites(acknowledged_.get());
    recorders.push_back(&client->recorder());
    clients_.push_back(std::move(client));
  }
  crew_ = std::make_unique<Crew>(count);
  if (workload_.Shape().paced) crew_->Run([](uint64_t) { WakeUpPrecisely(); });
  if (Status status = MakeProbe(); !status.ok()) return status;
  if (Status status = MakeBackground(); !status.ok()) return status;
  return MakeObserver(std::move(recorders));
}

Status Run::MakeProbe() {
  if (settings_.probe_interval <= 0) return Status::Ok();
  const std::shared_ptr<Session> session = adapter_->NewSession();
  if (session == nullptr) return Status::Internal("probe: the engine returned no session");
  const auto write = [session, writes = 0]() mutable {
    const Status status = session->Put(Probe::kKey, std::to_string(++writes));
    if (status.ok()) return status;
    return Status(status.code(), "'" + std::string(Probe::kKey) + "': " + status.message());
  };
  const Probe::Pace pace = {settings_.probe_interval, settings_.probe_threshold};
  probe_ = std::make_unique<Probe>(write, pace, &sampler_.own_events(), stop_);
  return Status::Ok();
}

Status Run::MakeBackground() {
  if (settings_.background_write_rate == 0) return Status::Ok();
  std::unique_ptr<Session> session = adapter_->NewSession();
  if (session == nullptr) return Status::Internal("background: the engine returned no session");
  return BackgroundWriter::Make(workload_, std::move(session), new_keys_, stop_, &background_);
}

Status Run::MakeObserver(std::vector<Recorder*> recorders) {
  const TallyShape shape = workload_.Shape();
  if (Status s = files_.Create(shape, sampler_.Sample(), outcome_); !s.ok()) return s;
  observer_ = std::make_unique<Observer>(settings_, shape, std::move(recorders), &sampler_,
                                         files_.TakeSeries(), files_.events(), started_);
  border_ = observer_->SampleBorder();
  return Status::Ok();
}

void Run::Phases() {
  if (settings_.do_load && !Load()) return;
  if (settings_.do_transaction) Transact();
}

bool Run::Load() {
  const Limits limits = {.operations = static_cast<uint64_t>(settings_.record_count),
                         .seconds = settings_.load_seconds};
  const bool done = WorkPhase("load", limits, Stream::kLoad);
  const PhaseResult& load = outcome_->phases.back();
  std::fputs(FinalLines("Load", load.seconds, load.tally->operations()).c_str(), stdout);
  if (!done) return false;
  const bool settled = SettlePhase("settle", settings_.settle, std::nullopt);
  EndSpan("build", 0);
  return settled && Age() && Pause(settings_.sleep_after_load);
}

// Outside of the span: what a load costs does not depend on what happens to its data later.
bool Run::Age() {
  if (!settings_.ages()) return true;
  const Limits limits = {.operations = workload_.AgeOperations()};
  if (!WorkPhase("age", limits, Stream::kAge)) return false;
  const bool settled = SettlePhase("age-settle", settings_.settle, std::nullopt);
  WeighStore();
  return settled;
}

// What a warm-up leaves undone is its own, not the measured phase's.
bool Run::WarmUp() {
  if (settings_.warmup_operations == 0 && settings_.warmup_seconds == 0) return true;
  const Limits limits = {
      .operations = OrUnlimited(static_cast<uint64_t>(settings_.warmup_operations)),
      .seconds = settings_.warmup_seconds};
  const std::optional<uint64_t> debt = DebtNow();
  return WorkPhase("warmup", limits, Stream::kMix) && SettlePhase("rest", settings_.rest, debt);
}

Limits Run::MeasureLimits() const {
  return {.operations = OrUnlimited(static_cast<uint64_t>(settings_.operation_count)),
          .bytes_written = OrUnlimited(settings_.measure_bytes),
          .seconds = settings_.measure_seconds,
          .kill_at = OrUnlimited(static_cast<uint64_t>(settings_.kill_operations))};
}

bool Run::Measure() {
  const KillTimer kill(settings_.kill_seconds);
  return WorkPhase("measure", MeasureLimits(), Stream::kMix);
}

void Run::Transact() {
  if (!WarmUp()) return;
  const size_t first = outcome_->phases.size();
  const std::optional<uint64_t> debt = DebtNow();
  const bool done = Measure();
  const PhaseResult& measure = outcome_->phases.back();
  std::fputs(FinalLines("Run", measure.seconds, measure.tally->operations()).c_str(), stdout);
  if (!done) return;
  SettlePhase("drain", settings_.drain, debt);
  if (reopening_ != nullptr) AddRecovery();
  EndSpan("run", first);
}

std::optional<uint64_t> Run::DebtNow() const {
  const Counter* debt = Find(border_, kDebt);
  if (debt == nullptr) return std::nullopt;
  return static_cast<uint64_t>(debt->value);
}

// An interruption ends it early.
bool Run::Pause(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!stop_->requested() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (seconds > 0) border_ = observer_->SampleBorder();
  return !stop_->requested();
}

bool Run::WorkPhase(const std::string& name, const Limits& limits, Stream stream) {
  Begin(name, limits, true);
  if (probe_ != nullptr) probe_->Begin();
  BackgroundWriter* const background = stream == Stream::kMix ? background_.get() : nullptr;
  if (background != nullptr) background->Begin();
  PhaseWork shared(limits, clients_.size(), workload_.paced(stream), clock_);
  crew_->Run([&](uint64_t i) { clients_[i]->Work(stream, &shared); });
  if (background != nullptr) background->RequestEnd();
  End(stream);
  PhaseResult& phase = outcome_->phases.back();
  // The phase waits for no write beside the clients', which may hang in a stall.
  if (probe_ != nullptr) phase.probe = probe_->End();
  if (background != nullptr) phase.background = background->End();
  const OperationTally* inserts = phase.tally->of(Operation::kInsert);
  const uint64_t inserted = inserts == nullptr ? 0 : inserts->completed();
  records_ = stream == Stream::kLoad ? inserted : records_ + inserted;
  return !stop_->requested();
}

bool Run::SettlePhase(const std::string& name, bool asked, std::optional<uint64_t> debt_max) {
  if (!asked || !adapter_->can_settle()) return true;
  Begin(name, {}, false);
  if (Status status = adapter_->Settle(debt_max); !status.ok()) stop_->Fail({std::move(status)});
  End(std::nullopt);
  if (debt_max && !stop_->requested()) SayDebtThatStays(*debt_max);
  return !stop_->requested();
}

// No failure: some engines decide for themselves what to do when, and the metrics show it.
void Run::SayDebtThatStays(uint64_t debt_max) const {
  const std::optional<uint64_t> debt = DebtNow();
  if (!debt || *debt <= debt_max) return;
  std::fprintf(stderr, "%s: expected a debt of at most %llu bytes at the end, got %llu\n",
               outcome_->phases.back().name.c_str(), static_cast<unsigned long long>(debt_max),
               static_cast<unsigned long long>(*debt));
}

void Run::Begin(const std::string& name, const Limits& limits, bool clients_work) {
  current_ = PhaseResult{};
  current_.name = name;
  current_.started_at = UnixSeconds();
  current_.before = border_;
  observer_->BeginPhase(name, limits, clients_work);
  current_.start_ns = NowNs();
}

// Entering operations that no client started takes time, which is no phase's.
void Run::End(std::optional<Stream> worked) {
  current_.seconds = static_cast<double>(NowNs() - current_.start_ns) * 1e-9;
  border_ = observer_->SampleBorder();
  current_.after = border_;
  if (outcome_->phases.empty()) current_.open_seconds = open_seconds_;
  if (worked && workload_.paced(*worked)) {
    crew_->Run([&](uint64_t i) { clients_[i]->BookUnstarted(*worked); });
    border_ = observer_->SampleBorder();
  }
  current_.tally = observer_->EndPhase();
  if (worked) AddCurve();
  outcome_->phases.push_back(current_);
}

// What clients did after their last marks belongs to the last moment.
void Run::AddCurve() {
  auto curve = std::make_shared<RateCurve>();
  for (const auto& client : clients_) curve->Merge(client->curve());
  const uint64_t operations = current_.tally->operations();
  const uint64_t booked = curve->total();
  if (operations > booked && current_.seconds > 0) {
    curve->Add(static_cast<uint64_t>(current_.seconds * 1e9) - 1, operations - booked);
  }
  current_.curve = std::move(curve);
}

// The walk through the store's folder takes time, CPU and reads: no phase pays for it.
void Run::WeighStore() {
  std::vector<Counter>& after = outcome_->phases.back().after;
  after.push_back(sampler_.DiskUsed());
  const double live = workload_.LiveBytes(records_);
  const bool knows_live = workload_.keys_stay() || !settings_.do_transaction;
  if (knows_live && live > 0) {
    after.push_back({"space_amplification", after.back().value / live, "ratio", false});
  }
  border_ = observer_->SampleBorder();
}

void Run::EndSpan(const std::string& name, size_t first) {
  WeighStore();
  const std::span phases = std::span(outcome_->phases).subspan(first);
  outcome_->phases.push_back(MakeSpan(name, phases));
}

}  // namespace kvdyno
