#include "fixture.h"

#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <random>

#include "kvdyno/base/clock.h"

namespace kvdyno::conformance {

TemporaryDirectory::TemporaryDirectory()
    : path_(std::filesystem::temp_directory_path() / "kvdyno-conformance-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) {
    std::perror(path_.c_str());
    std::abort();
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Conformance::SetUp() { Reopen(); }

void Conformance::TearDown() { Close(); }

void Conformance::Close() {
  session_.reset();
  if (!adapter_) return;
  const Status closed = adapter_->Close();
  EXPECT_TRUE(closed.ok()) << closed.ToString();
  adapter_.reset();
}

void Conformance::Reopen(bool log) {
  Close();
  adapter_ = MakeAdapter();
  const Status opened = adapter_->Open({.directory = directory(), .log = log});
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  session_ = adapter_->NewSession();
  ASSERT_NE(session_, nullptr);
}

void Conformance::Settle() {
  const Status settled = adapter_->Settle(std::nullopt);
  const Code expected = adapter_->can_settle() ? Code::kOk : Code::kUnsupported;
  EXPECT_EQ(settled.code(), expected) << settled.ToString();
}

void Conformance::ExpectGet(std::string_view key, std::string_view value) {
  std::string found = "left over";
  const Status got = session_->Get(key, &found);
  ASSERT_TRUE(got.ok()) << got.ToString() << ", key " << ::testing::PrintToString(key);
  // Not EXPECT_EQ: a difference of megabytes would be printed.
  EXPECT_TRUE(found == value) << "key " << ::testing::PrintToString(key) << ": expected "
                              << value.size() << " bytes, got " << found.size();
}

void Conformance::ExpectAbsent(std::string_view key) {
  std::string found;
  const Status got = session_->Get(key, &found);
  EXPECT_TRUE(got.not_found()) << got.ToString() << ", key " << ::testing::PrintToString(key);
}

void Conformance::ExpectPut(std::string_view key, std::string_view value) {
  const Status put = session_->Put(key, value);
  ASSERT_TRUE(put.ok()) << put.ToString() << ", key " << ::testing::PrintToString(key);
}

void Conformance::ExpectRows(const ScanRange& range, const Rows& expected) {
  RowCollector collector;
  const Status scanned = session_->Scan(range, &collector);
  if (scanned.code() == Code::kUnsupported && !kTraits.rows_have_keys && !range.end.empty()) return;
  ASSERT_TRUE(scanned.ok()) << scanned.ToString();
  ASSERT_EQ(collector.rows.size(), expected.size());
  for (size_t i = 0; i < expected.size(); i++) {
    EXPECT_EQ(collector.rows[i].first, kTraits.rows_have_keys ? expected[i].first : "")
        << "row " << i;
    EXPECT_EQ(collector.rows[i].second, expected[i].second) << "row " << i;
  }
}

void Conformance::ExpectEquals(const Reference& reference) {
  ExpectRows({}, Rows(reference.begin(), reference.end()));
  for (const auto& [key, value] : reference) ExpectGet(key, value);
}

void ExpectPlausible(const Event& event) {
  EXPECT_TRUE(IsSnakeCase(event.kind)) << event.kind;
  EXPECT_TRUE(event.state.empty() || IsSnakeCase(event.state)) << event.state;
  EXPECT_TRUE(event.cause.empty() || IsSnakeCase(event.cause)) << event.cause;
  EXPECT_EQ(event.detail.find_first_of(",\"\n"), std::string::npos) << event.detail;
  EXPECT_GT(event.begin_ns, 0u) << event.kind;
  EXPECT_LE(event.begin_ns + event.duration_ns, NowNs()) << event.kind;
}

bool IsSnakeCase(const std::string& name) {
  if (name.empty() || !std::islower(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_';
  });
}

std::string NumberedKey(uint64_t number) {
  char key[32];
  std::snprintf(key, sizeof key, "key%08llu", static_cast<unsigned long long>(number));
  return key;
}

std::string RandomBytes(uint64_t seed, size_t size) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

}  // namespace kvdyno::conformance
