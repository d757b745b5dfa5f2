// The order of things in a run. The main thread owns everything here; clients work on the crew's threads only inside
// WorkPhase. Timed loops log and format nothing; what they allocate is the sampler's.
#include "run.h"

#include <algorithm>

#include "kvdyno/base/clock.h"

namespace kvdyno::sampler {
namespace {

// A delete names a pair of key and value.
constexpr uint64_t kPairBytes = 2 * sizeof(uint64_t);

TallyShape ShapeOf(bool paced) {
  TallyShape shape;
  shape.paced = paced;
  for (const Operation operation : {Operation::kInsert, Operation::kDelete, Operation::kSample}) {
    shape.used[static_cast<size_t>(operation)] = true;
  }
  return shape;
}

// Time stamp counters of two processors may differ by a few ticks.
uint64_t Elapsed(uint64_t from_ns, uint64_t to_ns) { return to_ns > from_ns ? to_ns - from_ns : 0; }

}  // namespace

Run::Run(const Settings& settings, SamplingEngine* engine, StopSignal* stop)
    : settings_(settings),
      engine_(engine),
      stop_(stop),
      started_(std::chrono::steady_clock::now()),
      started_ns_(NowNs()),
      started_at_(UnixSeconds()),
      clock_(FastClock::Calibrate()),
      sampler_(engine, settings.data_dir),
      files_(settings, started_ns_, started_at_) {}

void Run::Execute(Outcome* outcome) {
  outcome_ = outcome;
  const OpenContext context = {settings_.data_dir, settings_.memory_cap, false};
  outcome->error = Data::Draw(settings_, &data_);
  if (outcome->error.ok()) outcome->error = engine_->Open(context);
  if (!outcome->error.ok()) return;
  engine_->Note();
  if (Status status = Prepare(); !status.ok()) {
    stop_->Fail({std::move(status)});
  } else if (!stop_->requested()) {
    Phases();
  }
  if (stop_->failure().status.ok()) current_.name = "close";
  Finish();
  outcome->interrupted = stop_->interrupted();
  outcome->error = stop_->failure().status;
  if (!outcome->error.ok()) outcome->error_phase = current_.name;
}

Status Run::Prepare() {
  const auto threads =
      static_cast<uint64_t>(std::max(settings_.thread_count, 1 + settings_.update_samplers));
  const TallyShape shape = ShapeOf(settings_.paced());
  std::vector<Recorder*> recorders;
  for (uint64_t i = 0; i < threads; ++i) {
    const uint64_t seed = Mix(Mix(static_cast<uint64_t>(settings_.seed)) + i);
    clients_.push_back(std::make_unique<Client>(shape, seed, clock_, stop_));
    recorders.push_back(&clients_.back()->recorder);
  }
  crew_ = std::make_unique<Crew>(threads);
  if (settings_.paced()) crew_->Run([](uint64_t) { WakeUpPrecisely(); });
  MakeProbe();
  if (Status s = files_.Create(shape, sampler_.Sample(), outcome_); !s.ok()) return s;
  observer_ = std::make_unique<Observer>(settings_, shape, std::move(recorders), &sampler_,
                                         files_.TakeSeries(), files_.events(), started_);
  border_ = observer_->SampleBorder();
  return Status::Ok();
}

void Run::MakeProbe() {
  if (settings_.probe_interval <= 0) return;
  struct Draw {
    Random random;
    std::vector<sampling::Record> samples;
  };
  const uint64_t seed = Mix(~static_cast<uint64_t>(settings_.seed));
  const auto draw = [this, own = Draw{Random(seed), {}}]() mutable {
    const Status status = engine_->Draw({}, 1, &own.random, &own.samples);
    if (status.ok() || status.not_found()) return Status::Ok();
    return Status(status.code(), "'sample': " + status.message());
  };
  const Probe::Pace pace = {settings_.probe_interval, settings_.probe_threshold};
  probe_ = std::make_unique<Probe>(draw, pace, &sampler_.own_events(), stop_);
}

void Run::Phases() {
  if (!Load()) return;
  const size_t first = outcome_->phases.size();
  if (!Update() || !Settle()) return;
  outcome_->phases.push_back(MakeSpan("run", std::span(outcome_->phases).subspan(first)));
  Sample();
}

bool Run::Load() {
  return WorkPhase("load", data_.load().size(), [this](uint64_t i) {
    if (i == 0) Apply(data_.load(), clients_[i].get());
  });
}

// The first client writes; samplers beside it work until it has ended.
bool Run::Update() {
  return WorkPhase("update", data_.updates().size(), [&](uint64_t i) {
    Client* const client = clients_[i].get();
    if (i == 0) {
      Pace(settings_.update_target, 0, 1, client);
      Apply(data_.updates(), client);
      writer_end_ns_ = clock_.NowNs();
    } else if (i <= static_cast<uint64_t>(settings_.update_samplers)) {
      Pace(settings_.target, i - 1, settings_.update_samplers, client);
      while (Query(client)) {
      }
    }
  });
}

bool Run::Settle() {
  if (!engine_->can_settle()) return true;
  Begin("settle", Limits::kUnlimited, false);
  if (Status status = engine_->Settle(std::nullopt); !status.ok()) {
    stop_->Fail({std::move(status)});
  }
  End();
  return !stop_->requested();
}

bool Run::Sample() {
  const auto queries = static_cast<uint64_t>(settings_.queries);
  const auto threads = static_cast<uint64_t>(settings_.thread_count);
  Budget budget({.operations = queries}, threads, settings_.target > 0);
  return WorkPhase("sample", queries, [&](uint64_t i) {
    if (i >= threads) return;
    Pace(settings_.target, i, settings_.thread_count, clients_[i].get());
    for (Budget::Share share = budget.TakeOperations(); share.count > 0;
         share = budget.TakeOperations()) {
      for (uint64_t query = 0; query < share.count; ++query) {
        if (!Query(clients_[i].get())) return;
      }
    }
  });
}

bool Run::WorkPhase(const std::string& name, uint64_t operations,
                    const std::function<void(uint64_t)>& job) {
  Begin(name, operations, true);
  if (probe_ != nullptr) probe_->Begin();
  for (const auto& client : clients_) client->paced = false;
  writer_end_ns_ = UINT64_MAX;
  work_start_ns_ = clock_.NowNs();
  crew_->Run(job);
  End();
  // The phase waits for no draw beside the clients'.
  if (probe_ != nullptr) outcome_->phases.back().probe = probe_->End();
  return !stop_->requested();
}

void Run::Begin(const std::string& name, uint64_t operations, bool clients_work) {
  current_ = PhaseResult{};
  current_.name = name;
  current_.started_at = UnixSeconds();
  current_.before = border_;
  observer_->BeginPhase(name, {.operations = operations}, clients_work);
  current_.start_ns = NowNs();
}

void Run::End() {
  current_.seconds = static_cast<double>(NowNs() - current_.start_ns) * 1e-9;
  engine_->Note();
  border_ = observer_->SampleBorder();
  current_.after = border_;
  if (settings_.paced()) {
    crew_->Run([&](uint64_t i) { BookUnstarted(clients_[i].get()); });
    border_ = observer_->SampleBorder();  // entering them takes time, which is no phase's
  }
  current_.tally = observer_->EndPhase();
  outcome_->phases.push_back(current_);
}

void Run::Pace(double operations_per_second, uint64_t number, int64_t threads, Client* client) {
  if (operations_per_second <= 0) return;
  ArrivalSpec spec = settings_.Arriving(operations_per_second, threads);
  spec.thread = number;
  client->paced = true;
  if (Status s = client->pacer.Begin(spec, work_start_ns_); !s.ok()) stop_->Fail({std::move(s)});
}

bool Run::AwaitStart(Client* client, uint64_t* intended_ns) {
  bool over = stop_->requested() || writer_end_ns_.load(std::memory_order_relaxed) != UINT64_MAX;
  if (!client->paced) return !over;
  if (!over) {
    *intended_ns = client->pacer.Next(client->random);
    over = !client->pacer.WaitUntil(*intended_ns, writer_end_ns_);
  }
  if (over && !stop_->requested()) client->pacer.EndAt(writer_end_ns_);
  return !over;
}

// Queries that were due beside the writer and that no sampler came to: all others start in the end.
void Run::BookUnstarted(Client* client) {
  if (!client->paced) return;
  Random random = client->random;  // a copy: the next phase draws what it would have drawn
  OperationTally& mine = *client->recorder.Active().of(Operation::kSample);
  client->pacer.BookUnstarted(random, [&](uint64_t waited_ns, uint64_t weight) {
    mine.latency.Record(waited_ns, weight);
    mine.unstarted += weight;
  });
}

void Run::Apply(std::span<const sampling::Record> updates, Client* client) {
  uint64_t intended = 0;
  for (const sampling::Record& update : updates) {
    if (!AwaitStart(client, &intended)) return;
    const bool deletes = Data::Deletes(update);
    const uint64_t start = clock_.NowNs();
    Status status = deletes ? engine_->Delete(update) : engine_->Insert(update);
    const uint64_t end = clock_.NowNs();
    Tally& tally = client->recorder.Active();
    OperationTally& mine = *tally.of(deletes ? Operation::kDelete : Operation::kInsert);
    if (!status.ok()) [[unlikely]] {
      ++mine.failed;
      return stop_->Fail({std::move(status)});
    }
    mine.latency.Record(Elapsed(client->paced ? intended : start, end));
    if (client->paced) mine.service->Record(Elapsed(start, end));
    tally.bytes_written += deletes ? kPairBytes : sizeof(update);
  }
}

// A range without live weight has no samples, which is an answer.
bool Run::Query(Client* client) {
  uint64_t intended = 0;
  if (!AwaitStart(client, &intended)) return false;
  const sampling::Query query = data_.NextQuery(&client->random);
  const uint64_t start = clock_.NowNs();
  Status status =
      engine_->Draw(query, static_cast<size_t>(settings_.k), &client->random, &client->samples);
  const uint64_t end = clock_.NowNs();
  Tally& tally = client->recorder.Active();
  OperationTally& mine = *tally.of(Operation::kSample);
  if (!status.ok() && !status.not_found()) [[unlikely]] {
    ++mine.failed;
    stop_->Fail({std::move(status)});
    return false;
  }
  mine.latency.Record(Elapsed(client->paced ? intended : start, end));
  if (client->paced) mine.service->Record(Elapsed(start, end));
  mine.not_found += status.not_found();
  ++tally.retrievals;
  if (status.ok()) {
    mine.rows += client->samples.size();
    tally.bytes_read += client->samples.size() * sizeof(sampling::Record);
  }
  return true;
}

void Run::Finish() {
  const auto check = [&](Status status) {
    if (!status.ok()) stop_->Fail({std::move(status)});
  };
  if (observer_ != nullptr) check(observer_->Finish());
  crew_.reset();
  check(engine_->Close());
  check(files_.Finish(&sampler_, outcome_));
}

}  // namespace kvdyno::sampler
