// Outcome: what a run leaves behind, and the program's description of itself, as JSON.
// Knows the formats of docs/formats.md; owns nothing.
// One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kvdyno/api/engine.h"
#include "kvdyno/base/status.h"
#include "report/phase_result.h"
#include "settings/properties.h"

namespace kvdyno {

// The driver's own version.
std::string DriverVersion();

struct SeriesInfo {
  std::string file;  // empty: no series
  double interval_seconds = 0;
  std::map<std::string, std::string> columns;
};

struct Outcome {
  Status error;             // ok: none
  std::string error_phase;  // empty: before the first phase
  bool interrupted = false;
  std::vector<PhaseResult> phases;
  SeriesInfo series;
  std::string histograms;  // file name; empty: none
  std::string events;      // file name; empty: none
};

// A part of what a run costs: `amount` times the product of properties and options. It counts where
// the options named in `where` have those values. Plans add up what they know before a run.
struct Cost {
  std::string of;  // "memory" or "disk" (bytes at the peak), or "time" (seconds)
  double amount = 0;
  std::vector<std::string> times;
  std::map<std::string, std::string> where = {};
};

// What a driver is, whatever engine it drives.
struct DriverFacts {
  std::string name;
  std::vector<std::string> phases;
  std::vector<Operation> operations;
  bool log = true;         // this run's writes go to the engine's log
  bool skips_log = false;  // the driver can make a run without
  std::vector<Cost> costs = {};
};

// outcome.json (kvdyno.outcome/1).
std::string OutcomeJson(const Outcome& outcome, const DriverFacts& driver,
                        const Properties& properties, Engine* engine);

// --describe (kvdyno.describe/1).
std::string DescribeJson(const DriverFacts& driver, const Properties& properties, Engine* engine);

// Writes the file whole or not at all.
Status WriteFileAtomically(const std::string& path, const std::string& text);

}  // namespace kvdyno
