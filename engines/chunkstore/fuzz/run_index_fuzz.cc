// A run's index and footer. Input: index, then 48 bytes of footer; on a second pass the footer's
// lengths and checksums are put right.
#include <string>

#include "funk/format.h"
#include "fuzz/fuzz.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"

using namespace chunkstore;
using chunkstore::fuzz::Require;

namespace {

void Decode(std::string_view footer_bytes, std::string_view bytes) {
  RunFooter footer;
  (void)DecodeFooter(footer_bytes, &footer);
  RunIndex index;
  if (!DecodeRunIndex(footer_bytes, bytes, &index).ok()) return;
  uint64_t entries = 0;
  for (size_t i = 0; i < index.blocks.size(); ++i) {
    entries += index.blocks[i].entries;
    const size_t found = index.Find(index.first_key(i));
    Require(found < index.blocks.size() && index.first_key(found) <= index.first_key(i),
            "a first key to be looked for where it can be");
  }
  Require(index.Find(index.last_key()) < index.blocks.size(), "the last key in some block");
  Require(entries == footer.entries, "the footer's number of entries");
  (void)index.Find("");
  (void)index.Find("\xff\xff");
  RunIndex again;
  const std::string encoded = EncodeRunIndex(index);
  footer.index_length = encoded.size();
  footer.index_checksum = kvdyno::Crc32c(encoded);
  Require(DecodeRunIndex(EncodeFooter(footer), encoded, &again).ok(), "an encoded index to decode");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kFooterBytes) return 0;
  const std::string_view bytes = fuzz::View(data, size);
  const std::string_view index = bytes.substr(0, size - kFooterBytes);
  const std::string_view tail = bytes.substr(size - kFooterBytes);
  Decode(tail, index);
  RunFooter footer;
  kvdyno::Reader reader(tail);
  reader.Fixed(&footer.index_offset);
  reader.Fixed(&footer.index_length);
  reader.Fixed(&footer.blocks);
  reader.Fixed(&footer.entries);
  footer.index_length = index.size();
  footer.index_checksum = kvdyno::Crc32c(index);
  Decode(EncodeFooter(footer), index);
  return 0;
}
