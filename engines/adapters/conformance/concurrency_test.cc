// Several sessions at once: every read value is one that a session wrote for that key, a key's
// versions never go back, and counters and events may be taken meanwhile.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "fixture.h"

namespace kvdyno::conformance {

namespace {

constexpr uint64_t kKeysPerWriter = 50;
constexpr uint64_t kVersions = 60;
constexpr uint64_t kWriters = 2;
constexpr uint64_t kKeys = kWriters * kKeysPerWriter;

// "<key>:<version>", padded to the size of a common record.
std::string Value(uint64_t key, uint64_t version) {
  std::string value = NumberedKey(key) + ":" + std::to_string(version) + ":";
  value.resize(800, 'v');
  return value;
}

// The version that a value carries; fails the test when the value is not of this key.
uint64_t VersionOf(uint64_t key, const std::string& value) {
  const std::string prefix = NumberedKey(key) + ":";
  EXPECT_EQ(value.size(), 800u);
  EXPECT_EQ(value.substr(0, prefix.size()), prefix);
  return value.size() > prefix.size() ? std::strtoull(value.c_str() + prefix.size(), nullptr, 10)
                                      : 0;
}

class ConformanceConcurrency : public Conformance {
 protected:
  void Write(uint64_t writer) {
    const std::unique_ptr<Session> session = adapter().NewSession();
    for (uint64_t version = 1; version <= kVersions; version++) {
      for (uint64_t i = 0; i < kKeysPerWriter; i++) {
        const uint64_t key = writer * kKeysPerWriter + i;
        const Status put = session->Put(NumberedKey(key), Value(key, version));
        if (!put.ok()) return Fail(put);
      }
    }
  }

  void Read() {
    const std::unique_ptr<Session> session = adapter().NewSession();
    std::vector<uint64_t> seen(kKeys, 0);
    std::string value;
    while (!done_) {
      for (uint64_t key = 0; key < kKeys; key++) {
        const Status got = session->Get(NumberedKey(key), &value);
        if (got.not_found() && seen[key] == 0) continue;
        if (!got.ok()) return Fail(got);
        const uint64_t version = VersionOf(key, value);
        EXPECT_GE(version, seen[key]);
        seen[key] = version;
      }
    }
  }

  void Scan() {
    const std::unique_ptr<Session> session = adapter().NewSession();
    while (!done_) {
      RowCollector collector;
      const Status scanned = session->Scan({.start = NumberedKey(10), .limit = 30}, &collector);
      if (!scanned.ok()) return Fail(scanned);
      for (const auto& [key, value] : collector.rows) EXPECT_EQ(value.size(), 800u);
      EXPECT_TRUE(std::is_sorted(collector.rows.begin(), collector.rows.end()));
    }
  }

  void SampleUntilDone() {
    while (!done_) {
      std::vector<Counter> counters;
      adapter().Sample(&counters);
      std::vector<Event> events;
      adapter().TakeEvents(&events);
      for (const Event& event : events) ExpectPlausible(event);
      std::this_thread::yield();
    }
  }

  void Fail(const Status& status) { ADD_FAILURE() << status.ToString(); }

  std::atomic<bool> done_ = false;
};

TEST_F(ConformanceConcurrency, WritersReadersAndSampler) {
  std::vector<std::jthread> observers;
  observers.emplace_back([this] { Read(); });
  observers.emplace_back([this] { Scan(); });
  observers.emplace_back([this] { SampleUntilDone(); });
  {
    std::vector<std::jthread> writers;
    for (uint64_t writer = 0; writer < kWriters; writer++) {
      writers.emplace_back([this, writer] { Write(writer); });
    }
  }
  done_ = true;
  observers.clear();
  for (uint64_t key = 0; key < kKeys; key++) ExpectGet(NumberedKey(key), Value(key, kVersions));
}

TEST_F(ConformanceConcurrency, WritersOfTheSameKeys) {
  {
    std::vector<std::jthread> writers;
    for (uint64_t writer = 0; writer < kWriters; writer++) {
      writers.emplace_back([this] { Write(0); });
    }
  }
  // Each writer's last version is the last one, whichever writer wrote it.
  for (uint64_t key = 0; key < kKeysPerWriter; key++) {
    ExpectGet(NumberedKey(key), Value(key, kVersions));
  }
}

}  // namespace

}  // namespace kvdyno::conformance
