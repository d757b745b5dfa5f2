// What every driver's main function does around its runs: usage, descriptions, the outcome, the exit status.
// Knows neither phases nor workloads. For the main thread.
#pragma once

#include <cstdint>
#include <string>

#include "kvdyno/api/engine.h"
#include "report/outcome.h"
#include "settings/command_line.h"
#include "settings/properties.h"

namespace kvdyno {

enum ExitStatus { kDone = 0, kWrongUsage = 1, kFailed = 2, kWrongData = 3 };

// Prints the error. Returns the exit status.
int Complain(const std::string& engine, const Status& status, ExitStatus exit_status);

// Engines at a small scale keep thousands of small tables open.
void RaiseOpenFileLimit();

// InvalidArgument unless it is open, or negative: none.
Status CheckProgressDescriptor(int64_t fd);

// Prints help, version or description. Returns the exit status.
int Answer(Action action, const Usage& usage, const DriverFacts& driver,
           const Properties& properties, Engine* engine);

// Writes outcome.json where there is an output.dir, and prints the error, if any. Returns the exit status.
int Conclude(const Outcome& outcome, const DriverFacts& driver, const Properties& properties,
             Engine* engine, bool wrong_data);

}  // namespace kvdyno
