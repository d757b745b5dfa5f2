// The command line, with YCSB-cpp's flags.
// Owns nothing; fills a Properties in the order in which things are given, so that later ones win.
// One thread.
#pragma once

#include <string>
#include <vector>

#include "kvdyno/base/status.h"
#include "settings/properties.h"

namespace kvdyno {

enum class Action { kRun, kHelp, kVersion, kDescribe };

// InvalidArgument names the flag, what was expected and what was found. Help, version and
// describe win over everything, whatever else the line says.
Status ParseCommandLine(const std::vector<std::string>& arguments, Properties* properties,
                        Action* action);

// The text of --help: flags, properties and the engine's options, with defaults.
std::string HelpText(const Properties& properties, const OptionTable& engine_options);

}  // namespace kvdyno
