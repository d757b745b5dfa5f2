// The saved index of a log, one part of it.
#include <string>

#include "funk/key_index.h"
#include "kvdyno/base/testing/fuzz.h"

using namespace chunkstore;
using kvdyno::testing::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint32_t kRuns = 1000;
  const auto index = KeyIndex::Decode(kvdyno::testing::View(data, size), kRuns);
  if (index == nullptr) return 0;
  size_t items = 0;
  KeyIndex::Cursor cursor(index.get());
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    ++items;
    Require(cursor.item().run < kRuns, "runs of the log");
    KeyIndex::Item item;
    (void)index->Find(cursor.key(), cursor.item().version, &item);
  }
  Require(items == index->size(), "as many items as the index counts");
  cursor.Seek("", kNewest);
  cursor.Seek("\xff\xff", 0);
  std::string encoded;
  index->Encode(&encoded);
  const auto again = KeyIndex::Decode(encoded, kRuns);
  Require(again != nullptr && again->size() == index->size(), "an encoded index to decode");
  return 0;
}
