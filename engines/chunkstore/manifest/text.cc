#include "manifest/text.h"

#include <cstdint>

namespace chunkstore {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

int Nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\\' || c == '"') {
      text += {'\\', c};
    } else if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

std::string Quoted(std::string_view bytes, size_t limit) {
  std::string text = "\"";
  text += Escaped(bytes.substr(0, limit));
  text += bytes.size() > limit ? "…\"" : "\"";
  return text;
}

bool Unescaped(std::string_view text, std::string* bytes) {
  bytes->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes->push_back(text[i]);
    } else if (i + 1 < text.size() && (text[i + 1] == '\\' || text[i + 1] == '"')) {
      bytes->push_back(text[++i]);
    } else if (i + 3 < text.size() && text[i + 1] == 'x' && Nibble(text[i + 2]) >= 0 &&
               Nibble(text[i + 3]) >= 0) {
      bytes->push_back(static_cast<char>(Nibble(text[i + 2]) * 16 + Nibble(text[i + 3])));
      i += 3;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace chunkstore
