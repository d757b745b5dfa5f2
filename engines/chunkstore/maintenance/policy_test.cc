// The decisions of background work, over chunks that exist in name only.
#include "maintenance/policy.h"

#include <gtest/gtest.h>

#include <string>

#include "kvdyno/base/testing/rng.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Rng;

constexpr uint64_t kKiB = 1024;

Options Resolved() {
  Options options;
  options.chunk_size = 64 * kKiB;
  options.stage_size = 64 * kKiB;
  options.block_size = kKiB;
  options.log_limit = 32 * kKiB;
  options.munk_log_limit = 320 * kKiB;
  options.log_debt_limit = 512 * kKiB;
  return options;
}

struct Sizes {
  uint64_t table = 0;
  uint64_t log = 0;
};

// Chunks "", "k0001", "k0002", … with files of these sizes.
class Chunks {
 public:
  explicit Chunks(const std::vector<Sizes>& sizes) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      auto funk = std::make_unique<Funk>();
      std::vector<ExtentRef> runs;
      if (sizes[i].log > 0) runs.push_back(ExtentOf(sizes[i].log));
      funk->log = std::make_shared<Log>(&policy_, nullptr, std::move(runs));
      if (sizes[i].table > 0) {
        funk->table = std::make_shared<SortedRun>(nullptr, ExtentOf(sizes[i].table), nullptr);
      }
      owned_.push_back(std::make_unique<Chunk>(
          i + 1, KeyOf(i), i + 1 < sizes.size() ? KeyOf(i + 1) : "", std::move(funk)));
      chunks_.push_back(owned_.back().get());
      debt_ += sizes[i].log;
      live_ += sizes[i].log + sizes[i].table;
    }
    map_ = std::make_unique<ChunkMap>(chunks_);
  }
  const ChunkMap& map() const { return *map_; }
  Chunk& operator[](size_t i) { return *chunks_[i]; }
  uint64_t debt() const { return debt_; }
  uint64_t live() const { return live_; }

  // Positions of the chunks of each job.
  std::vector<std::vector<size_t>> Due(const Policy& policy, uint64_t bytes = UINT64_MAX) const {
    std::vector<std::vector<size_t>> due;
    for (const Job& job : policy.Due(*map_, debt_, policy.DebtLimit(live_, debt_, 0), bytes)) {
      due.emplace_back();
      uint64_t sum = 0;
      for (const Chunk* chunk : job.chunks) {
        due.back().push_back(map_->Position(chunk->min_key));
        sum += chunk->funk().bytes();
      }
      EXPECT_EQ(job.bytes, sum);
    }
    return due;
  }

 private:
  static std::string KeyOf(size_t i) {
    if (i == 0) return "";
    const std::string digits = std::to_string(10000 + i);
    return digits.substr(1);
  }
  static ExtentRef ExtentOf(uint64_t bytes) {
    ExtentRef extent;
    extent.segment = 1;
    extent.length = bytes;
    extent.entries = bytes / 100 + 1;
    return extent;
  }

  LogPolicy policy_;
  std::vector<std::unique_ptr<Chunk>> owned_;
  std::vector<Chunk*> chunks_;
  std::unique_ptr<ChunkMap> map_;
  uint64_t debt_ = 0, live_ = 0;
};

using Positions = std::vector<std::vector<size_t>>;

TEST(LogLimit, IsLargerWithAMunk) {
  const Policy policy(Resolved());
  Chunks chunks({Sizes{}});
  EXPECT_EQ(policy.LogLimit(chunks[0]), 32 * kKiB);
  chunks[0].Exchange(new Munk("", ""));
  EXPECT_EQ(policy.LogLimit(chunks[0]), 320 * kKiB);
}

TEST(DebtLimit, IsTheOptionOrGrowsWithTheData) {
  Options options = Resolved();
  const auto limit = [&](uint64_t live) { return Policy(options).DebtLimit(live, 0, 0); };
  EXPECT_EQ(limit(1 << 30), 512 * kKiB);
  options.log_debt_limit = Options::kAuto;
  EXPECT_EQ(limit(0), 8 * options.stage_size);
  EXPECT_EQ(limit(8 * options.stage_size), 8 * options.stage_size);
  EXPECT_LT(limit(1 << 30), uint64_t{1} << 30);
  EXPECT_EQ(limit(uint64_t{200} << 20), 2 * limit(100 << 20));
}

TEST(DebtLimit, FallsUntilTheIndexesOfLogsFitTheirPartOfTheBudget) {
  Options options = Resolved();
  options.log_debt_limit = 1000 * kKiB;
  options.memory_budget = 64 * 1024 * kKiB;
  const uint64_t most = 16 * 1024 * kKiB;
  const Policy policy(options);
  EXPECT_EQ(policy.DebtLimit(0, 900 * kKiB, most), 1000 * kKiB);
  EXPECT_EQ(policy.DebtLimit(0, 900 * kKiB, 2 * most), 450 * kKiB) << "half as much fits";
  EXPECT_EQ(policy.DebtLimit(0, 9000 * kKiB, 2 * most), 1000 * kKiB);
}

TEST(Slowdown, BeginsAtTheLimitAndGrows) {
  const Policy policy(Resolved());
  EXPECT_EQ(policy.SlowdownNsPerByte(0, 1000), 0);
  EXPECT_EQ(policy.SlowdownNsPerByte(1000, 1000), 0);
  double last = 0;
  for (uint64_t debt = 1100; debt <= 2000; debt += 100) {
    const double slowdown = policy.SlowdownNsPerByte(debt, 1000);
    EXPECT_GT(slowdown, last);
    last = slowdown;
  }
  EXPECT_LT(last, 1000) << "a thousand nanoseconds a byte would be 1 MB/s";
}

TEST(Due, NothingWhenAllIsWithinLimits) {
  const Policy policy(Resolved());
  EXPECT_EQ(Chunks({Sizes{}}).Due(policy), Positions{});
  EXPECT_EQ(Chunks({{40 * kKiB, 32 * kKiB}, {40 * kKiB, 0}, {0, 20 * kKiB}}).Due(policy),
            Positions{});
}

TEST(Due, TheLargestLogFirst) {
  const Policy policy(Resolved());
  const Chunks chunks({{90 * kKiB, 33 * kKiB},
                       {40 * kKiB, 50 * kKiB},
                       {40 * kKiB, 10 * kKiB},
                       {40 * kKiB, 40 * kKiB}});
  EXPECT_EQ(chunks.Due(policy), (Positions{{0}, {1}, {3}})) << "in key order";
  EXPECT_EQ(chunks.Due(policy, 1), (Positions{{1}})) << "one job is always allowed";
  EXPECT_EQ(chunks.Due(policy, 90 * kKiB), (Positions{{1}}));
  EXPECT_EQ(chunks.Due(policy, 91 * kKiB), (Positions{{1}, {3}}));
  EXPECT_EQ(chunks.Due(policy, 0), Positions{});
}

TEST(Due, ALogWithAMunkMayGrow) {
  const Policy policy(Resolved());
  Chunks chunks({{40 * kKiB, 100 * kKiB}, {40 * kKiB, 60 * kKiB}});
  chunks[0].Exchange(new Munk(chunks[0].min_key, chunks[0].max_key));
  EXPECT_EQ(chunks.Due(policy), (Positions{{1}}));
}

// All logs together are over their limit though none is over its own: the largest go, until enough
// went.
TEST(Due, DebtTakesTheLargestLogs) {
  Options options = Resolved();
  options.log_debt_limit = 50 * kKiB;
  const Policy policy(options);
  const Chunks chunks({{60 * kKiB, 10 * kKiB},
                       {60 * kKiB, 30 * kKiB},
                       {90 * kKiB, 20 * kKiB},
                       {60 * kKiB, 25 * kKiB},
                       {60 * kKiB, 0}});
  // 85 KiB are owed: without the 30 of the second and the 25 of the fourth, 30 remain.
  EXPECT_EQ(chunks.Due(policy), (Positions{{1}, {3}}));
}

TEST(Due, ALimitMayBeGiven) {
  const Policy policy(Resolved());
  const Chunks chunks({{60 * kKiB, 10 * kKiB},
                       {60 * kKiB, 30 * kKiB},
                       {90 * kKiB, 20 * kKiB},
                       {60 * kKiB, 25 * kKiB}});
  const auto jobs = [&](uint64_t limit) {
    return policy.Due(chunks.map(), chunks.debt(), limit, UINT64_MAX).size();
  };
  EXPECT_EQ(jobs(chunks.debt()), 0u);
  EXPECT_EQ(jobs(chunks.debt() - 1), 1u);
  EXPECT_EQ(jobs(30 * kKiB), 2u);
  EXPECT_EQ(jobs(0), 4u);
}

// Neighbours whose rewriting gains about as much go along, for their logs are read together.
TEST(Due, TakesNeighboursAlong) {
  const Policy policy(Resolved());
  Chunks chunks({{40 * kKiB, 30 * kKiB},
                 {40 * kKiB, 10 * kKiB},
                 {40 * kKiB, 30 * kKiB},
                 {40 * kKiB, 40 * kKiB},
                 {40 * kKiB, 28 * kKiB},
                 {40 * kKiB, 30 * kKiB},
                 {40 * kKiB, 30 * kKiB}});
  EXPECT_EQ(chunks.Due(policy), (Positions{{2}, {3}, {4}, {5}, {6}}));
  EXPECT_EQ(chunks.Due(policy, 1), (Positions{{3}})) << "the largest log first";
  chunks[4].failed_rounds = 1;
  EXPECT_EQ(chunks.Due(policy), (Positions{{2}, {3}}));
  chunks[2].Exchange(new Munk(chunks[2].min_key, chunks[2].max_key));
  EXPECT_EQ(chunks.Due(policy), (Positions{{3}})) << "a log with a munk may grow";
}

TEST(Due, GroupsAreNoLargerThanWhatIsReadAtOnce) {
  const Policy policy(Resolved());
  std::vector<Sizes> sizes(20, {60 * kKiB, 31 * kKiB});
  sizes[0].log = 33 * kKiB;
  const uint64_t most = (policy.GroupBytes() - sizes[0].log) / sizes[1].log + 1;
  EXPECT_GT(most, 4U);
  EXPECT_EQ(Chunks(sizes).Due(policy).size(), most);
}

TEST(Due, OwnLimitsCountTowardsTheDebt) {
  Options options = Resolved();
  options.log_debt_limit = 50 * kKiB;
  const Policy policy(options);
  const Chunks chunks({{60 * kKiB, 10 * kKiB}, {60 * kKiB, 40 * kKiB}, {60 * kKiB, 20 * kKiB}});
  EXPECT_EQ(chunks.Due(policy), (Positions{{1}}));
}

TEST(Due, LeavesChunksAloneThatFailed) {
  const Policy policy(Resolved());
  Chunks chunks({{40 * kKiB, 50 * kKiB}, {40 * kKiB, 40 * kKiB}, {kKiB, 0}, {kKiB, 0}});
  chunks[0].failed_rounds = 3;
  chunks[2].failed_rounds = 1;
  EXPECT_EQ(chunks.Due(policy), (Positions{{1}}));
  chunks[0].failed_rounds = 0;
  chunks[2].failed_rounds = 0;
  EXPECT_EQ(chunks.Due(policy), (Positions{{0}, {1}, {2, 3}}));
}

TEST(Due, MergesNeighboursThatFitWell) {
  const Policy policy(Resolved());
  // Below a quarter of the chunk size, and together not so full that they are split again soon.
  EXPECT_EQ(Chunks({{15 * kKiB, 0}, {29 * kKiB, 0}}).Due(policy), (Positions{{0, 1}}));
  EXPECT_EQ(Chunks({{29 * kKiB, 0}, {15 * kKiB, 0}}).Due(policy), (Positions{{0, 1}}));
  EXPECT_EQ(Chunks({{16 * kKiB, 0}, {16 * kKiB, 0}}).Due(policy), Positions{});
  EXPECT_EQ(Chunks({{15 * kKiB, 0}, {30 * kKiB, 0}}).Due(policy), Positions{});
  EXPECT_EQ(Chunks({{0, 0}, {0, 0}}).Due(policy), (Positions{{0, 1}})) << "empty ones vanish";
  EXPECT_EQ(Chunks({{0, 0}, {60 * kKiB, 0}}).Due(policy), Positions{});
}

TEST(Due, AChunkHasOneJobAtATime) {
  const Policy policy(Resolved());
  EXPECT_EQ(Chunks({{kKiB, 0}, {kKiB, 0}, {kKiB, 0}, {kKiB, 0}, {kKiB, 0}}).Due(policy),
            (Positions{{0, 1}, {2, 3}}));
  EXPECT_EQ(Chunks({{kKiB, 0}, {kKiB, 40 * kKiB}, {kKiB, 0}}).Due(policy), (Positions{{1}}));
}

TEST(Due, HoldsForRandomChunks) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Options options = Resolved();
    options.log_debt_limit = rng.Pick({Options::kAuto, 100 * kKiB, 1024 * kKiB});
    const Policy policy(options);
    std::vector<Sizes> sizes(rng.Skewed(60));
    for (Sizes& size : sizes) {
      size.table = rng.OneIn(4) ? 0 : rng.Below(64 * kKiB);
      size.log = rng.OneIn(3) ? 0 : rng.Skewed(64 * kKiB);
    }
    Chunks chunks(sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      chunks[i].failed_rounds = rng.OneIn(9) ? 1 : 0;
    }
    const Positions due = chunks.Due(policy);
    std::vector<bool> taken(sizes.size());
    uint64_t left = chunks.debt();
    for (const auto& job : due) {
      for (const size_t at : job) {
        EXPECT_FALSE(taken[at]) << at;
        taken[at] = true;
        EXPECT_EQ(chunks[at].failed_rounds, 0U);
      }
      if (job.size() == 1) left -= sizes[job.front()].log;
    }
    bool waiting = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (taken[i] || chunks[i].failed_rounds > 0) continue;
      EXPECT_LE(sizes[i].log, policy.LogLimit(chunks[i])) << i;
      waiting |= sizes[i].log > 0;
    }
    if (waiting) {
      EXPECT_LE(left, policy.DebtLimit(chunks.live(), 0, 0))
          << "logs wait though all together are over their limit";
    }
  }
}

TEST(PieceBytes, CutsOnlyWhatDoesNotFit) {
  const Policy policy(Resolved());
  const uint64_t chunk = 64 * kKiB;
  EXPECT_GE(policy.PieceBytes(0), chunk);
  EXPECT_GE(policy.PieceBytes(chunk), chunk);
  for (uint64_t input = chunk + 1; input < 50 * chunk; input += 777) {
    const uint64_t piece = policy.PieceBytes(input);
    EXPECT_LT(piece, chunk) << input;
    EXPECT_GE(piece, chunk / 2) << input << ": a piece must not be due for a merge at once";
    EXPECT_GE((input + piece - 1) / piece, 2U) << input;
    EXPECT_LT(input % piece, std::max<uint64_t>(piece / 8, 100)) << input << ": equal pieces";
  }
}

TEST(DueForScans, OfLogsThatCostScansMoreThanAMerge) {
  const Policy policy(Resolved());
  constexpr uint64_t kNow = 1'000'000'000'000;
  // By position: what is worth it, read too rarely, without a log, with a larger log.
  Chunks chunks({{1024 * kKiB, 1024 * kKiB},
                 {1024 * kKiB, 1024 * kKiB},
                 {1024 * kKiB, 0},
                 {1024 * kKiB, 2048 * kKiB}});
  uint64_t since = 0;
  const auto due = [&](uint64_t bytes) {
    std::vector<size_t> positions;
    for (const Job& job : policy.DueForScans(chunks.map(), kNow, since, bytes)) {
      EXPECT_EQ(job.bytes, job.chunks.front()->funk().bytes());
      positions.push_back(chunks.map().Position(job.chunks.front()->min_key));
    }
    return positions;
  };
  EXPECT_EQ(due(UINT64_MAX), std::vector<size_t>{}) << "no scan runs";
  // 3 MiB to read and write, 8 KiB a read, a minute: 384 reads.
  const auto reads = [](double a_minute) {
    return static_cast<uint32_t>(a_minute / 60 * kHeatSeconds * 1.01 + 1);
  };
  for (size_t i = 0; i < 4; ++i) chunks[i].heat.log_reads = reads(i == 1 ? 300 : 700);
  EXPECT_EQ(due(UINT64_MAX), (std::vector<size_t>{0, 3}));
  since = kNow - 1'900'000'000;
  EXPECT_EQ(due(UINT64_MAX), std::vector<size_t>{}) << "scans may soon be over";
  since = kNow - 2'000'000'000;
  EXPECT_EQ(due(UINT64_MAX), (std::vector<size_t>{0, 3}));
  EXPECT_EQ(due(1), std::vector<size_t>{0}) << "the most worthwhile";
  chunks[0].reorganised_ns = kNow - 20'000'000'000;
  EXPECT_EQ(due(UINT64_MAX), std::vector<size_t>{3}) << "its log will be back in 20 seconds";
  chunks[0].heat.log_reads = reads(3 * 700);
  EXPECT_EQ(due(UINT64_MAX), (std::vector<size_t>{0, 3}));
  chunks[0].Exchange(new Munk("", ""));
  EXPECT_EQ(due(UINT64_MAX), std::vector<size_t>{3}) << "a munk serves its scans";
  chunks[3].failed_rounds = 1;
  EXPECT_EQ(due(UINT64_MAX), std::vector<size_t>{});
}

TEST(ScansSince, BeginsAgainAfterAPause) {
  Chunks chunks({{1024 * kKiB, 1024 * kKiB}, {1024 * kKiB, 1024 * kKiB}});
  EXPECT_EQ(Policy::ScansSince(chunks.map(), 20, 10), 20) << "no scan read a log";
  chunks[1].heat.scans = 1;
  EXPECT_EQ(Policy::ScansSince(chunks.map(), 20, 10), 20) << "a scan found all in memory";
  chunks[1].heat.log_reads = 1;
  EXPECT_EQ(Policy::ScansSince(chunks.map(), 20, 10), 10);
}

TEST(KeepsRing, WhereItIsWrittenThroughSoon) {
  const Policy policy(Resolved());
  const auto size = static_cast<double>(Resolved().stage_size);
  EXPECT_FALSE(policy.KeepsRing(0));
  EXPECT_FALSE(policy.KeepsRing(size * 3 / 20));
  EXPECT_TRUE(policy.KeepsRing(size * 3 / 10));
  EXPECT_TRUE(policy.KeepsRing(size * 30));
}

TEST(AppendedEnough, WhenAMunkIsMostlyNews) {
  const Policy policy(Resolved());
  Munk munk("", "");
  for (uint64_t i = 0; i < 200; ++i) {
    const std::string key = std::to_string(1000 + i);
    munk.Fill({key, std::string(100, 'v'), i + 1, EntryType::kValue});
  }
  munk.Activate();
  EXPECT_FALSE(policy.AppendedEnough(munk, 0.5));
  uint64_t version = 1000;
  const std::string value(100, 'w');
  while (munk.appended_memory() <= 4 * kKiB) {
    EXPECT_FALSE(policy.AppendedEnough(munk, 0.5)) << munk.appended_memory();
    munk.Insert({"5", value, ++version, EntryType::kValue});
  }
  while (!policy.AppendedEnough(munk, 0.5) && version < 5000) {
    munk.Insert({"5", value, ++version, EntryType::kValue});
  }
  EXPECT_TRUE(policy.AppendedEnough(munk, 0.5));
  EXPECT_LT(version, 1400U) << "half as much as was there";
  EXPECT_FALSE(policy.AppendedEnough(munk, 1));
}

// With rows this small, what the list needs for each is most of the munk.
TEST(AppendedEnough, ForTheSmallestRowsToo) {
  const Policy policy(Resolved());
  Munk munk("", "");
  for (uint64_t i = 0; i < 1000; ++i)
    munk.Fill({std::to_string(1000 + i), "", i + 1, EntryType::kValue});
  munk.Activate();
  uint64_t version = 1000;
  while (!policy.AppendedEnough(munk, 0.5) && version < 5000) {
    munk.Insert({"5", "", ++version, EntryType::kValue});
  }
  EXPECT_TRUE(policy.AppendedEnough(munk, 0.5));
}

}  // namespace
}  // namespace chunkstore
