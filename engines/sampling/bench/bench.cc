// What updates and samples cost each policy and each baseline, interleaved.
// Owns the data and the table. One client thread; nothing else should run. In each round every sampler takes its turn
// at the same operations.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kvdyno/base/clock.h"
#include "sampling/baselines.h"
#include "sampling/index.h"

namespace {

using namespace sampling;

struct Settings {
  uint64_t records = 1'000'000;
  uint64_t queries = 100;  // in each round
  size_t k = 1000;
  uint64_t rounds = 5;
  double deletes = 0.05;  // share of the updates behind the warm-up
  std::string only;       // a part of the names of the samplers to run; empty: all
};

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "sampling_bench: %s\n", message.c_str());
  std::exit(2);
}

void Expect(const Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

struct Update {
  Record record;
  bool deleted;
};

// Keys near-unique, from a mixture of latitudes as (latitude + 180) * 10^7; weights Pareto with exponent 1.2.
// A delete takes a random earlier record. The first tenth warms up and deletes nothing.
std::vector<Update> MakeUpdates(const Settings& settings) {
  Random random(1);
  std::vector<Record> live;
  std::vector<Update> updates;
  while (updates.size() < settings.records) {
    const bool warm = updates.size() * 10 >= settings.records;
    if (warm && !live.empty() && random.Real() < settings.deletes) {
      const size_t at = random.Below(live.size());
      updates.push_back({live[at], true});
      live[at] = live.back();
      live.pop_back();
      continue;
    }
    const double centre = static_cast<double>(random.Below(12)) * 10 - 40;
    double spread = -6;  // the sum of twelve uniform numbers is nearly normal
    for (int i = 0; i < 12; ++i) spread += random.Real();
    const double latitude = std::clamp(centre + 4 * spread, -90.0, 90.0);
    live.push_back({static_cast<uint64_t>((latitude + 180) * 1e7), updates.size(),
                    std::pow(1 - random.Real(), -1 / 1.2)});
    updates.push_back({live.back(), false});
  }
  return updates;
}

struct Contender {
  std::string name;
  std::unique_ptr<Sampler> sampler;
  Index* index = nullptr;     // null: a baseline
  bool queried_often = true;  // false: a query reads every record
  std::vector<double> update_ns = {};
  std::vector<double> sample_us = {};  // per 1000 samples
};

std::vector<Contender> MakeContenders(const Settings& settings) {
  std::vector<Contender> all;
  const auto add = [&](Contender contender) {
    if (contender.name.find(settings.only) != std::string::npos)
      all.push_back(std::move(contender));
  };
  for (const Layout layout : {Layout::kTiering, Layout::kLeveling}) {
    for (const Deletes deletes : {Deletes::kTagging, Deletes::kTombstones}) {
      Options options;
      options.layout = layout;
      options.deletes = deletes;
      std::unique_ptr<Index> index;
      Expect(Index::Open(options, &index));
      Index* const raw = index.get();
      add({std::string(layout == Layout::kTiering ? "tiering" : "leveling") +
               (deletes == Deletes::kTagging ? ", tagging" : ", tombstones"),
           std::move(index), raw});
    }
  }
  add({"static alias table", MakeStaticAlias()});
  add({"Fenwick tree", MakeFenwickTree()});
  add({"aggregate B+-tree", MakeAggregateTree()});
  add({"reservoirs", MakeReservoir(), nullptr, false});
  if (all.empty()) Fail("--only " + settings.only + ": expected a part of a sampler's name");
  return all;
}

// The updates of one round. Tombstones are written without a search, as published.
void Apply(const std::vector<Update>& updates, size_t begin, size_t end, Contender* contender) {
  const uint64_t from = kvdyno::NowNs();
  for (size_t i = begin; i < end; ++i) {
    const auto& [record, deleted] = updates[i];
    if (!deleted) {
      Expect(contender->sampler->Insert(record));
    } else if (contender->index != nullptr) {
      Expect(contender->index->DeleteUnchecked(record.key, record.value));
    } else {
      Expect(contender->sampler->Delete(record.key, record.value));
    }
  }
  contender->update_ns.push_back(static_cast<double>(kvdyno::NowNs() - from) /
                                 static_cast<double>(end - begin));
}

// The first query is not timed: it builds the static table.
void DrawRound(const Settings& settings, Random* random, Contender* contender) {
  std::vector<Record> samples;
  Expect(contender->sampler->Sample({}, settings.k, random, &samples));
  const uint64_t queries = contender->queried_often ? settings.queries : 1;
  const uint64_t from = kvdyno::NowNs();
  for (uint64_t i = 0; i < queries; ++i) {
    Expect(contender->sampler->Sample({}, settings.k, random, &samples));
  }
  contender->sample_us.push_back(static_cast<double>(kvdyno::NowNs() - from) /
                                 static_cast<double>(queries * settings.k));
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Rounds have equally many updates. Large merges fall into some of them only, which a median would leave out.
double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void Print(const std::vector<Contender>& contenders) {
  std::printf("%-22s %12s %15s %14s %13s\n", "", "ns / update", "us / 1000 draws", "bytes / record",
              "trials / draw");
  for (const Contender& contender : contenders) {
    const Statistics statistics = contender.sampler->statistics();
    const double trials = statistics.draws == 0 ? 1
                                                : static_cast<double>(statistics.draws) /
                                                      static_cast<double>(statistics.accepted);
    std::printf("%-22s %12.0f %15.0f %14.1f %13.3f\n", contender.name.c_str(),
                Mean(contender.update_ns), Median(contender.sample_us),
                static_cast<double>(statistics.bytes) / static_cast<double>(statistics.records),
                trials);
  }
}

Settings Parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--help" || i + 1 == argc) {
      std::printf(
          "usage: sampling_bench [--records N] [--queries N] [--k N] [--rounds N]\n"
          "                      [--deletes SHARE] [--only NAME]\n");
      std::exit(flag == "--help" ? 0 : 1);
    }
    const char* const value = argv[i + 1];
    if (flag == "--records")
      settings.records = std::strtoull(value, nullptr, 10);
    else if (flag == "--queries")
      settings.queries = std::strtoull(value, nullptr, 10);
    else if (flag == "--k")
      settings.k = std::strtoull(value, nullptr, 10);
    else if (flag == "--rounds")
      settings.rounds = std::strtoull(value, nullptr, 10);
    else if (flag == "--deletes")
      settings.deletes = std::strtod(value, nullptr);
    else if (flag == "--only")
      settings.only = value;
    else
      Fail(flag + ": expected a flag that --help lists");
  }
  if (settings.queries == 0 || settings.k == 0 || settings.rounds == 0 ||
      settings.records < 10 * (settings.rounds + 1)) {
    Fail("expected queries, k and rounds above 0, and records for each round");
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = Parse(argc, argv);
  const std::vector<Update> updates = MakeUpdates(settings);
  std::vector<Contender> contenders = MakeContenders(settings);
  const size_t warm = updates.size() / 10;
  for (Contender& contender : contenders) {
    Apply(updates, 0, warm, &contender);
    contender.update_ns.clear();
  }
  Random random(2);
  for (uint64_t round = 0; round < settings.rounds; ++round) {
    const size_t begin = warm + (updates.size() - warm) * round / settings.rounds;
    const size_t end = warm + (updates.size() - warm) * (round + 1) / settings.rounds;
    for (size_t i = 0; i < contenders.size(); ++i) {  // another one begins each round
      Contender& contender = contenders[(i + round) % contenders.size()];
      Apply(updates, begin, end, &contender);
      DrawRound(settings, &random, &contender);
    }
  }
  std::printf("%" PRIu64 " updates, %.0f %% deletes behind the first tenth\n", settings.records,
              settings.deletes * 100);
  std::printf("k = %zu, %" PRIu64 " rounds: the mean of updates, the median of draws\n\n",
              settings.k, settings.rounds);
  Print(contenders);
  return 0;
}
