// The command line, with those of YCSB-cpp's flags whose properties the driver has.
// Owns nothing; fills a Properties in the order in which things are given, so that later ones win.
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kvdyno/base/status.h"
#include "settings/properties.h"

namespace kvdyno {

enum class Action { kRun, kHelp, kVersion, kDescribe, kDraw };

// What the command line asks for.
struct Command {
  Action action = Action::kRun;
  uint64_t draws = 0;  // of kDraw
};

// InvalidArgument names the flag, what was expected and what was found. Help, version and
// describe win over everything, whatever else the line holds.
Status ParseCommandLine(const std::vector<std::string>& arguments, Properties* properties,
                        Command* command);

// What --help begins with: what the driver does, and the arguments of a usual run.
struct Usage {
  std::string purpose;
  std::string arguments;
};

// The text of --help: flags, properties and the engine's options, with defaults.
std::string HelpText(const Usage& usage, const Properties& properties,
                     const OptionTable& engine_options);

}  // namespace kvdyno
