// Episodes from looks, with times that the test makes up.
#include "stalls.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kvdyno::rocks {

namespace {

constexpr uint64_t kMs = 1'000'000;

class Stalls : public ::testing::Test {
 protected:
  std::vector<Event> Take() {
    std::vector<Event> events;
    events_.Take(&events);
    return events;
  }
  double Counted(const std::string& name, uint64_t now_ns) const {
    std::vector<Counter> counters;
    log_.Sample(now_ns, &counters);
    for (const Counter& counter : counters) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  EventLog events_;
  StallLog log_{&events_};
};

TEST_F(Stalls, AnEpisodeLastsFromTheFirstLookThatSeesItToTheFirstThatDoesNot) {
  log_.Look(1 * kMs, Stall::kNone, Cause::kOther, {});
  log_.Look(5 * kMs, Stall::kStop, Cause::kLevel0, {.level0_files = 36});
  log_.Look(7 * kMs, Stall::kStop, Cause::kLevel0, {.level0_files = 37});
  EXPECT_TRUE(Take().empty()) << "it goes on";
  log_.Look(9 * kMs, Stall::kNone, Cause::kOther, {});
  const std::vector<Event> events = Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "stall");
  EXPECT_EQ(events[0].begin_ns, 5 * kMs);
  EXPECT_EQ(events[0].duration_ns, 4 * kMs);
  EXPECT_EQ(events[0].state, "stop");
  EXPECT_EQ(events[0].cause, "level0");
  EXPECT_EQ(events[0].detail, "immutables=0 level0_files=36 pending_bytes=0");
  EXPECT_TRUE(events[0].ended);
}

TEST_F(Stalls, AnotherStateOrCauseIsAnotherEpisode) {
  log_.Look(1 * kMs, Stall::kDelay, Cause::kLevel0, {});
  log_.Look(2 * kMs, Stall::kDelay, Cause::kPending, {});
  log_.Look(4 * kMs, Stall::kStop, Cause::kPending, {});
  log_.Look(7 * kMs, Stall::kNone, Cause::kOther, {});
  EXPECT_EQ(Take().size(), 3u);
  EXPECT_EQ(Counted("delays", 9 * kMs), 2);
  EXPECT_EQ(Counted("stops", 9 * kMs), 1);
  EXPECT_EQ(Counted("delay_micros", 9 * kMs), 3000);
  EXPECT_EQ(Counted("delay_level0_micros", 9 * kMs), 1000);
  EXPECT_EQ(Counted("delay_pending_micros", 9 * kMs), 2000);
  EXPECT_EQ(Counted("stop_pending_micros", 9 * kMs), 3000);
  EXPECT_EQ(Counted("stops_pending", 9 * kMs), 1);
  EXPECT_EQ(Counted("stops_memtable", 9 * kMs), 0);
  EXPECT_EQ(Counted("longest_stall_micros", 9 * kMs), 3000);
}

TEST_F(Stalls, WhatGoesOnIsCountedAsFarAsItHasCome) {
  log_.Look(1 * kMs, Stall::kStop, Cause::kMemtable, {});
  EXPECT_EQ(Counted("stops", 1 * kMs), 1);
  EXPECT_EQ(Counted("stop_micros", 3 * kMs), 2000);
  EXPECT_EQ(Counted("stop_memtable_micros", 4 * kMs), 3000);
  EXPECT_EQ(Counted("longest_stall_micros", 4 * kMs), 3000);
}

TEST_F(Stalls, WhatDoesNotEndIsReportedAsSuch) {
  log_.Look(1 * kMs, Stall::kStop, Cause::kMemtable, {});
  log_.Finish(6 * kMs);
  const std::vector<Event> events = Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].ended);
  EXPECT_EQ(events[0].duration_ns, 5 * kMs);
  log_.Finish(8 * kMs);
  EXPECT_TRUE(Take().empty());
}

}  // namespace

}  // namespace kvdyno::rocks
