#include "model.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <span>
#include <thread>

#include "kvdyno/base/testing/chi_square.h"

namespace sampling::guarantees {

Options SmallOptions(const Kind& kind, Layout layout, Deletes deletes) {
  Options options;
  options.kind = &kind;
  options.layout = layout;
  options.deletes = deletes;
  options.scale_factor = 3;
  options.buffer_records = 32;
  options.max_deleted = 0.25;
  return options;
}

std::vector<Options> MemoryPolicies(const Kind& kind) {
  std::vector<Options> policies;
  for (const Layout layout : {Layout::kLeveling, Layout::kTiering}) {
    for (const Deletes deletes : {Deletes::kTagging, Deletes::kTombstones}) {
      policies.push_back(SmallOptions(kind, layout, deletes));
    }
  }
  return policies;
}

std::vector<Options> ExternalPolicies(const Kind& kind) {
  std::vector<Options> policies = MemoryPolicies(kind);
  for (Options& options : policies) {
    options.directory = "/scratch";
    options.memory_levels = 1;
  }
  return policies;
}

std::vector<Options> Policies(const Kind& kind) {
  std::vector<Options> policies = MemoryPolicies(kind);
  for (const Options& options : ExternalPolicies(kind)) policies.push_back(options);
  return policies;
}

std::string NameOf(const Options& options) {
  return std::string(options.kind->name) +
         (options.layout == Layout::kLeveling ? " leveling" : " tiering") +
         (options.deletes == Deletes::kTagging ? " tagging" : " tombstones") +
         (options.directory.empty() ? "" : " external");
}

Model::Model(const Options& options, uint64_t seed)
    : disk_(seed), options_(options), rng_(seed), random_(seed) {
  if (options_.files == nullptr) options_.files = &disk_;
  if (!Index::Open(options_, &index_).ok()) std::abort();
}

std::vector<Record> Model::Live() {
  std::vector<Record> records;
  if (!index_->Live({}, &records).ok()) std::abort();
  return records;
}

Status Model::Insert(const Record& record) {
  Status status = index_->Insert(record);
  if (!status.ok()) return status;
  live_[{record.key, record.value}] = record.weight;
  arrivals_.emplace_back(record.key, record.value);
  return status;
}

Status Model::Delete(const Pair& pair) {
  live_.erase(pair);
  return index_->Delete(pair.first, pair.second);
}

Pair Model::AnyLive() {
  auto at = live_.lower_bound({rng_.Next(), 0});
  if (at == live_.end()) at = live_.begin();
  return at->first;
}

double Model::WeightOf(Weights weights, uint64_t number) {
  if (weights == Weights::kUnit) return 1;
  if (weights == Weights::kGiant) return 1 + static_cast<double>(number % 7);
  // Pareto with exponent 1.2, whose variance is infinite.
  return std::pow(1 - static_cast<double>(rng_.Next() >> 11) * 0x1p-53, -1 / 1.2);
}

Status Model::Play(Weights weights, Fill fill, size_t inserts) {
  double total = 0;
  std::vector<Pair> deleted;
  const auto insert = [&](Pair pair, double weight) {
    total += weight;
    return Insert({pair.first, pair.second, weight});
  };
  for (size_t i = 0; i < inserts; ++i) {
    const uint64_t key = rng_.OneIn(10) && !live_.empty() ? AnyLive().first : rng_.Next();
    if (Status s = insert({key, i}, WeightOf(weights, i)); !s.ok()) return s;
    if (rng_.OneIn(5)) {
      deleted.push_back(rng_.OneIn(2) ? arrivals_.back() : AnyLive());
      if (Status s = Delete(deleted.back()); !s.ok()) return s;
    }
    if (rng_.OneIn(20) && !deleted.empty()) {
      const Pair again = deleted[rng_.Below(deleted.size())];
      if (IsLive(again)) continue;
      if (Status s = insert(again, WeightOf(weights, i)); !s.ok()) return s;
    }
  }
  // Fresh records until the buffer is empty, and then what shall be in it.
  const auto in_buffer = [&] { return index_->statistics().buffered; };
  const size_t capacity = options_.buffer_records;
  const size_t wanted = fill == Fill::kEmpty  ? 0
                        : fill == Fill::kHalf ? capacity / 2
                                              : capacity - 1;
  for (uint64_t i = 0; in_buffer() != wanted; ++i) {
    if (Status s = insert({rng_.Next(), i}, WeightOf(weights, i)); !s.ok()) return s;
    const bool next_is_last =
        in_buffer() + 1 == wanted || (wanted == 0 && in_buffer() + 1 == capacity);
    if (weights == Weights::kGiant && next_is_last) {
      if (Status s = insert({rng_.Next(), i}, total); !s.ok()) return s;
    }
  }
  return Status::Ok();
}

double Model::Deviation(const Query& query, size_t draws) {
  std::map<Pair, size_t> cell;  // in order of arrival
  std::vector<double> expected;
  double total = 0;
  for (size_t i = 0; i < arrivals_.size(); ++i) {
    const auto at = live_.find(arrivals_[i]);
    // A pair that arrived twice counts for its last arrival.
    double weight = at == live_.end() ? 0 : options_.kind->weighted ? at->second : 1;
    if (at != live_.end() && !query.Accepts({at->first.first, at->first.second, at->second}))
      weight = 0;
    const auto earlier = cell.find(arrivals_[i]);
    if (earlier != cell.end()) {
      total -= expected[earlier->second];
      expected[earlier->second] = 0;
    }
    cell[arrivals_[i]] = i;
    expected.push_back(weight);
    total += weight;
  }
  for (double& share : expected) share /= total;

  std::vector<uint64_t> observed(arrivals_.size(), 0);
  std::vector<Record> samples;
  for (size_t drawn = 0; drawn < draws; drawn += samples.size()) {
    if (!index_->Sample(query, 1000, &random_, &samples).ok()) return INFINITY;
    for (const Record& sample : samples) {
      const auto at = live_.find({sample.key, sample.value});
      if (at == live_.end() || at->second != sample.weight) return INFINITY;
      ++observed[cell.at(at->first)];
    }
  }
  std::vector<uint64_t> group_observed;
  std::vector<double> group_expected;
  for (size_t i = 0; i < observed.size(); ++i) {
    if (i % (options_.buffer_records / 2) == 0) {
      group_observed.push_back(0);
      group_expected.push_back(0);
    }
    group_observed.back() += observed[i];
    group_expected.back() += expected[i];
  }
  return std::max(kvdyno::ChiSquareDeviation(observed, expected),
                  kvdyno::ChiSquareDeviation(group_observed, group_expected));
}

std::string Model::Difference() {
  if (Status status = index_->Verify(); !status.ok()) return status.ToString();
  std::vector<Record> found;
  if (Status status = index_->Live({}, &found); !status.ok()) return status.ToString();
  if (found.size() != live_.size() || index_->statistics().records != live_.size()) {
    return "expected " + std::to_string(live_.size()) + " live records, got " +
           std::to_string(found.size()) + " and a count of " +
           std::to_string(index_->statistics().records);
  }
  auto expected = live_.begin();
  for (const Record& record : found) {
    const Pair pair{record.key, record.value};
    if (pair != expected->first || record.weight != expected->second) {
      return "expected pair (" + std::to_string(expected->first.first) + ", " +
             std::to_string(expected->first.second) + "), got (" + std::to_string(record.key) +
             ", " + std::to_string(record.value) + ") or another weight";
    }
    ++expected;
  }
  return "";
}

namespace {

// A kind whose structures are built when the test lets them be: merges stand still meanwhile.
std::atomic<bool> held{false};
std::atomic<bool> building{false};

std::unique_ptr<Structure> BuildWhenReleased(std::span<const Entry> entries, double mass,
                                             std::pmr::memory_resource* memory) {
  building = true;
  while (held) std::this_thread::yield();
  return kWeightedSet.build(entries, mass, memory);
}

constexpr Kind kHeld = {"held", true, BuildWhenReleased};

}  // namespace

std::string CheckDeletesDuringAMerge(bool external) {
  Options options = SmallOptions(kHeld, Layout::kTiering, Deletes::kTagging);
  if (external) options.directory = "/scratch";
  options.memory_levels = 0;
  options.background = true;
  Model model(options, 1);
  for (uint64_t round = 0; round < 12; ++round) {
    building = false;
    held = true;
    std::string failed;
    for (uint64_t i = 0; i < options.buffer_records && failed.empty(); ++i) {
      if (!model.Insert({i, round, 1}).ok()) failed = "an insert failed";
    }
    while (!building) std::this_thread::yield();
    for (uint64_t i = 0; i < options.buffer_records && failed.empty(); i += 5) {
      if (!model.Delete({i, round}).ok()) failed = "a delete failed";
      if (model.IsLive({i, 0}) && !model.Delete({i, 0}).ok()) failed = "a delete in a shard failed";
    }
    if (!(model.Deviation({}, 5000) < kFits)) failed = "draws during the merge do not fit";
    held = false;
    model.index().Settle();
    if (failed.empty()) failed = model.Difference();
    if (!failed.empty()) return failed;
  }
  return "";
}

}  // namespace sampling::guarantees
