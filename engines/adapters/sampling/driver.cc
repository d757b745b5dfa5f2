// From the command line to the exit status. Owns engine and properties of a run, all on the main thread.
#include "driver.h"

#include <signal.h>

#include <string>

#include "engine.h"
#include "places.h"
#include "program.h"
#include "properties.h"
#include "run.h"
#include "signals.h"

namespace kvdyno::sampler {
namespace {

// Measured, as the peak of the process's memory and the time of its phases. A merge holds its
// result beside its sources, which may be the whole index; in external mode its cap includes it.
std::vector<Cost> Costs() {
  const std::map<std::string, std::string> memory = {{"sampler", "index"}, {"storage", "memory"}};
  const std::map<std::string, std::string> external = {{"sampler", "index"},
                                                       {"storage", "external"}};
  const auto with = [](std::map<std::string, std::string> where, const char* option,
                       const char* value) {
    where[option] = value;
    return where;
  };
  std::vector<Cost> costs = {
      {"memory", 8e6, {}},
      {"memory", 36, {"records"}},                  // inserts, and places of live records
      {"memory", 48, {"records", "delete.share"}},  // deletes
      {"memory", 2 * 24, {"records"}, memory},
      {"memory", 2 * 100, {"buffer_records"}, memory},
      {"memory", 28, {"records"}, with(memory, "layout", "leveling")},
      {"memory", 2 * 16, {"records"}, with(memory, "structure", "weighted-set")},
      {"memory", 2 * 26, {"records"}, with(memory, "structure", "weighted-range")},
      {"memory", 2 * 48, {"records", "delete.share"}, with(memory, "deletes", "tombstones")},
      {"memory", 20, {"records"}, external},  // while the updates are drawn
      {"memory", 1, {"memory_bytes"}, external},
      {"disk", 2 * 25, {"records"}, external},
      {"time", 1.5e-6, {"records"}},
      {"time", 3e-7, {"queries", "k"}},
      {"time", 1e-8, {"queries", "records"}, {{"sampler", "reservoir"}}},
      {"time", 2.8e-5, {"queries", "k"}, external},  // a page each
      {"time", 3.6e-4, {"records", "delete.share"}, with(external, "deletes", "tagging")},
  };
  const std::map<std::string, double> baselines = {
      {"static-alias", 110}, {"fenwick-tree", 110}, {"aggregate-tree", 60}, {"reservoir", 90}};
  for (const auto& [sampler, bytes] : baselines) {
    costs.push_back({"memory", bytes, {"records"}, {{"sampler", sampler}}});
  }
  return costs;
}

const DriverFacts kFacts = {
    .name = "sampling",
    .phases = {"load", "update", "settle", "run", "sample"},
    .operations = {Operation::kInsert, Operation::kDelete, Operation::kSample},
    .costs = Costs()};

const Usage kUsage = {.purpose =
                          "inserts weighted records, deletes some, samples the rest, and "
                          "measures that.",
                      .arguments = "-p records=1000000 -p data.dir=DIR -p output.dir=DIR"};

int Perform(const SamplerProperties& properties, SamplingEngine* engine) {
  StopSignal stop;
  const SignalWatcher watcher(&stop);
  signal(SIGPIPE, SIG_IGN);  // a reader of progress lines may leave
  Outcome outcome;
  outcome.error = PreparePlaces(properties.settings());
  if (outcome.error.ok()) Run(properties.settings(), engine, &stop).Execute(&outcome);
  return Conclude(outcome, kFacts, properties, engine, false);
}

}  // namespace

int DriverMain(int argc, char** argv) {
  SamplingEngine engine;
  const std::string name = engine.engine_name();
  SamplerProperties properties(name, &engine.options());
  Command command;
  Status status = ParseCommandLine({argv + 1, argv + argc}, &properties, &command);
  if (!status.ok()) return Complain(name, status, kWrongUsage);
  if (command.action != Action::kRun) {
    return Answer(command.action, kUsage, kFacts, properties, &engine);
  }
  const Settings& settings = properties.settings();
  status = settings.Check(name, engine.record_bytes());
  if (status.ok()) {
    status = engine.CheckThreads(settings.thread_count, settings.update_samplers,
                                 settings.probe_interval > 0);
  }
  if (status.ok()) status = CheckPlaces(settings);
  if (status.ok()) status = CheckProgressDescriptor(settings.progress_fd);
  if (!status.ok()) return Complain(name, status, kWrongUsage);
  return Perform(properties, &engine);
}

}  // namespace kvdyno::sampler
