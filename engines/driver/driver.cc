// From the command line to the exit status. Owns the adapter, the properties and the workload of a
// run, all on the main thread.
#include "kvdyno/driver/driver.h"

#include <signal.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "load/draw.h"
#include "load/workload.h"
#include "places.h"
#include "program.h"
#include "run.h"
#include "settings/command_line.h"
#include "settings/core_properties.h"
#include "signals.h"

namespace kvdyno {
namespace {

// An engine that cannot be asked to finish what ageing left behind pays for it while measured.
Status CheckAge(const Settings& settings, const Adapter& adapter) {
  if (!settings.ages() || adapter.can_settle()) return Status::Ok();
  return Status::InvalidArgument("age: expected an engine that can settle, got " +
                                 adapter.engine_name() + ", which cannot; leave age at 0");
}

// What this engine's interface lacks is refused before anything runs.
Status CheckInterface(const Settings& settings, const Adapter& adapter) {
  const bool reverse = settings.do_transaction && settings.reverse_scan_proportion > 0;
  if (reverse && !adapter.can_scan_reverse()) {
    return Status::InvalidArgument(
        "reversescanproportion: expected an engine that can scan backwards, got " +
        adapter.engine_name() + ", which cannot; leave it at 0");
  }
  if (!settings.log && !adapter.can_skip_log()) {
    return Status::InvalidArgument("log: expected an engine that can write without its log, got " +
                                   adapter.engine_name() + ", which cannot; leave log at true");
  }
  return CheckAge(settings, adapter);
}

DriverFacts FactsOf(const Adapter& adapter, const Settings& settings) {
  DriverFacts facts = {.name = "ycsb",
                       .phases = {"load", "build", "warmup", "measure", "run"},
                       .operations = {},
                       .log = settings.log,
                       .skips_log = adapter.can_skip_log()};
  if (adapter.can_settle()) {
    facts.phases = {"load",   "settle", "build",   "age",   "age-settle",
                    "warmup", "rest",   "measure", "drain", "run"};
  }
  for (size_t i = 0; i < kMixOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (operation == Operation::kReverseScan && !adapter.can_scan_reverse()) continue;
    facts.operations.push_back(operation);
  }
  return facts;
}

Usage UsageOf(const std::string& engine) {
  return {.purpose = "loads " + engine + " with YCSB workloads and measures it.",
          .arguments = "-load -run -P workload.properties -p data.dir=DIR"};
}

int Draw(const Settings& settings, uint64_t count, const std::string& engine) {
  std::unique_ptr<Workload> workload;
  Status status = Workload::Make(settings, &workload);
  std::string table;
  if (status.ok()) status = DrawTable(*workload, count, &table);
  if (!status.ok()) return Complain(engine, status, kWrongUsage);
  std::fputs(table.c_str(), stdout);
  return kDone;
}

int Perform(const CoreProperties& properties, const Workload& workload, Adapter* adapter) {
  const Settings& settings = properties.settings();
  StopSignal stop;
  const SignalWatcher watcher(&stop);
  signal(SIGPIPE, SIG_IGN);  // a reader of progress lines may leave

  Outcome outcome;
  outcome.error = PreparePlaces(settings);
  const bool wrong_data = outcome.error.ok() && Run(workload, adapter, &stop).Execute(&outcome);
  return Conclude(outcome, FactsOf(*adapter, settings), properties, adapter, wrong_data);
}

}  // namespace

int DriverMain(int argc, char** argv) {
  RaiseOpenFileLimit();
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  const std::string engine = adapter->engine_name();
  CoreProperties properties(engine, &adapter->options());
  Command command;
  Status status = ParseCommandLine({argv + 1, argv + argc}, &properties, &command);
  if (!status.ok()) return Complain(engine, status, kWrongUsage);
  if (command.action == Action::kDraw) return Draw(properties.settings(), command.draws, engine);
  if (command.action != Action::kRun) {
    return Answer(command.action, UsageOf(engine), FactsOf(*adapter, properties.settings()),
                  properties, adapter.get());
  }

  const Settings& settings = properties.settings();
  status = settings.Check(engine);
  if (status.ok()) status = CheckInterface(settings, *adapter);
  if (status.ok()) status = CheckPlaces(settings);
  if (status.ok()) status = CheckProgressDescriptor(settings.progress_fd);
  std::unique_ptr<Workload> workload;
  if (status.ok()) status = Workload::Make(settings, &workload);
  if (!status.ok()) return Complain(engine, status, kWrongUsage);
  return Perform(properties, *workload, adapter.get());
}

}  // namespace kvdyno
