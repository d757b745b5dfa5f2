// Structure: a static sampling structure over sorted entries. The framework makes it dynamic.
// Implement Structure and Selection, and describe them by a Kind, to bring another one.
// Structures are immutable and safe from any thread; a selection belongs to one query.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>

#include "kvdyno/base/random.h"
#include "sampling/record.h"

namespace sampling {

using kvdyno::Random;

// A record as the index stores it, or a tombstone, whose weight is 0. Two fit into a cache line.
struct alignas(32) Entry : Record {
  static constexpr uint64_t kNever = UINT64_MAX;
  static constexpr uint64_t kTombstone = 0;

  // When a delete tagged the record: atomic, because samplers read it meanwhile.
  std::atomic<uint64_t> deleted{kNever};

  Entry() = default;
  Entry(const Record& record, uint64_t time) : Record(record), deleted(time) {}
  Entry(const Entry& other) : Record(other), deleted(other.deleted_at()) {}
  Entry& operator=(const Entry& other) {
    Record::operator=(other);
    deleted.store(other.deleted_at(), std::memory_order_relaxed);
    return *this;
  }
  ~Entry() = default;

  uint64_t deleted_at() const { return deleted.load(std::memory_order_relaxed); }
  bool tombstone() const { return deleted_at() == kTombstone; }
  bool LiveAt(uint64_t time) const { return deleted_at() > time; }
};
static_assert(sizeof(Entry) == 32);

// What one query draws from in one structure.
class Selection {
 public:
  virtual ~Selection() = default;
  // The sum of what each entry counts. 0: nothing is drawn.
  virtual double mass() const = 0;
  // A draw in three steps, each of which takes what the one before returned and prefetches what the next one reads.
  // Begin returns a position that the draw may end at. Finish returns the position of an entry, each with
  // probability (what it counts) / mass.
  virtual size_t Begin(Random* random) const = 0;
  virtual size_t Approach(size_t begun, Random*) const { return begun; }
  virtual size_t Finish(size_t approached, Random* random) const = 0;

  size_t Draw(Random* random) const { return Finish(Approach(Begin(random), random), random); }
};

class Structure {
 public:
  virtual ~Structure() = default;
  // The entries with keys from `first` to `last`, or a superset, whose others the index rejects.
  // The selection lives at most as long as the structure.
  virtual std::unique_ptr<Selection> Select(uint64_t first, uint64_t last) const = 0;
  virtual size_t bytes() const = 0;  // without the entries
};

struct Kind {
  std::string_view name;
  bool weighted;  // false: every record counts 1
  // Entries are sorted by (key, value), fewer than 2^32, and outlive the structure. `mass` is the sum of what they
  // count, in their order. The memory is for arrays of their length, and outlives the structure, too.
  std::unique_ptr<Structure> (*build)(std::span<const Entry> entries, double mass,
                                      std::pmr::memory_resource* memory);

  double Counts(const Entry& entry) const {
    return weighted || entry.tombstone() ? entry.weight : 1;
  }
};

// Weighted set sampling: an alias table over blocks of neighbours. A range is met by rejection.
extern const Kind kWeightedSet;
// Independent range sampling: the sorted array itself; weights are ignored.
extern const Kind kUniformRange;
// Weighted independent range sampling: a tree whose nodes hold alias tables over their children.
extern const Kind kWeightedRange;

}  // namespace sampling
