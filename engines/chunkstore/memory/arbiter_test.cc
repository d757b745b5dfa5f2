#include "memory/arbiter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace chunkstore {
namespace {

constexpr uint64_t kTotal = 960 << 20;
constexpr uint64_t kFloor = kTotal / 64;
constexpr uint64_t kTooMuch = UINT64_MAX;  // data that do not fit
constexpr CacheShare kAdaptive{0, true};
constexpr CacheShares kAllAdaptive{kAdaptive, kAdaptive, kAdaptive};

uint64_t Sum(const CacheShares& shares) {
  return shares.munks.bytes + shares.rows.bytes + shares.blocks.bytes;
}

// A cache that is full.
CacheObservation Seen(const CacheShare& share, uint64_t hits, uint64_t misses, uint64_t ghosts) {
  return {hits, ghosts, misses, share.bytes};
}

TEST(Arbiter, StartsWithEqualParts) {
  const Arbiter arbiter(kTotal, kTooMuch, kAllAdaptive);
  EXPECT_EQ(arbiter.shares().munks.bytes, kTotal / 3);
  EXPECT_EQ(arbiter.shares().rows.bytes, kTotal / 3);
  EXPECT_EQ(arbiter.shares().blocks.bytes, kTotal / 3);
  const Arbiter odd(1001, kTooMuch, kAllAdaptive);
  EXPECT_EQ(Sum(odd.shares()), 1001u);
  const Arbiter two(1000, kTooMuch, {{600, false}, kAdaptive, kAdaptive});
  EXPECT_EQ(two.shares().munks.bytes, 600u);
  EXPECT_EQ(two.shares().rows.bytes, 200u);
  EXPECT_EQ(two.shares().blocks.bytes, 200u);
}

TEST(Arbiter, FixedSharesFitTheTotal) {
  Arbiter arbiter(900, kTooMuch, {{600, false}, {300, false}, kAdaptive});
  EXPECT_EQ(arbiter.shares().munks.bytes, 600u);
  EXPECT_EQ(arbiter.shares().blocks.bytes, 0u);
  arbiter.SetTotal(300, kTooMuch);
  EXPECT_EQ(arbiter.shares().munks.bytes, 200u);
  EXPECT_EQ(arbiter.shares().rows.bytes, 100u);
  EXPECT_EQ(arbiter.shares().blocks.bytes, 0u);
  arbiter.SetTotal(1000, kTooMuch);
  EXPECT_EQ(arbiter.shares().munks.bytes, 600u);
  EXPECT_EQ(arbiter.shares().rows.bytes, 300u);
  EXPECT_EQ(arbiter.shares().blocks.bytes, 100u);
}

TEST(Arbiter, DataThatFitBecomeMunks) {
  constexpr uint64_t kForMunks = kTotal - 2 * kFloor;
  Arbiter arbiter(kTotal, kForMunks - kForMunks / Arbiter::kSpareShare, kAllAdaptive);
  EXPECT_EQ(arbiter.shares().munks.bytes, kForMunks);
  EXPECT_EQ(arbiter.shares().rows.bytes, kFloor);
  EXPECT_EQ(arbiter.shares().blocks.bytes, kFloor);
  const CacheShares& now = arbiter.shares();
  EXPECT_FALSE(arbiter.Decide(Seen(now.munks, 0, 9'000, 0), Seen(now.rows, 0, 9'000, 9'000),
                              Seen(now.blocks, 0, 9'000, 0)));
  // When the data no longer fit, the shares start over. Munks that can hold half of them get most.
  arbiter.SetTotal(kTotal, kTotal);
  EXPECT_EQ(arbiter.shares().munks.bytes, kTotal - 2 * kFloor);
  EXPECT_EQ(arbiter.shares().rows.bytes, kFloor);
  Arbiter grown(kTotal, 1, kAllAdaptive);
  grown.SetTotal(kTotal, 2 * kTotal);
  EXPECT_EQ(grown.shares().munks.bytes, kTotal / 3);
  Arbiter no_rows(kTotal, kForMunks / 2, {kAdaptive, {0, false}, kAdaptive});
  EXPECT_EQ(no_rows.shares().munks.bytes, kTotal - kFloor);
  const Arbiter no_munks(kTotal, 1, {{0, false}, kAdaptive, kAdaptive});
  EXPECT_EQ(no_munks.shares().rows.bytes, kTotal / 2);
}

TEST(Arbiter, PointReadsGrowRows) {
  Arbiter arbiter(kTotal, kTooMuch, kAllAdaptive);
  for (int i = 0; i < 100; ++i) {
    const CacheShares& now = arbiter.shares();
    arbiter.Decide(Seen(now.munks, 100, 20'000, 50), Seen(now.rows, 5'000, 15'000, 6'000),
                   Seen(now.blocks, 1'000, 14'000, 800));
  }
  EXPECT_EQ(Sum(arbiter.shares()), kTotal);
  EXPECT_EQ(arbiter.shares().munks.bytes, kFloor);
  EXPECT_GT(arbiter.shares().rows.bytes, kTotal / 2);
}

TEST(Arbiter, ScansGrowBlocks) {
  Arbiter arbiter(kTotal, kTooMuch, kAllAdaptive);
  for (int i = 0; i < 100; ++i) {
    const CacheShares& now = arbiter.shares();
    arbiter.Decide(Seen(now.munks, 0, 2'000, 10), Seen(now.rows, 10, 40, 0),
                   Seen(now.blocks, 10'000, 30'000, 9'000));
  }
  EXPECT_EQ(arbiter.shares().munks.bytes, kFloor);
  EXPECT_EQ(arbiter.shares().rows.bytes, kFloor);
  EXPECT_EQ(arbiter.shares().blocks.bytes, kTotal - 2 * kFloor);
}

TEST(Arbiter, HotChunksGrowMunks) {
  Arbiter arbiter(kTotal, kTooMuch, kAllAdaptive);
  for (int i = 0; i < 100; ++i) {
    const CacheShares& now = arbiter.shares();
    arbiter.Decide(Seen(now.munks, 20'000, 10'000, 8'000), Seen(now.rows, 1'000, 9'000, 500),
                   Seen(now.blocks, 500, 8'500, 300));
  }
  EXPECT_GT(arbiter.shares().munks.bytes, kTotal / 2);
  EXPECT_EQ(Sum(arbiter.shares()), kTotal);
}

TEST(Arbiter, RowsThatTheBlocksServeAreWorthLittle) {
  Arbiter arbiter(kTotal, kTooMuch, kAllAdaptive);
  const CacheShares& now = arbiter.shares();
  EXPECT_TRUE(arbiter.Decide(Seen(now.munks, 0, 10'000, 0), Seen(now.rows, 0, 10'000, 2'000),
                             Seen(now.blocks, 9'900, 100, 90)));
  EXPECT_EQ(now.rows.bytes, kTotal / 3) << "neither the best nor the worst";
  EXPECT_GT(now.blocks.bytes, kTotal / 3);
}

TEST(Arbiter, MovesAThirtySecondOrAnEighth) {
  Arbiter plain(kTotal, kTooMuch, kAllAdaptive);
  EXPECT_TRUE(plain.Decide({0, 0, 5'000, kTotal}, {0, 5'000, 5'000, kTotal}, {}));
  EXPECT_EQ(plain.shares().rows.bytes, kTotal / 3 + kTotal / 8) << "the others earn nothing";
  Arbiter close(kTotal, kTooMuch, kAllAdaptive);
  EXPECT_TRUE(close.Decide({0, 4'000, 5'000, kTotal}, {0, 5'000, 5'000, kTotal},
                           {0, 3'000, 5'000, kTotal}));
  EXPECT_EQ(close.shares().rows.bytes, kTotal / 3 + kTotal / 32);
  EXPECT_EQ(close.shares().blocks.bytes, kTotal / 3 - kTotal / 32);
}

TEST(Arbiter, NoiseChangesNothing) {
  Arbiter arbiter(kTotal, kTooMuch, kAllAdaptive);
  const uint64_t full = kTotal / 3;
  EXPECT_FALSE(arbiter.Decide({}, {}, {}));
  EXPECT_FALSE(arbiter.Decide({0, 0, 900, full}, {0, 900, 900, full}, {0, 0, 900, full}))
      << "fewer than 1000 operations";
  EXPECT_FALSE(
      arbiter.Decide({0, 1'000, 2'000, full}, {0, 1'100, 2'000, full}, {0, 1'050, 2'000, full}))
      << "less than 20 % apart";
  EXPECT_FALSE(arbiter.Decide({0, 0, 9'000, full}, {0, 9, 9'000, full}, {0, 0, 9'000, full}))
      << "a handful of ghosts";
  EXPECT_FALSE(arbiter.Decide({0, 0, 9'000, 0}, {0, 5'000, 9'000, full / 2}, {0, 0, 9'000, full}))
      << "what is not full needs no more";
  EXPECT_EQ(arbiter.shares().munks.bytes, full);
  EXPECT_EQ(arbiter.shares().rows.bytes, full);
}

// What a share was given last takes a while to fill, and earns nothing in that time.
TEST(Arbiter, AShareThatFillsIsLeftAlone) {
  Arbiter arbiter(kTotal, kTooMuch, {kAdaptive, kAdaptive, {0, false}});
  const uint64_t third = arbiter.shares().rows.bytes / 3;
  for (uint64_t held = third; held <= 2 * third; held += third / 10) {
    const CacheShares& now = arbiter.shares();
    EXPECT_FALSE(arbiter.Decide(Seen(now.munks, 50'000, 0, 500), {50'000, 0, 9'000, held}, {}));
  }
  const CacheShares& now = arbiter.shares();
  EXPECT_TRUE(arbiter.Decide(Seen(now.munks, 50'000, 0, 500), {50'000, 0, 9'000, 2 * third}, {}))
      << "it does not grow any more: others need it";
}

TEST(Arbiter, FixedSharesNeverMove) {
  Arbiter arbiter(kTotal, kTooMuch, {{100 << 20, false}, kAdaptive, kAdaptive});
  for (int i = 0; i < 100; ++i) {
    const CacheShares& now = arbiter.shares();
    arbiter.Decide(Seen(now.munks, 0, 9'000, 9'000), Seen(now.rows, 0, 9'000, 100),
                   Seen(now.blocks, 0, 9'000, 1'000));
  }
  EXPECT_EQ(arbiter.shares().munks.bytes, 100u << 20);
  EXPECT_GT(arbiter.shares().blocks.bytes, arbiter.shares().rows.bytes);
  Arbiter single(kTotal, kTooMuch, {{0, false}, kAdaptive, {1 << 20, false}});
  EXPECT_FALSE(single.Decide({0, 9'000, 9'000, 0}, {0, 9'000, 9'000, kTotal}, {}));
  EXPECT_EQ(single.shares().rows.bytes, kTotal - (1 << 20));
  Arbiter nothing_left(1000, kTooMuch, {{2000, false}, kAdaptive, kAdaptive});
  EXPECT_FALSE(nothing_left.Decide({0, 0, 9'000, 0}, {0, 9'000, 9'000, 0}, {0, 0, 9'000, 0}));
  EXPECT_EQ(nothing_left.shares().rows.bytes, 0u);
}

TEST(Arbiter, AnotherTotalKeepsTheProportions) {
  Arbiter arbiter(kTotal, kTooMuch, {{0, false}, kAdaptive, kAdaptive});
  arbiter.Decide({}, Seen(arbiter.shares().rows, 0, 9'000, 9'000), {0, 0, 9'000, 0});
  EXPECT_EQ(arbiter.shares().rows.bytes, kTotal / 2 + kTotal / 8);
  arbiter.SetTotal(kTotal * 2, kTooMuch);
  EXPECT_EQ(arbiter.shares().rows.bytes, kTotal + kTotal / 4);
  EXPECT_EQ(Sum(arbiter.shares()), kTotal * 2);
  arbiter.SetTotal(0, kTooMuch);
  EXPECT_EQ(Sum(arbiter.shares()), 0u);
  arbiter.SetTotal(kTotal, kTooMuch);
  EXPECT_EQ(Sum(arbiter.shares()), kTotal);
}

TEST(Arbiter, GetsThatAreSpreadOverChunksGetRowsAtOnce) {
  Arbiter arbiter(kTotal, kTooMuch, kAllAdaptive);
  const auto munks_earn = [&arbiter] {
    const CacheShares& now = arbiter.shares();
    return arbiter.Decide(Seen(now.munks, 20'000, 10'000, 9'000), Seen(now.rows, 9'000, 9'000, 900),
                          Seen(now.blocks, 500, 8'500, 60));
  };
  arbiter.Spread(true, kTotal / 4);
  EXPECT_EQ(arbiter.shares().munks.bytes, kTotal / 3) << "large reads bring munks first";
  arbiter.Spread(true, kTotal / 3);
  EXPECT_EQ(arbiter.shares().munks.bytes, kFloor) << "its floor";
  EXPECT_EQ(arbiter.shares().blocks.bytes, kTotal / 3) << "as before";
  EXPECT_EQ(Sum(arbiter.shares()), kTotal);
  const uint64_t rows = arbiter.shares().rows.bytes;
  for (int i = 0; i < 20; ++i) {
    munks_earn();
    arbiter.Spread(true, kFloor);
  }
  EXPECT_GE(arbiter.shares().rows.bytes, rows) << "munks take nothing from rows";
  arbiter.Spread(false, 0);
  arbiter.Decide(Seen(arbiter.shares().munks, 20'000, 10'000, 9'000),
                 Seen(arbiter.shares().rows, 9'000, 9'000, 900),
                 Seen(arbiter.shares().blocks, 500, 8'500, 9'000));
  EXPECT_LT(arbiter.shares().rows.bytes, kTotal - 2 * kFloor) << "and may again";

  Arbiter fitting(kTotal, 1, kAllAdaptive);
  fitting.Spread(true, kTotal);
  EXPECT_GT(fitting.shares().munks.bytes, kTotal / 2) << "data that fit are munks";
  Arbiter fixed(kTotal, kTooMuch, {{kTotal / 2, false}, kAdaptive, kAdaptive});
  fixed.Spread(true, kTotal);
  EXPECT_EQ(fixed.shares().munks.bytes, kTotal / 2) << "as the option sets it";
}

TEST(Arbiter, BoundsHoldWhateverIsSeen) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    const uint64_t total = random() >> (random() % 50);
    Arbiter arbiter(total, kTooMuch, kAllAdaptive);
    for (int i = 0; i < 300; ++i) {
      const CacheShares before = arbiter.shares();
      const auto any = [&random] {
        return CacheObservation{random() % 10'000, random() % 10'000, random() % 10'000, random()};
      };
      const bool moved = arbiter.Decide(any(), any(), any());
      const CacheShares& now = arbiter.shares();
      ASSERT_EQ(Sum(now), total);
      ASSERT_GE(now.munks.bytes, total / 64);
      ASSERT_GE(now.rows.bytes, total / 64);
      ASSERT_GE(now.blocks.bytes, total / 64);
      ASSERT_EQ(moved, now.munks.bytes != before.munks.bytes ||
                           now.rows.bytes != before.rows.bytes ||
                           now.blocks.bytes != before.blocks.bytes);
    }
  }
}

}  // namespace
}  // namespace chunkstore
