// Collector: decides which versions of a key are still needed, and passes those on.
// Pure: entries in (in entry order) → entries out. Rule: of each key the newest version is kept,
// and for each version that a snapshot still holds (retained) the newest at or below it. Used
// by one thread.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "entry/entry.h"
#include "hooks/seeded_bugs.h"

namespace chunkstore {

class Collector {
 public:
  static constexpr Version kNoBottom = 0;

  // `retained` ascending. A deletion at or below `bottom` with no older version behind it in the
  // output is dropped: nothing older lies below the output, and nothing older can join it later.
  // kNoBottom: no deletion is dropped.
  Collector(std::vector<Version> retained, Version bottom)
      : retained_(std::move(retained)), bottom_(bottom) {
    if (Seeded(Bug::kDropsSnapshotVersion)) retained_.clear();
  }

  // Calls emit(const Entry&) → Status for what is kept. Views live only as long as the cursor's, so
  // a held back deletion is copied.
  template <typename Emit>
  Status Add(const Entry& entry, const Emit& emit) {
    const bool same_key = has_key_ && entry.key == key_;
    if (!same_key) {
      has_deletion_ = false;  // a deletion with nothing behind it
      key_.assign(entry.key);
      has_key_ = true;
    } else if (!Needed(entry.version)) {
      return Status::Ok();
    }
    newer_ = entry.version;
    if (entry.type == EntryType::kDeletion && entry.version <= bottom_) {
      has_deletion_ = true;  // of deletions on top of each other the oldest covers all
      deletion_ = entry.version;
      return Status::Ok();
    }
    if (has_deletion_ && !Seeded(Bug::kDeletionForgotten)) {
      if (const Status status = EmitDeletion(emit); !status.ok()) return status;
    }
    has_deletion_ = false;
    return emit(entry);
  }

 private:
  // Whether a snapshot holds a version in [version, newer_).
  bool Needed(Version version) const {
    const auto at = std::lower_bound(retained_.begin(), retained_.end(), version);
    return at != retained_.end() && *at < newer_;
  }
  template <typename Emit>
  Status EmitDeletion(const Emit& emit) {
    return emit(Entry{key_, {}, deletion_, EntryType::kDeletion});
  }

  std::vector<Version> retained_;
  Version bottom_;
  std::string key_;
  bool has_key_ = false;
  Version newer_ = 0;  // the last kept version of key_
  bool has_deletion_ = false;
  Version deletion_ = 0;
};

}  // namespace chunkstore
