#include "crc32c/crc32c.h"

#include "kvdyno/base/crc32c.h"

namespace crc32c {

uint32_t Extend(uint32_t crc, const uint8_t* bytes, size_t size) {
  return kvdyno::Crc32c({reinterpret_cast<const char*>(bytes), size}, crc);
}

}  // namespace crc32c

extern "C" uint32_t crc32c_extend(uint32_t crc, const uint8_t* bytes, size_t size) {
  return crc32c::Extend(crc, bytes, size);
}
