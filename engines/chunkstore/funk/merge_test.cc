#include "funk/funk_test_data.h"

namespace chunkstore::testing {
namespace {

// Over entries in memory; fails at the one given.
class EntriesCursor final : public EntryCursor {
 public:
  explicit EntriesCursor(const Entries* entries, size_t fail_at = SIZE_MAX)
      : entries_(entries), fail_at_(fail_at) {}
  void Seek(std::string_view key) override {
    at_ = static_cast<size_t>(Find(*entries_, key, kNewest) - entries_->begin());
    Show();
  }
  bool Valid() const override { return at_ < entries_->size() && at_ != fail_at_; }
  void Next() override {
    key_.assign(key_.size(), '?');  // views end with the movement
    ++at_;
    Show();
  }
  const Entry& entry() const override { return entry_; }
  Status status() const override {
    return at_ == fail_at_ ? Status::IoError("failed") : Status::Ok();
  }

 private:
  void Show() {
    if (!Valid()) return;
    key_ = (*entries_)[at_].key;
    entry_ = (*entries_)[at_].view();
    entry_.key = key_;
  }
  const Entries* entries_;
  size_t fail_at_;
  size_t at_ = 0;
  std::string key_;
  Entry entry_;
};

TEST(MergingCursor, MergesInOrderFirstCursorWins) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (const size_t count : {0, 1, 2, 3, 4, 7, 60}) {
    std::vector<Entries> sources(count);
    Entries all;
    for (size_t i = 0; i < count; ++i) {
      sources[i] = RandomEntries(&random, random() % 200, 1 + random() % 50, 20);
      for (OwnedEntry& entry : sources[i]) entry.value = Numbered("from ", i);
      all.insert(all.end(), sources[i].begin(), sources[i].end());
    }
    Sort(&all);  // stable: of equal ones the first source's stays
    std::vector<std::unique_ptr<EntryCursor>> cursors;
    for (const Entries& source : sources)
      cursors.push_back(std::make_unique<EntriesCursor>(&source));
    ExpectCursor(all, NewMergingCursor(std::move(cursors)).get());
  }
}

TEST(MergingCursor, StopsAtAnError) {
  std::mt19937_64 random(1);
  const Entries good = RandomEntries(&random, 50, 1, 20);
  const Entries bad = RandomEntries(&random, 50, 100, 20);
  for (const size_t fail_at : {0, 20}) {
    std::vector<std::unique_ptr<EntryCursor>> cursors;
    cursors.push_back(std::make_unique<EntriesCursor>(&good));
    cursors.push_back(std::make_unique<EntriesCursor>(&bad, fail_at));
    const auto merged = NewMergingCursor(std::move(cursors));
    for (merged->Seek({}); merged->Valid(); merged->Next()) {
    }
    EXPECT_EQ(merged->status().code(), Code::kIoError);
  }
}

}  // namespace
}  // namespace chunkstore::testing
