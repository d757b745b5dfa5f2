// Reading and cutting up small kernel files. Owns nothing; safe from any thread.
#include "measure/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

namespace kvdyno {

std::optional<std::string> ReadTextFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  ssize_t size;
  while ((size = read(fd, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(size));
  }
  close(fd);
  if (size < 0) return std::nullopt;
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view key) {
  for (std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    const size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos || start == 0) continue;
    line.remove_prefix(start);
    return ParseNumber(line.substr(0, line.find(' ')));
  }
  return std::nullopt;
}

}  // namespace kvdyno
