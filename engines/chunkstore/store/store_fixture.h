// A store over a simulated disk, tiny in all its sizes, beside the map that it must equal.
// For the tests of this room. One thread.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chunkstore/store.h"
#include "kvdyno/base/testing/rng.h"
#include "kvdyno/base/testing/simulated_file_system.h"

namespace chunkstore {

using kvdyno::Code;
using kvdyno::testing::Loss;

using Rows = std::map<std::string, std::string>;

inline ::testing::AssertionResult IsOk(const Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.ToString();
}

inline std::string KeyOf(int i) {
  std::string key = "key";
  key.append(std::to_string(100000 + i));
  return key;
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    options_.memory_budget = Options::kLeastBudget;
    options_.stage_size = 64 << 10;
    options_.chunk_size = 16 << 10;
    options_.block_size = 1 << 10;
    options_.background_threads = 0;
    options_.file_system = &files_;
  }

  Status TryOpen() {
    store_.reset();
    return Store::Open(options_, kDirectory, &store_);
  }
  void Open() { ASSERT_TRUE(IsOk(TryOpen())); }
  void Reopen() {
    ASSERT_TRUE(IsOk(store_->Close()));
    Open();
  }
  // The process or the power dies; the store is gone.
  void Die(Loss loss) {
    files_.LosePower(loss);
    store_.reset();
    files_.Restart();
  }

  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(IsOk(store_->Put(key, value)));
    rows_[key] = value;
  }
  void Delete(const std::string& key) {
    ASSERT_TRUE(IsOk(store_->Delete(key)));
    rows_.erase(key);
  }
  void PutMany(int from, int to, size_t value_bytes, char letter = 'v') {
    for (int i = from; i < to; ++i) {
      std::string value(value_bytes, letter);
      value.append(std::to_string(i));
      ASSERT_NO_FATAL_FAILURE(Put(KeyOf(i), value));
    }
  }

  // Puts of keys below `keys`, as many, drawn with repetition.
  void PutShuffled(int keys, size_t value_bytes, uint64_t seed) {
    kvdyno::testing::Rng rng(seed);
    for (int i = 0; i < keys; ++i) {
      Put(KeyOf(static_cast<int>(rng.Below(static_cast<uint64_t>(keys)))),
          std::string(value_bytes, static_cast<char>('a' + rng.Below(26))));
    }
  }

  // "not found", or the value.
  std::string Get(std::string_view key, const Snapshot* snapshot = nullptr) {
    std::string value;
    const Status status = store_->Get({snapshot}, key, &value);
    if (status.ok()) return value;
    return status.not_found() ? "not found" : status.ToString();
  }
  Rows ScanAll(const Snapshot* snapshot = nullptr, bool reverse = false) {
    ScanOptions options;
    options.snapshot = snapshot;
    options.reverse = reverse;
    std::vector<std::pair<std::string, std::string>> found;
    EXPECT_TRUE(IsOk(store_->Scan(options, [&](std::string_view key, std::string_view value) {
      found.emplace_back(key, value);
      return true;
    })));
    for (size_t i = 1; i < found.size(); ++i) {
      EXPECT_EQ(found[i - 1].first < found[i].first, !reverse);
    }
    return {found.begin(), found.end()};
  }
  // By scans of both directions and by gets.
  void ExpectRows(const Rows& rows, const Snapshot* snapshot = nullptr) {
    ASSERT_TRUE(ScanAll(snapshot) == rows);
    ASSERT_TRUE(ScanAll(snapshot, true) == rows);
    for (const auto& [key, value] : rows) ASSERT_EQ(Get(key, snapshot), value) << key;
  }
  void ExpectAll() { ExpectRows(rows_); }

  double Stat(const std::string& name) const {
    for (const Statistic& statistic : store_->GetStatistics()) {
      if (statistic.name == name) return statistic.value;
    }
    ADD_FAILURE() << "no statistic " << name;
    return -1;
  }

  static constexpr const char* kDirectory = "/store";
  kvdyno::testing::SimulatedFileSystem files_{1};
  Options options_;
  std::unique_ptr<Store> store_;
  Rows rows_;
};

}  // namespace chunkstore
