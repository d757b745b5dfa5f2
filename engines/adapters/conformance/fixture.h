// The fixture of the conformance suite: one adapter, open in a directory of its own.
// Knows the adapter contract and no engine. One thread, except where a test starts more.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "traits.h"

namespace kvdyno::conformance {

using Rows = std::vector<std::pair<std::string, std::string>>;
using Reference = std::map<std::string, std::string>;

// What the process that a crash test loses writes, and its exit status when the engine has no
// durable writes.
inline constexpr uint64_t kCrashRecords = 300;
inline constexpr int kDurabilityUnsupported = 77;

// What a process does after its writes, before it is killed.
inline constexpr const char* kSettleAndDie = "--settle-and-die";
inline constexpr const char* kSyncAndDie = "--sync-and-die";  // each write was a durable one
inline constexpr const char* kJustDie = "--just-die";

// A fresh directory, removed with everything in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Gathers a scan's rows; ends the scan after `stop_after` of them.
class RowCollector final : public RowVisitor {
 public:
  explicit RowCollector(uint64_t stop_after = UINT64_MAX) : stop_after_(stop_after) {}

  bool Row(std::string_view key, std::string_view value) override {
    rows.emplace_back(key, value);
    return rows.size() < stop_after_;
  }

  Rows rows;

 private:
  const uint64_t stop_after_;
};

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A new adapter on the same directory, with a session; what was there before is closed first.
  // `log`: as in OpenContext.
  void Reopen(bool log = true);
  // Closes the store; the directory stays.
  void Close();
  // Settles; an engine that has no such operation may say Unsupported.
  void Settle();

  void ExpectGet(std::string_view key, std::string_view value);
  void ExpectAbsent(std::string_view key);
  void ExpectPut(std::string_view key, std::string_view value);
  // Rows of the range, compared as far as the engine's interface returns them. An engine whose
  // interface has no end bound returns Unsupported, which is checked to be the only reason.
  void ExpectRows(const ScanRange& range, const Rows& expected);
  // Every key of the reference and nothing else, by scan and by get.
  void ExpectEquals(const Reference& reference);

  const std::string& directory() const { return directory_.path(); }
  Adapter& adapter() { return *adapter_; }
  Session& session() { return *session_; }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Adapter> adapter_;
  std::unique_ptr<Session> session_;
};

// Words where words are promised, and a time that has passed.
void ExpectPlausible(const Event& event);

// Letters without capitals, digits and underscores, beginning with a letter.
bool IsSnakeCase(const std::string& name);

// "key00000042": sorts as its number does.
std::string NumberedKey(uint64_t number);

// Bytes that depend on the seed only, and do not compress.
std::string RandomBytes(uint64_t seed, size_t size);

}  // namespace kvdyno::conformance
