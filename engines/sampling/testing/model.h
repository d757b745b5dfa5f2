// Model: an index and, beside it, what it must hold; histories that fill both; and the test of draws.
// Knows the public interface alone. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kvdyno/base/testing/rng.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "sampling/index.h"

namespace sampling::guarantees {

// Deviations of a fit that are beyond this have a probability below 4 in 10^6: with the 500 fits of the
// suite, below 1 in 500 for all of them (Bonferroni). Seeds are fixed, so a test that passes once
// passes always.
inline constexpr double kFits = 4.5;

enum class Weights : uint8_t { kUnit, kPareto, kGiant };
enum class Fill : uint8_t { kEmpty, kHalf, kFull };  // of the buffer, when the history ends

// Options with a small buffer, so that a short history fills several levels.
Options SmallOptions(const Kind& kind, Layout layout, Deletes deletes);
// The four policies, over one kind: in memory, with the lower levels on disk, and both.
std::vector<Options> MemoryPolicies(const Kind& kind);
std::vector<Options> ExternalPolicies(const Kind& kind);
std::vector<Options> Policies(const Kind& kind);
std::string NameOf(const Options& options);

using Pair = std::pair<uint64_t, uint64_t>;

class Model {
 public:
  // In external mode without a file system, the index gets a simulated disk of its own.
  Model(const Options& options, uint64_t seed);

  Status Insert(const Record& record);  // a pair that is not live
  Status Delete(const Pair& pair);
  bool IsLive(const Pair& pair) const { return live_.count(pair) != 0; }
  Pair AnyLive();  // there is one

  // Inserts records with fresh keys, some keys with several values, deletes a fifth of them, old and new, and
  // inserts some of these again. The buffer ends as `fill` demands; a giant record is the newest.
  Status Play(Weights weights, Fill fill, size_t inserts);

  const std::map<Pair, double>& live() const { return live_; }
  const std::vector<Pair>& arrivals() const {
    return arrivals_;
  }  // in order, deleted ones included
  Index& index() { return *index_; }
  std::vector<Record> Live();  // as the index lists them; ends the process where it cannot
  Random& random() { return random_; }
  kvdyno::testing::Rng& rng() { return rng_; }

  // How far `draws` samples are from the live records' weights, in standard deviations: record by record, in order
  // of arrival, and for groups of arrivals that went into one shard together; the larger of the two. Infinite
  // when a record is drawn that is not live, or a call fails.
  double Deviation(const Query& query, size_t draws);

  // Empty, or what differs between index and model.
  std::string Difference();

 private:
  double WeightOf(Weights weights, uint64_t number);

  kvdyno::testing::SimulatedFileSystem disk_;
  Options options_;
  kvdyno::testing::Rng rng_;
  Random random_;
  std::unique_ptr<Index> index_;
  std::map<Pair, double> live_;
  std::vector<Pair> arrivals_;
};

// Deletes records while a background merge of theirs is held, and draws meanwhile. Empty, or what went wrong.
std::string CheckDeletesDuringAMerge(bool external);

}  // namespace sampling::guarantees
