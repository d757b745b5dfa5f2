// Workload: what clients ask of an engine: keys, values, the operation mix.
// Owns the generators that clients share; knows no engine and no time.
// Immutable; safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "kvdyno/base/status.h"
#include "kvdyno/generate/arrivals.h"
#include "kvdyno/generate/key_chooser.h"
#include "kvdyno/generate/key_format.h"
#include "kvdyno/generate/operation_chooser.h"
#include "kvdyno/generate/permutation.h"
#include "kvdyno/generate/value_source.h"
#include "kvdyno/generate/zipf.h"
#include "measure/tally.h"
#include "settings/settings.h"

namespace kvdyno {

// Rows that a scan asks for.
class ScanLengths {
 public:
  ScanLengths(uint64_t min, uint64_t max, ScanLengthDistribution distribution, double theta);
  uint64_t Next(Random& random) const;

 private:
  uint64_t min_;
  uint64_t span_;  // lengths to choose from; 1: always the same
  std::unique_ptr<Zipf> zipf_;
};

// What clients work through: the keys of a load, blind puts of keys that are drawn as the mix draws
// them, or operations drawn from the mix.
enum class Stream { kLoad, kAge, kMix };

class Workload {
 public:
  // InvalidArgument names the property that is wrong.
  static Status Make(const Settings& settings, std::unique_ptr<Workload>* workload);

  // The key number of the i-th insertion of a load.
  uint64_t LoadIndex(uint64_t i) const { return ordered_ ? i : load_order_(i); }

  // A key number is a dense index from 0; the store's keys begin at insertstart.
  std::string_view Key(uint64_t index, char* buffer) const {
    return keys_.Format(first_ + index, buffer);
  }
  // A key that no record has, right behind the record's. Takes one byte more of the buffer.
  std::string_view AbsentKey(uint64_t index, char* buffer) const {
    const std::string_view key = Key(index, buffer);
    buffer[key.size()] = '.';
    return {buffer, key.size() + 1};
  }
  // False for a key that this workload cannot have written.
  bool ParseKey(std::string_view key, uint64_t* index) const;

  // Whether keys of numbers below `count` sort as their numbers do.
  bool KeysSortBelow(uint64_t count) const { return keys_.SortsUpTo(first_ + count); }

  // Blind puts of ageing, of all clients and of this one. Shares are fixed beforehand, so that a
  // seed overwrites the same keys whichever client is faster.
  uint64_t AgeOperations() const;
  uint64_t AgeOperations(uint64_t client) const;

  // What a client's draws begin with: the data's seed, or the mix's.
  Random MakeRandom(Stream stream, uint64_t client) const;

  // Bytes of all keys and values when the store holds so many records.
  double LiveBytes(uint64_t records) const;

  // What tallies must hold for the operations of a load and of this mix.
  TallyShape Shape() const;

  Status MakeChooser(uint64_t client, const std::atomic<uint64_t>& key_count,
                     std::unique_ptr<KeyChooser>* chooser) const;
  // When a client starts the operations of a stream that is paced.
  ArrivalSpec ClientArrivals(Stream stream, uint64_t client) const;

  const Settings& settings() const { return settings_; }
  const KeyFormat& keys() const { return keys_; }
  const ValueSource& values() const { return values_; }
  // What this client does: the mix, or its part of the mix where some clients do all the writes.
  const OperationChooser& operations(uint64_t client) const {
    return operations_[client < static_cast<uint64_t>(settings_.writer_threads)];
  }
  const ScanLengths& scan_lengths() const { return scan_lengths_; }
  // A key that was stored can be missing later only if the mix deletes.
  bool keys_stay() const { return !Does(Operation::kDelete); }
  // Whether operations have intended starts.
  bool paced(Stream stream) const {
    if (stream == Stream::kAge) return false;
    const ArrivalSpec& spec = ArrivalsOf(stream);
    return spec.operations_per_second > 0 || !spec.steps.empty();
  }

 private:
  Workload(const Settings& settings, const std::array<OperationChooser, 2>& operations,
           ArrivalSpec mix_arrivals);
  bool Does(Operation operation) const;  // whether any client does it
  const ArrivalSpec& ArrivalsOf(Stream stream) const {
    return stream == Stream::kLoad ? load_arrivals_ : mix_arrivals_;
  }

  const Settings settings_;
  const uint64_t first_;
  const bool ordered_;
  const Permutation load_order_;
  const KeyFormat keys_;
  const ValueSource values_;
  const std::array<OperationChooser, 2> operations_;  // of all other clients, of the writers
  const ScanLengths scan_lengths_;
  const ArrivalSpec load_arrivals_;
  const ArrivalSpec mix_arrivals_;
};

}  // namespace kvdyno
