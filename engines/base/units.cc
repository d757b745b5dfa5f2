#include "kvdyno/base/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace kvdyno {
namespace {

using Wide = unsigned __int128;
constexpr size_t kDecimalsMax = 38;  // 10^38 < 2^128

constexpr std::string_view kBytePrefixes = "kmgtpe";  // 1024^1, 1024^2, ...

// A unit is seconds / parts: a division by a whole number rounds correctly, 100us is 0.0001.
struct TimeUnit {
  std::string_view name;
  double seconds;
  double parts;
};
constexpr std::array<TimeUnit, 6> kTimeUnits = {
    {{"ns", 1, 1e9}, {"us", 1, 1e6}, {"ms", 1, 1e3}, {"s", 1, 1}, {"min", 60, 1}, {"h", 3600, 1}}};

Status Rejected(std::string_view what, std::string_view text, std::string_view expected) {
  return Status::InvalidArgument(std::string(what) + " '" + std::string(text) + "': expected " +
                                 std::string(expected));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

// Removes the number at the front of *text, so that the unit remains.
std::string_view TakeNumber(std::string_view* text) {
  size_t length = 0;
  while (length < text->size() && (IsDigit((*text)[length]) || (*text)[length] == '.')) ++length;
  const std::string_view number = text->substr(0, length);
  *text = Trimmed(text->substr(length));
  return number;
}

// The power of 1024 that a unit stands for, or -1.
int BytePower(std::string_view unit) {
  std::string lower(unit);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.empty() || lower == "b") return 0;
  const std::string rest = lower.substr(1);
  if (!rest.empty() && rest != "b" && rest != "ib") return -1;
  const size_t prefix = kBytePrefixes.find(lower[0]);
  return prefix == std::string_view::npos ? -1 : static_cast<int>(prefix) + 1;
}

bool ParseDigits(std::string_view digits, uint64_t* value) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value);
  return error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

Status ParseBytes(std::string_view text, uint64_t* bytes) {
  std::string_view unit = Trimmed(text);
  std::string digits(TakeNumber(&unit));
  const int power = BytePower(unit);
  if (digits.empty()) return Rejected("size", text, "a number of bytes, such as 64MiB or 512");
  if (power < 0) {
    return Rejected("size", text,
                    "a unit of B, KiB, MiB, GiB, TiB, PiB or EiB, got '" + std::string(unit) + "'");
  }
  // The number is digits / 10^decimals, exactly.
  size_t decimals = 0;
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    while (digits.back() == '0') digits.pop_back();
    decimals = digits.size() - point - 1;
    digits.erase(point, 1);
  }
  uint64_t numerator = 0;
  const bool parsed = ParseDigits(digits, &numerator) && decimals <= kDecimalsMax;
  Wide divisor = 1;
  for (size_t i = 0; parsed && i < decimals; ++i) divisor *= 10;
  const Wide scaled = static_cast<Wide>(numerator) << (10 * power);
  if (!parsed || scaled % divisor != 0 || scaled / divisor > std::numeric_limits<uint64_t>::max()) {
    return Rejected("size", text, "a whole number of bytes below 2^64");
  }
  *bytes = static_cast<uint64_t>(scaled / divisor);
  return Status::Ok();
}

Status ParseSeconds(std::string_view text, double* seconds) {
  std::string_view unit = Trimmed(text);
  const std::string_view number = TakeNumber(&unit);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(value)) {
    return Rejected("duration", text, "a number of seconds or a duration such as 10s or 250ms");
  }
  if (unit.empty()) unit = "s";
  for (const TimeUnit& known : kTimeUnits) {
    if (known.name != unit) continue;
    *seconds = value * known.seconds / known.parts;
    return Status::Ok();
  }
  return Rejected("duration", text,
                  "a unit of ns, us, ms, s, min or h, got '" + std::string(unit) + "'");
}

std::string FormatBytes(uint64_t bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"",    "KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + std::string(kUnits[power]);
}

}  // namespace kvdyno
