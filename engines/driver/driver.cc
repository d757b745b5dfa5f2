// From the command line to the exit status. Owns the adapter, the properties and the workload of a
// run, all on the main thread.
#include "kvdyno/driver/driver.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <string>
#include <vector>

#include "load/draw.h"
#include "load/workload.h"
#include "places.h"
#include "report/outcome.h"
#include "run.h"
#include "settings/command_line.h"
#include "settings/properties.h"
#include "signals.h"

namespace kvdyno {
namespace {

enum ExitStatus { kDone = 0, kWrongUsage = 1, kFailed = 2, kWrongData = 3 };

int Complain(const std::string& engine, const Status& status, ExitStatus exit_status) {
  std::fprintf(stderr, "kvdyno-%s: %s\n", engine.c_str(), status.message().c_str());
  return exit_status;
}

// Engines at a small scale keep thousands of small tables open.
void RaiseOpenFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Status CheckProgressDescriptor(int64_t fd) {
  if (fd < 0 || fcntl(static_cast<int>(fd), F_GETFD) != -1) return Status::Ok();
  return Status::InvalidArgument("progress.fd: expected an open file descriptor, got " +
                                 std::to_string(fd));
}

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

int Answer(Action action, const Properties& properties, Adapter* adapter) {
  std::string text;
  if (action == Action::kHelp) text = HelpText(properties, adapter->options());
  if (action == Action::kDescribe) text = DescribeJson(properties, adapter);
  if (action == Action::kVersion) {
    text = "kvdyno-" + adapter->engine_name() + " " + DriverVersion() + " (" +
           adapter->engine_name() + " " + adapter->engine_version() + ")\n";
  }
  std::fputs(text.c_str(), stdout);
  return kDone;
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

int Perform(const Properties& properties, const Workload& workload, Adapter* adapter) {
  const std::string engine = adapter->engine_name();
  const Settings& settings = properties.settings();
  StopSignal stop;
  const SignalWatcher watcher(&stop);
  signal(SIGPIPE, SIG_IGN);  // a reader of progress lines may leave

  Outcome outcome;
  outcome.error = PreparePlaces(settings);
  const bool wrong_data = outcome.error.ok() && Run(workload, adapter, &stop).Execute(&outcome);
  if (!settings.output_dir.empty()) {
    const std::string path = settings.output_dir + "/outcome.json";
    const Status written = WriteFileAtomically(path, OutcomeJson(outcome, properties, adapter));
    // An earlier error is the reason to report.
    if (!written.ok() && outcome.error.ok()) return Complain(engine, written, kFailed);
  }
  if (!outcome.error.ok()) {
    const std::string where = outcome.error_phase.empty() ? "open" : outcome.error_phase;
    const Status shown(outcome.error.code(), where + ": " + outcome.error.ToString());
    return Complain(engine, shown, wrong_data ? kWrongData : kFailed);
  }
  return outcome.interrupted ? kExitInterrupted : static_cast<int>(kDone);
}

}  // namespace

int DriverMain(int argc, char** argv) {
  RaiseOpenFileLimit();
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  const std::string engine = adapter->engine_name();
  Properties properties(engine, &adapter->options());
  Command command;
  Status status = ParseCommandLine({argv + 1, argv + argc}, &properties, &command);
  if (!status.ok()) return Complain(engine, status, kWrongUsage);
  if (command.action == Action::kDraw) return Draw(properties.settings(), command.draws, engine);
  if (command.action != Action::kRun) return Answer(command.action, properties, adapter.get());

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
