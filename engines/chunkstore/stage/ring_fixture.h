// RingFixture: a miniature of the store around a ring, for its tests: it numbers writes, seals and
// flushes stages, ends epochs, and knows after a crash what must have come back.
// One thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/hash.h"
#include "stage/ring.h"

namespace chunkstore {

class MiniStore {
 public:
  struct Operation {
    std::string key, value;
    EntryType type;
    bool operator==(const Operation&) const = default;
  };

  MiniStore(kvdyno::FileSystem* files, std::string directory, size_t stage_size)
      : options_{files, std::move(directory), stage_size, false, false} {}

  RingOptions& options() { return options_; }
  Ring* ring() { return ring_.get(); }
  const std::vector<std::shared_ptr<Stage>>& stages() const { return stages_; }
  std::shared_ptr<Stage> active() const { return stages_.back(); }
  Version last() const { return last_; }
  Version durable() const { return durable_; }
  uint64_t flushed_sequence() const { return flushed_sequence_; }
  const std::vector<EpochEnd>& epochs() const { return epochs_; }
  const RingRecovery& recovery() const { return recovery_; }

  // Recovers and, unless `salvage`, checks that exactly a prefix came back, with all that was
  // durable.
  Status Open(bool salvage = false) {
    stages_.clear();
    ring_.reset();
    Status status = Ring::Open(options_, flushed_sequence_, epochs_, salvage, &recovery_, &ring_);
    if (status.ok() && !options_.read_only) status = ring_->PrepareFree();
    if (!status.ok()) return status;
    const Version last = recovery_.last != 0 ? recovery_.last : flushed_last_;
    if (!salvage) CheckRecovered(last);
    stages_ = recovery_.stages;
    sequence_ = std::max({sequence_, recovery_.sequence});
    EndEpoch(last);
    return Status::Ok();
  }
  void Close() {
    stages_.clear();
    recovery_ = {};
    ring_.reset();
  }

  Status Write(const std::vector<Operation>& operations) {
    std::string payload;
    for (const Operation& o : operations) AppendOperation(&payload, o.type, o.key, o.value);
    if (!has_active_ || !active()->HasRoom(payload.size())) {
      if (Status status = NewStage(); !status.ok()) return status;
    }
    const Version first = last_ + 1;
    std::string_view stored;
    const auto count = static_cast<uint32_t>(operations.size());
    if (Status status = active()->Append(first, count, payload, &stored); !status.ok()) {
      return status;
    }
    active()->Index(first, stored);
    for (const Operation& o : operations) written_[++last_] = o;
    return Status::Ok();
  }
  Status WriteRandom(std::mt19937_64* random, size_t longest_value) {
    std::vector<Operation> operations(1 + ((*random)() % 4 == 0 ? (*random)() % 4 : 0));
    for (Operation& o : operations) {
      o.key = "key" + std::to_string((*random)() % 50);
      o.type = (*random)() % 5 == 0 ? EntryType::kDeletion : EntryType::kValue;
      if (o.type == EntryType::kDeletion) continue;
      o.value.assign((*random)() % (longest_value + 1), static_cast<char>('a' + (*random)() % 26));
    }
    return Write(operations);
  }

  // A checkpoint.
  Status Sync() {
    for (const auto& stage : stages_) {
      if (Status status = stage->Sync(); !status.ok()) return status;
    }
    if (!written_.empty()) durable_ = written_.rbegin()->first;
    return Status::Ok();
  }
  void FlushOldest() {
    const std::shared_ptr<Stage> stage = stages_.front();
    flushed_sequence_ = stage->sequence();
    flushed_last_ = std::max(flushed_last_, stage->last());
    durable_ = std::max(durable_, flushed_last_);
    written_.erase(written_.begin(), written_.upper_bound(flushed_last_));
    stages_.erase(stages_.begin());
    if (stages_.empty()) has_active_ = false;
    ring_->Release(stage);
  }

 private:
  Status NewStage() {
    while (!ring_->HasFree()) FlushOldest();
    std::shared_ptr<Stage> stage;
    Status status = ring_->Acquire(sequence_ + 1, last_ + 1, &stage);
    if (!status.ok()) return status;
    ++sequence_;
    stages_.push_back(std::move(stage));
    has_active_ = true;
    return status;
  }

  void CheckRecovered(Version last) {
    std::map<Version, Operation> found;
    for (const auto& stage : recovery_.stages) {
      StageIndex::Cursor cursor = stage->NewCursor();
      for (cursor.Seek(""); cursor.Valid(); cursor.Next()) {
        const Entry& entry = cursor.entry();
        EXPECT_TRUE(stage->MayContain(kvdyno::Hash64(entry.key)));
        found[entry.version] = {std::string(entry.key), std::string(entry.value), entry.type};
      }
    }
    EXPECT_GE(last, durable_);
    written_.erase(written_.upper_bound(last), written_.end());
    EXPECT_EQ(found.size(), written_.size());
    EXPECT_TRUE(found == written_);
    EXPECT_EQ(recovery_.dropped_bytes > 0, !recovery_.dropped_reason.empty());
  }

  // Versions of this epoch, and of earlier ones, above `last` are gone for good.
  void EndEpoch(Version last) {
    std::erase_if(epochs_, [&](const EpochEnd& end) { return end.epoch == EpochOf(last); });
    for (EpochEnd& end : epochs_) {
      if (end.epoch > EpochOf(last)) end.last = 0;
    }
    if (EpochOf(last) != epoch_) epochs_.push_back({epoch_, 0});
    epochs_.push_back({EpochOf(last), last});
    ++epoch_;
    last_ = MakeVersion(epoch_, NumberOf(last));
    has_active_ = false;
  }

  RingOptions options_;
  std::unique_ptr<Ring> ring_;
  RingRecovery recovery_;
  std::vector<std::shared_ptr<Stage>> stages_;  // unflushed, oldest first
  bool has_active_ = false;                     // the newest is
  std::map<Version, Operation> written_;        // unflushed
  std::vector<EpochEnd> epochs_;
  uint64_t epoch_ = 0, sequence_ = 0, flushed_sequence_ = 0;
  Version last_ = 0, durable_ = 0, flushed_last_ = 0;
};

}  // namespace chunkstore
