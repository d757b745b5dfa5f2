// Keys and values as text: for reports and for the tools.
// Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chunkstore {

// Printable ASCII as it is, all else as \xNN, in quotes; beyond `limit` bytes cut off with "…".
std::string Quoted(std::string_view bytes, size_t limit = 64);
// The same without quotes and limit; Unescaped turns it back (also of \\ and \"). False: a bad
// escape.
std::string Escaped(std::string_view bytes);
bool Unescaped(std::string_view text, std::string* bytes);

}  // namespace chunkstore
