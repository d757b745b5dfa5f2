// A history of inserts, deletes and queries, and the options that it meets, read from bytes. The index is compared
// with an ordered map after each merge that the history causes, and at its end.
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/base/testing/fuzz.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "sampling/index.h"

using namespace sampling;
using kvdyno::testing::Require;

namespace {

using Pair = std::pair<uint64_t, uint64_t>;
using Live = std::map<Pair, double>;

// Bytes from the input; zeros behind its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t Byte() { return empty() ? 0 : data_[at_++]; }
  double Real() {
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | Byte();
    double real;
    std::memcpy(&real, &bits, sizeof real);
    return real;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

Options ReadOptions(Bytes* bytes) {
  const Kind* const kinds[] = {&kWeightedSet, &kUniformRange, &kWeightedRange};
  Options options;
  const uint8_t policy = bytes->Byte();
  options.kind = kinds[policy / 4 % 3];
  options.layout = policy & 1 ? Layout::kTiering : Layout::kLeveling;
  options.deletes = policy & 2 ? Deletes::kTombstones : Deletes::kTagging;
  if (policy & 128) {
    options.directory = "/scratch";
    options.memory_levels = policy >> 4 & 3;
  }
  options.buffer_records = 1 + bytes->Byte() % 16;
  options.scale_factor = 2 + bytes->Byte() % 4;
  options.max_deleted = (1 + bytes->Byte() % 99) / 100.0;
  options.filter_false_positives = (1 + bytes->Byte() % 100) / 100.0;
  return options;
}

void Compare(const Index& index, const Live& live) {
  const Status status = index.Verify();
  if (!status.ok()) Require(false, status.ToString().c_str());
  std::vector<Record> found;
  Require(index.Live({}, &found).ok(), "the live records to be listed");
  Require(found.size() == live.size(), "as many live records as the map has");
  auto expected = live.begin();
  for (const Record& record : found) {
    Require(Pair(record.key, record.value) == expected->first, "the map's pairs");
    Require(record.weight == expected->second, "the map's weights");
    ++expected;
  }
}

void Insert(Index* index, Bytes* bytes, bool wild, Live* live) {
  const Pair pair{bytes->Byte() % 32, bytes->Byte() % 2};
  const double weight = wild ? bytes->Real() : bytes->Byte();
  if (live->count(pair) != 0) return;
  const Status status = index->Insert({pair.first, pair.second, weight});
  Require(status.ok() == (weight >= 0 && weight <= kMaxWeight),
          "exactly the valid weights to be taken");
  if (status.ok()) (*live)[pair] = weight;
}

void Sample(Index* index, const Options& options, Bytes* bytes, const Live& live) {
  Query query;
  query.first = bytes->Byte() % 32;
  query.last = query.first + bytes->Byte() % 32;
  double total = 0;
  for (const auto& [pair, weight] : live) {
    const Record record{pair.first, pair.second, weight};
    if (query.Accepts(record)) total += options.kind->weighted ? weight : 1;
  }
  Random random(bytes->Byte());
  std::vector<Record> samples;
  const Status status = index->Sample(query, 5, &random, &samples);
  Require(status.ok() == (total > 0), "samples exactly where there is weight");
  Require(samples.size() == (status.ok() ? 5 : 0), "five samples or none");
  for (const Record& sample : samples) {
    const auto at = live.find({sample.key, sample.value});
    Require(at != live.end() && query.Accepts(sample), "a live record of the range");
    Require(!options.kind->weighted || at->second > 0, "a record with weight");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  Options options = ReadOptions(&bytes);
  kvdyno::testing::SimulatedFileSystem disk(1);
  options.files = &disk;
  std::unique_ptr<Index> index;
  Require(Index::Open(options, &index).ok(), "options in their ranges to be taken");
  Live live;
  uint64_t written = 0;
  while (!bytes.empty()) {
    const uint8_t operation = bytes.Byte();
    if (operation % 8 < 4) {
      Insert(index.get(), &bytes, operation % 64 == 0, &live);
    } else if (operation % 8 < 7) {
      const Pair pair{bytes.Byte() % 32, bytes.Byte() % 2};
      const bool deleted = index->Delete(pair.first, pair.second).ok();
      Require(deleted == (live.erase(pair) == 1), "exactly the live pairs to be deleted");
    } else {
      Sample(index.get(), options, &bytes, live);
    }
    if (index->statistics().written == written) continue;
    written = index->statistics().written;
    Compare(*index, live);
  }
  Compare(*index, live);
  return 0;
}
