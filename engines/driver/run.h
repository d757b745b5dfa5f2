// Run: the phases of one execution, in order.
// Owns clients, crew and observer; borrows the adapter, which it opens and closes. Knows neither
// the command line nor how outcomes are written.
//
// Threads: Execute is called once, by the main thread; it starts all others and ends them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "load/acknowledged.h"
#include "load/background_writer.h"
#include "load/client.h"
#include "load/crew.h"
#include "load/key_sequence.h"
#include "load/probe.h"
#include "load/stop_signal.h"
#include "load/workload.h"
#include "measure/fast_clock.h"
#include "measure/sampler.h"
#include "reopening.h"
#include "report/observer.h"
#include "report/outcome.h"
#include "report/run_files.h"

namespace kvdyno {

class Run {
 public:
  Run(const Workload& workload, Adapter* adapter, StopSignal* stop);

  // Fills *outcome with what happened, also after a failure. True when data was read that is not
  // data written.
  bool Execute(Outcome* outcome);

 private:
  // Opens the store and, where a killed run left it, times its first answer.
  bool Open();
  Status MakeClients();
  Status MakeProbe();
  Status MakeBackground();
  Status MakeObserver(std::vector<Recorder*> recorders);
  void Phases();

  // Each of these false when the run is over.
  bool Load();
  bool Age();
  bool WarmUp();
  bool Pause(double seconds);
  bool WorkPhase(const std::string& name, const Limits& limits, Stream stream);
  // Lets the engine finish its work, down to a debt if one is given; no phase when it was not asked
  // to, or cannot.
  bool SettlePhase(const std::string& name, bool asked, std::optional<uint64_t> debt_max);
  void SayDebtThatStays(uint64_t debt_max) const;

  void Transact();
  Limits MeasureLimits() const;
  bool Measure();
  // What reopening cost, and what the kill took, as metrics of the measured phase.
  void AddRecovery();
  // Lost rows fail the run if the engine promises to keep them.
  void CheckAcknowledged(Session* session, size_t keys_max);
  void Fail(const Status& status);  // Corruption is wrong data
  void Begin(const std::string& name, const Limits& limits, bool clients_work);
  void End(std::optional<Stream> worked);
  void AddCurve();
  // Adds the store's size to the last phase.
  void WeighStore();
  // Adds the span of the phases from number `first` on.
  void EndSpan(const std::string& name, size_t first);
  // What the engine owes at this border, where it knows.
  std::optional<uint64_t> DebtNow() const;
  void Finish();

  const Workload& workload_;
  const Settings& settings_;
  Adapter* const adapter_;
  StopSignal* const stop_;
  const std::chrono::steady_clock::time_point started_;
  const uint64_t started_ns_;  // the same moment, on the events' clock
  const double started_at_;    // Unix seconds
  const FastClock clock_;
  Outcome* outcome_ = nullptr;

  Sampler sampler_;
  RunFiles files_;
  KeySequence new_keys_;
  std::unique_ptr<Crew> crew_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<Probe> probe_;                      // null: none
  std::unique_ptr<BackgroundWriter> background_;      // null: none
  std::unique_ptr<AcknowledgedWrites> acknowledged_;  // null: not kept
  std::unique_ptr<Reopening> reopening_;              // null: no killed run left the store
  std::vector<Counter> recovery_;                     // metrics known once it answers
  std::unique_ptr<Observer> observer_;
  PhaseResult current_;
  std::vector<Counter> border_;  // the sample that ended the last phase
  double open_seconds_ = 0;
  uint64_t records_ = 0;  // in the store, if the mix deletes none
};

}  // namespace kvdyno
