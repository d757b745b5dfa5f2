// Run: the phases of one execution of kvdyno-sampling, in order: load, update, settle, run (a span of both), sample.
// Owns data, clients, crew and observer; borrows the engine, which it opens and closes.
// Execute is called once, by the main thread; it starts all other threads and ends them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data.h"
#include "engine.h"
#include "load/budget.h"
#include "load/crew.h"
#include "load/pacer.h"
#include "load/probe.h"
#include "load/stop_signal.h"
#include "measure/fast_clock.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "properties.h"
#include "report/observer.h"
#include "report/outcome.h"
#include "report/run_files.h"

namespace kvdyno::sampler {

class Run {
 public:
  Run(const Settings& settings, SamplingEngine* engine, StopSignal* stop);

  // Fills *outcome with what happened, also after a failure.
  void Execute(Outcome* outcome);

 private:
  // One thread's own state.
  struct Client {
    Client(const TallyShape& shape, uint64_t seed, const FastClock& clock, const StopSignal* stop)
        : recorder(shape), random(seed), pacer(clock, stop) {}
    Recorder recorder;
    Random random;
    Pacer pacer;
    bool paced = false;  // in this phase
    std::vector<sampling::Record> samples;
  };

  Status Prepare();
  void MakeProbe();
  void Phases();

  // Each of these false when the run is over.
  bool Load();
  bool Update();
  bool Settle();
  bool Sample();
  // Client `i` runs job(i); those without one rest. The phase is over when all have returned.
  bool WorkPhase(const std::string& name, uint64_t operations,
                 const std::function<void(uint64_t)>& job);
  void Begin(const std::string& name, uint64_t operations, bool clients_work);
  void End();

  // The client's starts come at this rate of all `threads` clients, of which it is `number`; 0:
  // each when the last operation has ended.
  void Pace(double operations_per_second, uint64_t number, int64_t threads, Client* client);
  // Waits for the client's next start, whose time is *intended_ns if the client is paced. False
  // when the phase is over.
  bool AwaitStart(Client* client, uint64_t* intended_ns);
  void BookUnstarted(Client* client);

  // Applies updates one after the other, until the end or a stop.
  void Apply(std::span<const sampling::Record> updates, Client* client);
  // Makes one query. False when the phase is over or the sampler failed.
  bool Query(Client* client);
  void Finish();

  const Settings& settings_;
  SamplingEngine* const engine_;
  StopSignal* const stop_;
  const std::chrono::steady_clock::time_point started_;
  const uint64_t started_ns_;
  const double started_at_;  // Unix seconds
  const FastClock clock_;
  Outcome* outcome_ = nullptr;

  Data data_;
  Sampler sampler_;
  RunFiles files_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<Crew> crew_;
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<Probe> probe_;  // null: none
  PhaseResult current_;
  uint64_t work_start_ns_ = 0;  // of the phase, of clock_
  // When the writer ended, of clock_: until then clients beside it work.
  std::atomic<uint64_t> writer_end_ns_ = UINT64_MAX;
  std::vector<Counter> border_;  // the sample that ended the last phase
};

}  // namespace kvdyno::sampler
