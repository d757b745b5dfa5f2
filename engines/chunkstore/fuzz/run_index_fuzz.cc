// What a run's end holds. Input: index, filter and footer, of either format; on a second pass the
// footer's lengths and checksums are put right.
#include <string>

#include "funk/format.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/testing/fuzz.h"

using namespace chunkstore;
using kvdyno::testing::Require;

namespace {

void Decode(const SortedRunFooter& footer, std::string_view bytes) {
  SortedRunIndex index;
  if (!DecodeSortedRunIndex(footer, bytes, &index).ok()) return;
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
  (void)index.filter.MayContain(entries);
  SortedRunIndex again;
  SortedRunFooter encoded, decoded;
  const std::string tail = EncodeSortedRunIndex(index, &encoded);
  Require(DecodeFooter(EncodeFooter(encoded), &decoded).ok(), "an encoded footer to decode");
  Require(DecodeSortedRunIndex(decoded, tail, &again).ok(), "an encoded index to decode");
  Require(EncodeSortedRunIndex(again, &decoded) == tail, "a decoded index to encode to the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = kvdyno::testing::View(data, size);
  SortedRunFooter footer;
  if (DecodeFooter(bytes, &footer).ok()) {
    Decode(footer, bytes.substr(0, size - footer.length));
  }
  if (size < kFooterBytes) return 0;
  const std::string_view tail = bytes.substr(0, size - kFooterBytes);
  kvdyno::Reader reader(bytes.substr(tail.size()));
  footer = {};
  reader.Fixed(&footer.index_offset);
  reader.Fixed(&footer.index_length);
  reader.Fixed(&footer.filter_length);
  reader.Fixed(&footer.blocks);
  reader.Fixed(&footer.entries);
  footer.filter_length %= tail.size() + 1;
  footer.index_length = tail.size() - footer.filter_length;
  footer.index_checksum = kvdyno::Crc32c(tail);
  Decode(footer, tail);
  return 0;
}
