// Fixed and variable-length integers in byte strings, little endian.
// Owns the wire forms that every file format of this project uses. Pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kvdyno {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "formats are little endian");

template <typename T>
inline T LoadFixed(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
inline void StoreFixed(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <typename T>
inline void AppendFixed(std::string* to, T value) {
  to->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// LEB128: seven bits a byte, the highest bit is set if more follow; at most 10 bytes.
inline constexpr int kMaxVarintBytes = 10;
inline char* StoreVarint(char* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}
inline int VarintBytes(uint64_t value) {
  int bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}
inline void AppendVarint(std::string* to, uint64_t value) {
  char buffer[kMaxVarintBytes];
  to->append(buffer, static_cast<size_t>(StoreVarint(buffer, value) - buffer));
}
inline void AppendLengthPrefixed(std::string* to, std::string_view bytes) {
  AppendVarint(to, bytes.size());
  to->append(bytes);
}

// Reads from the front of a byte string and shortens it. Every getter returns false, and leaves the
// reader failed, when the bytes do not suffice: check once, at the end or at use.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  bool Fixed(T* value) {
    if (failed_ || rest_.size() < sizeof(T)) return Fail();
    rest_.copy(reinterpret_cast<char*>(value), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return true;
  }
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; !failed_ && shift < 64; shift += 7) {
      if (rest_.empty()) return Fail();
      const auto byte = static_cast<unsigned char>(rest_.front());
      if (shift == 63 && byte > 1) return Fail();
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return Fail();
  }
  bool Bytes(uint64_t length, std::string_view* bytes) {
    if (failed_ || rest_.size() < length) return Fail();
    *bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }
  bool LengthPrefixed(std::string_view* bytes) {
    uint64_t length = 0;
    return Varint(&length) && Bytes(length, bytes);
  }
  std::string_view rest() const { return rest_; }
  bool failed() const { return failed_; }

 private:
  bool Fail() {
    failed_ = true;
    return false;
  }
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace kvdyno
