// A table's or log's block, the first of its run. Its checksum is put right on a second pass.
#include <string>

#include "funk/format.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/testing/fuzz.h"

using namespace chunkstore;
using kvdyno::testing::Require;

namespace {

void Decode(std::string_view bytes, bool verify) {
  BlockView view;
  if (!BlockView::Parse(bytes, 0, verify, &view).empty()) return;
  size_t total = 0;
  for (uint32_t i = 0; i < view.size(); ++i) {
    const Entry entry = view.at(i);
    total += entry.key.size() + entry.value.size();
    Require(view.LowerBound(entry.key, entry.version) <= view.size(), "a bound within the block");
  }
  Require(total <= bytes.size(), "entries within the block");
  (void)view.LowerBound("m", 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = kvdyno::testing::View(data, size);
  Decode(bytes, true);
  Decode(bytes, false);
  if (size < kBlockTrailerBytes) return 0;
  std::string fixed(bytes);
  const auto count = kvdyno::LoadFixed<uint32_t>(fixed.data() + size - kBlockTrailerBytes);
  const uint32_t begin = (count & kPlacedBlock) != 0 ? PlaceChecksum(0) : 0;
  kvdyno::StoreFixed(fixed.data() + size - 4, kvdyno::Crc32c(bytes.substr(0, size - 4), begin));
  Decode(fixed, true);
  return 0;
}
