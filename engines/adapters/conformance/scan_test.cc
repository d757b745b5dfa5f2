// Scans: bounds, limits, order, early end.
#include <algorithm>

#include "fixture.h"

namespace kvdyno::conformance {

namespace {

class ConformanceScan : public Conformance {
 protected:
  // Keys 0, 10, 20, ... 90.
  void SetUp() override {
    Conformance::SetUp();
    for (uint64_t i = 0; i < 10; i++) ExpectPut(NumberedKey(i * 10), std::to_string(i * 10));
  }

  static Rows Numbers(uint64_t from, uint64_t to) {
    Rows rows;
    for (uint64_t i = from; i <= to; i += 10) rows.emplace_back(NumberedKey(i), std::to_string(i));
    return rows;
  }
};

TEST_F(ConformanceScan, WithoutBoundsReturnsEverything) { ExpectRows({}, Numbers(0, 90)); }

TEST_F(ConformanceScan, StartIsInclusive) {
  ExpectRows({.start = NumberedKey(30)}, Numbers(30, 90));
}

TEST_F(ConformanceScan, StartNeedNotExist) {
  ExpectRows({.start = NumberedKey(31)}, Numbers(40, 90));
}

TEST_F(ConformanceScan, EndIsExclusive) {
  ExpectRows({.end = NumberedKey(30)}, Numbers(0, 20));
  ExpectRows({.end = NumberedKey(31)}, Numbers(0, 30));
}

TEST_F(ConformanceScan, BothBounds) {
  ExpectRows({.start = NumberedKey(15), .end = NumberedKey(60)}, Numbers(20, 50));
}

TEST_F(ConformanceScan, EmptyRanges) {
  ExpectRows({.start = NumberedKey(91)}, {});
  ExpectRows({.end = NumberedKey(0)}, {});
  ExpectRows({.start = NumberedKey(41), .end = NumberedKey(49)}, {});
  ExpectRows({.start = NumberedKey(50), .end = NumberedKey(50)}, {});
  ExpectRows({.start = NumberedKey(60), .end = NumberedKey(50)}, {});
}

TEST_F(ConformanceScan, LimitCountsRows) {
  ExpectRows({.start = NumberedKey(20), .limit = 1}, Numbers(20, 20));
  ExpectRows({.start = NumberedKey(20), .limit = 3}, Numbers(20, 40));
  ExpectRows({.start = NumberedKey(80), .limit = 5}, Numbers(80, 90));
  ExpectRows({.start = NumberedKey(20), .end = NumberedKey(40), .limit = 5}, Numbers(20, 30));
}

TEST_F(ConformanceScan, VisitorEndsIt) {
  RowCollector collector(2);
  const Status scanned = session().Scan({}, &collector);
  EXPECT_TRUE(scanned.ok()) << scanned.ToString();
  EXPECT_EQ(collector.rows.size(), 2u);
}

TEST_F(ConformanceScan, SkipsDeletedRows) {
  ASSERT_TRUE(session().Delete(NumberedKey(40)).ok());
  ExpectRows({.start = NumberedKey(30), .limit = 2},
             {{NumberedKey(30), "30"}, {NumberedKey(50), "50"}});
}

TEST_F(ConformanceScan, SeesOverwrites) {
  ExpectPut(NumberedKey(30), "new");
  ExpectRows({.start = NumberedKey(30), .limit = 1}, {{NumberedKey(30), "new"}});
}

TEST_F(ConformanceScan, SurvivesSettle) {
  Settle();
  ExpectPut(NumberedKey(35), "35");
  ASSERT_TRUE(session().Delete(NumberedKey(20)).ok());
  ExpectRows({.start = NumberedKey(10), .limit = 4}, {{NumberedKey(10), "10"},
                                                      {NumberedKey(30), "30"},
                                                      {NumberedKey(35), "35"},
                                                      {NumberedKey(40), "40"}});
}

class ConformanceReverseScan : public ConformanceScan {
 protected:
  void SetUp() override {
    ConformanceScan::SetUp();
    if (!adapter().can_scan_reverse()) GTEST_SKIP() << "the engine cannot scan backwards";
  }

  // The numbered rows from `from` down to `to`.
  void ExpectDown(const ScanRange& range, uint64_t from, uint64_t to) {
    Rows rows = Numbers(to, from);
    std::reverse(rows.begin(), rows.end());
    RowCollector collector;
    const Status scanned = session().ReverseScan(range, &collector);
    ASSERT_TRUE(scanned.ok()) << scanned.ToString();
    EXPECT_EQ(collector.rows, rows);
  }
};

TEST_F(ConformanceReverseScan, ReturnsEveryRowFromTheLast) {
  ExpectDown({}, 90, 0);
  Settle();
  ExpectDown({}, 90, 0);
}

TEST_F(ConformanceReverseScan, StartIsInclusiveAndNeedNotExist) {
  ExpectDown({.start = NumberedKey(30)}, 30, 0);
  ExpectDown({.start = NumberedKey(35)}, 30, 0);
  ExpectDown({.start = NumberedKey(99)}, 90, 0);
  Settle();
  ExpectDown({.start = NumberedKey(30)}, 30, 0);
  ExpectDown({.start = NumberedKey(35)}, 30, 0);
}

TEST_F(ConformanceReverseScan, EndIsExclusive) {
  ExpectDown({.end = NumberedKey(30)}, 90, 40);
  ExpectDown({.start = NumberedKey(60), .end = NumberedKey(29)}, 60, 30);
}

TEST_F(ConformanceReverseScan, EmptyRangesHaveNoRows) {
  const std::string below = "a";
  for (const ScanRange& range : {ScanRange{.start = below}, ScanRange{.start = "x", .end = "z"}}) {
    RowCollector collector;
    const Status scanned = session().ReverseScan(range, &collector);
    EXPECT_TRUE(scanned.ok()) << scanned.ToString();
    EXPECT_TRUE(collector.rows.empty());
  }
}

TEST_F(ConformanceReverseScan, LimitAndVisitorEndIt) {
  ExpectDown({.start = NumberedKey(60), .limit = 3}, 60, 40);
  ExpectDown({.start = NumberedKey(10), .limit = 5}, 10, 0);
  RowCollector collector(2);
  const Status scanned = session().ReverseScan({}, &collector);
  EXPECT_TRUE(scanned.ok()) << scanned.ToString();
  EXPECT_EQ(collector.rows.size(), 2u);
}

TEST_F(ConformanceReverseScan, SeesNewAndDeletedRows) {
  Settle();
  ASSERT_TRUE(session().Delete(NumberedKey(40)).ok());
  ExpectPut(NumberedKey(30), "new");
  RowCollector collector;
  const Status scanned = session().ReverseScan({.start = NumberedKey(50), .limit = 2}, &collector);
  ASSERT_TRUE(scanned.ok()) << scanned.ToString();
  EXPECT_EQ(collector.rows, (Rows{{NumberedKey(50), "50"}, {NumberedKey(30), "new"}}));
}

TEST_F(ConformanceScan, WithoutReverseScansReturnsUnsupported) {
  if (adapter().can_scan_reverse()) GTEST_SKIP() << "the engine scans backwards";
  RowCollector collector;
  const Status scanned = session().ReverseScan({}, &collector);
  EXPECT_EQ(scanned.code(), Code::kUnsupported);
  EXPECT_FALSE(scanned.message().empty());
}

// Bytes compare unsigned, and a prefix sorts before what it begins.
TEST_F(Conformance, BinaryKeysSortAsUnsignedBytes) {
  using std::string_literals::operator""s;
  const std::vector<std::string> sorted = {"\x00"s,     "\x00\x00"s, "\x00\x01"s, "\x00\xff"s,
                                           "\x01"s,     "\x01\x00"s, "a"s,        "a\x00"s,
                                           "a\x00z"s,   "aa"s,       "\x7f"s,     "\x80"s,
                                           "\xfe\xff"s, "\xff"s,     "\xff\x00"s, "\xff\xff"s};
  Rows rows;
  for (const std::string& key : sorted) rows.emplace_back(key, "of " + key);
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) ExpectPut(row->first, row->second);
  ExpectEquals(Reference(rows.begin(), rows.end()));
  ExpectRows({}, rows);
  ExpectRows({.start = "a\x00"s, .end = "\x80"s}, Rows(rows.begin() + 7, rows.begin() + 11));
  ExpectRows({.start = "\xff"s}, Rows(rows.begin() + 13, rows.end()));
}

}  // namespace

}  // namespace kvdyno::conformance
