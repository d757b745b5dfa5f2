// Options as text: members of chunkstore::Options by name, for languages without the struct.
// Owns the names and spellings, no default and no range: the struct and Store::Open have those.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "chunkstore/options.h"
#include "kvdyno/base/status.h"

namespace chunkstore {

// InvalidArgument, and nothing is changed, for an unknown name or an unreadable value.
kvdyno::Status SetOption(std::string_view name, std::string_view text, Options* options);

// The value as SetOption reads it; false for an unknown name.
bool GetOption(std::string_view name, const Options& options, std::string* text);

}  // namespace chunkstore
