// Model: what a correct store holds, at every moment that something still looks at.
// Keys are ranks in a KeySpace, values are ids, moments count writes: an ordered map with versions,
// cheap enough for tens of millions of operations. Knows no store. One thread.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "testing/data.h"

namespace chunkstore::testing {

class Model {
 public:
  using Moment = uint64_t;

  explicit Model(size_t keys) : histories_(keys) {}

  size_t size() const { return histories_.size(); }
  Moment now() const { return now_; }
  // kAbsent deletes. Every call is a moment of its own.
  void Write(size_t rank, ValueId id);
  ValueId At(size_t rank, Moment moment) const;
  // The next present key at or after / at or before `rank`; size() if there is none.
  size_t Forward(size_t rank, Moment moment) const;
  size_t Backward(size_t rank, Moment moment) const;

  // What is visible at the moment is kept until the hold is released.
  void Hold(Moment moment) { held_.insert(moment); }
  void Release(Moment moment) { held_.erase(held_.find(moment)); }

 private:
  struct Written {
    Moment moment;
    ValueId id;
  };
  std::vector<std::vector<Written>> histories_;  // per rank, oldest first
  std::multiset<Moment> held_;
  Moment now_ = 0;
};

}  // namespace chunkstore::testing
