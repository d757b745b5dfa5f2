// Printing and ending, on the main thread.
#include "program.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <cstdio>

#include "signals.h"

namespace kvdyno {

int Complain(const std::string& engine, const Status& status, ExitStatus exit_status) {
  std::fprintf(stderr, "kvdyno-%s: %s\n", engine.c_str(), status.message().c_str());
  return exit_status;
}

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

int Answer(Action action, const Usage& usage, const DriverFacts& driver,
           const Properties& properties, Engine* engine) {
  std::string text;
  if (action == Action::kHelp) text = HelpText(usage, properties, engine->options());
  if (action == Action::kDescribe) text = DescribeJson(driver, properties, engine);
  if (action == Action::kVersion) {
    text = "kvdyno-" + engine->engine_name() + " " + DriverVersion() + " (" +
           engine->engine_name() + " " + engine->engine_version() + ")\n";
  }
  std::fputs(text.c_str(), stdout);
  return kDone;
}

int Conclude(const Outcome& outcome, const DriverFacts& driver, const Properties& properties,
             Engine* engine, bool wrong_data) {
  const std::string name = engine->engine_name();
  const std::string& output_dir = properties.common().output_dir;
  if (!output_dir.empty()) {
    const std::string path = output_dir + "/outcome.json";
    const Status written =
        WriteFileAtomically(path, OutcomeJson(outcome, driver, properties, engine));
    // An earlier error is the reason to report.
    if (!written.ok() && outcome.error.ok()) return Complain(name, written, kFailed);
  }
  if (!outcome.error.ok()) {
    const std::string where = outcome.error_phase.empty() ? "open" : outcome.error_phase;
    const Status shown(outcome.error.code(), where + ": " + outcome.error.ToString());
    return Complain(name, shown, wrong_data ? kWrongData : kFailed);
  }
  return outcome.interrupted ? kExitInterrupted : static_cast<int>(kDone);
}

}  // namespace kvdyno
