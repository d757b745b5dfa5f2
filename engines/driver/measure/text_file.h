// Small kernel files (/proc, /sys), read whole.
// Owns nothing; safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvdyno {

// The text, or nothing when the file cannot be read.
std::optional<std::string> ReadTextFile(const std::string& path);

// The parts between separators; empty parts are dropped.
std::vector<std::string_view> Split(std::string_view text, char separator);

// A whole decimal number, or nothing ("max", "").
std::optional<uint64_t> ParseNumber(std::string_view text);

// The number behind `key` on the line that begins with it: "rchar: 12", "anon 12", "VmHWM:  12 kB".
std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view key);

}  // namespace kvdyno
