// The command line, with YCSB-cpp's flags.
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

// The text of --help: flags, properties and the engine's options, with defaults.
std::string HelpText(const Properties& properties, const OptionTable& engine_options);

}  // namespace kvdyno
