// History: writes in the order in which a store acknowledged them, and the question that every
// crash test asks: is this content the state after some prefix of them, and after which? Keys are
// ranks, values ids. Knows no store but for ReadContent. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "chunkstore/store.h"
#include "testing/data.h"

namespace chunkstore::testing {

using Content = std::vector<ValueId>;  // by rank

// One write, all of its operations at once.
using Operations = std::vector<std::pair<size_t, ValueId>>;

void Apply(const Operations& write, Content* content);

class History {
 public:
  explicit History(Content base) : base_(std::move(base)), latest_(base_) {}

  void Add(Operations write);
  size_t size() const { return writes_.size(); }
  const Content& latest() const { return latest_; }  // the state after all
  Content After(size_t prefix) const;

  // The content must be the state after at least `floor` writes. Returns what is wrong, or nothing.
  std::string Judge(const Content& content, size_t floor) const;

 private:
  Content base_, latest_;
  std::vector<Operations> writes_;
};

// Reads all rows. A row that no write made is a violation, put into *wrong.
Status ReadContent(Store* store, const KeySpace& keys, Content* content, std::string* wrong);

// A write of one to a few operations with fresh values of at least 8 bytes, and the same as a
// batch.
Operations RandomWrite(Rng* rng, size_t keys, uint64_t* last_number);
// A put or deletion when it is one operation, else a batch.
Status WriteTo(Store* store, const KeySpace& keys, const Operations& write);

}  // namespace chunkstore::testing
