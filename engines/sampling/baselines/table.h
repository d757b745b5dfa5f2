// Table: live records in slots, and where each pair is. Baselines differ in how they draw from it.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sampling/sampler.h"

namespace sampling {

class Table : public Sampler {
 public:
  Status Insert(const Record& record) override;
  // The last record moves into the deleted one's slot.
  Status Delete(uint64_t key, uint64_t value) override;
  Status Sample(const Query& query, size_t k, Random* random,
                std::vector<Record>* samples) override;
  Statistics statistics() const override;

 protected:
  // The record in the slot is another one, or none (a weight of 0): weights follow.
  virtual void Changed(size_t slot, double weight) = 0;
  // Bytes beside the records.
  virtual size_t WeightBytes() const = 0;
  // Appends k samples; NothingToDraw where nothing weighs.
  virtual Status Draw(const Query& query, size_t k, Random* random,
                      std::vector<Record>* samples) = 0;

  const std::vector<Record>& records() const { return records_; }
  uint64_t draws_ = 0;  // trials

 private:
  struct Pair {
    uint64_t key;
    uint64_t value;
    bool operator==(const Pair&) const = default;
  };
  struct Hash {
    size_t operator()(const Pair& pair) const {
      return kvdyno::Mix(kvdyno::Mix(pair.key) + pair.value);
    }
  };

  std::vector<Record> records_;
  std::unordered_map<Pair, size_t, Hash> slots_;
  uint64_t accepted_ = 0;
};

// Draws from all records; a query's range and predicate are met by rejection.
class WholeTable : public Table {
 protected:
  // What all records weigh, once draws may begin.
  virtual double Prepare() = 0;
  virtual size_t DrawSlot(Random* random) = 0;

 private:
  Status Draw(const Query& query, size_t k, Random* random, std::vector<Record>* samples) final;
};

}  // namespace sampling
