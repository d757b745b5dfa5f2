// A store's life: settle, close, open again; and many operations against a reference.
#include <cstdlib>
#include <iostream>
#include <random>

#include "fixture.h"

namespace kvdyno::conformance {

namespace {

TEST_F(Conformance, ReopenedStoreHasItsData) {
  ExpectPut("kept", "value");
  ExpectPut("changed", "old");
  ExpectPut("changed", "new");
  ExpectPut("deleted", "value");
  ASSERT_TRUE(session().Delete("deleted").ok());
  Reopen();
  ExpectGet("kept", "value");
  ExpectGet("changed", "new");
  ExpectAbsent("deleted");
  ExpectRows({}, {{"changed", "new"}, {"kept", "value"}});
}

TEST_F(Conformance, ReopenTwiceWithoutWrites) {
  ExpectPut("key", "value");
  Reopen();
  Reopen();
  ExpectGet("key", "value");
}

TEST_F(Conformance, SettleCanBeRepeated) {
  Settle();
  Reference reference;
  for (uint64_t i = 0; i < 1000; i++) {
    reference[NumberedKey(i)] = RandomBytes(i, 800);
    ExpectPut(NumberedKey(i), reference[NumberedKey(i)]);
  }
  Settle();
  ExpectEquals(reference);
  Settle();
  ExpectEquals(reference);
  Reopen();
  ExpectEquals(reference);
}

// What a phase leaves undone can be paid for before the next one.
TEST_F(Conformance, SettlesDownToADebt) {
  if (!adapter().can_settle()) GTEST_SKIP() << "the engine cannot settle";
  if (!adapter().Debt()) GTEST_SKIP() << "the engine does not know what it owes";
  const uint64_t at_first = *adapter().Debt();
  Reference reference;
  for (uint64_t round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < 5000; i++) {
      const std::string key = NumberedKey(i * 7919 % 5000);
      reference[key] = RandomBytes(i + round, 800);
      ExpectPut(key, reference[key]);
    }
    const Status settled = adapter().Settle(at_first);
    ASSERT_TRUE(settled.ok()) << settled.ToString();
    EXPECT_LE(*adapter().Debt(), at_first);
  }
  ExpectEquals(reference);
  Reopen();
  EXPECT_LE(*adapter().Debt(), at_first) << "a new process knows it too";
  ExpectEquals(reference);
}

// A driver takes events until the store is closed, and once more afterwards.
TEST(ConformanceEvents, CanBeTakenFromOpenToAfterClose) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  const Status opened = adapter->Open({.directory = directory.path()});
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  std::vector<Event> events;
  adapter->TakeEvents(&events);
  std::unique_ptr<Session> session = adapter->NewSession();
  for (uint64_t i = 0; i < 1000; i++) {
    ASSERT_TRUE(session->Put(NumberedKey(i), RandomBytes(i, 800)).ok());
  }
  adapter->TakeEvents(&events);
  session.reset();
  ASSERT_TRUE(adapter->Close().ok());
  adapter->TakeEvents(&events);
  for (const Event& event : events) ExpectPlausible(event);
  events.clear();
  adapter->TakeEvents(&events);
  EXPECT_TRUE(events.empty()) << "an event is reported once";
}

// KVDYNO_SEED repeats a failed run.
uint64_t Seed() {
  const char* fixed = std::getenv("KVDYNO_SEED");
  const uint64_t seed = fixed ? std::strtoull(fixed, nullptr, 10) : std::random_device()();
  std::cout << "KVDYNO_SEED=" << seed << std::endl;
  return seed;
}

class ConformanceRandom : public Conformance {
 protected:
  // Few keys, so that overwrites and deletes meet existing ones.
  static constexpr uint64_t kKeys = 700;

  void Step() {
    const std::string key = NumberedKey(random_() % kKeys);
    switch (random_() % 8) {
      case 0: {
        const Status deleted = session().Delete(key);
        ASSERT_TRUE(deleted.ok()) << deleted.ToString();
        reference_.erase(key);
        break;
      }
      case 1:
        CheckScan(key, 1 + random_() % 20);
        break;
      case 2:
      case 3:
        CheckGet(key);
        break;
      default:
        reference_[key] = RandomBytes(random_(), random_() % 2000);
        ExpectPut(key, reference_[key]);
    }
  }

  void CheckGet(const std::string& key) {
    const auto expected = reference_.find(key);
    if (expected == reference_.end()) {
      ExpectAbsent(key);
    } else {
      ExpectGet(key, expected->second);
    }
  }

  void CheckScan(const std::string& start, uint64_t limit) {
    Rows expected;
    for (auto row = reference_.lower_bound(start); row != reference_.end(); ++row) {
      if (expected.size() == limit) break;
      expected.push_back(*row);
    }
    ExpectRows({.start = start, .limit = limit}, expected);
  }

  std::mt19937_64 random_{Seed()};
  Reference reference_;
};

TEST_F(ConformanceRandom, AgreesWithAMap) {
  for (int round = 0; round < 6; round++) {
    for (int step = 0; step < 2500 && !HasFatalFailure(); step++) Step();
    if (round % 2 == 0) {
      Settle();
    } else {
      Reopen();
    }
    ExpectEquals(reference_);
  }
}

}  // namespace

}  // namespace kvdyno::conformance
