// Possible: for each key the values that a store may hold when some writes failed, for then no one
// knows whether they happened. Knows no store. One thread.
#pragma once

#include <algorithm>
#include <vector>

#include "testing/history.h"

namespace chunkstore::testing {

class Possible {
 public:
  explicit Possible(size_t keys) : now_(keys, {kAbsent}), durable_(now_) {}

  void Acknowledged(const Operations& write, bool durable) {
    for (const auto& [rank, id] : write) {
      now_[rank] = {id};
      if (durable) durable_[rank] = {id};
      durable_[rank].push_back(id);
    }
  }
  void Failed(const Operations& write) {
    for (const auto& [rank, id] : write) {
      now_[rank].push_back(id);
      durable_[rank].push_back(id);
    }
  }
  // All that was acknowledged survives a power loss from now on.
  void MadeDurable() { durable_ = now_; }
  // What is not durable may be lost.
  void LostMemory() { now_ = durable_; }

  bool Allows(size_t rank, ValueId id) const {
    return std::find(now_[rank].begin(), now_[rank].end(), id) != now_[rank].end();
  }
  std::string Describe(size_t rank) const {
    std::string text = testing::Describe(now_[rank].front());
    if (now_[rank].size() > 1) {
      text += " or one of " + std::to_string(now_[rank].size() - 1) + " others, the last " +
              testing::Describe(now_[rank].back());
    }
    return text;
  }
  // What is wrong with the content, or nothing.
  std::string Judge(const Content& content) const {
    for (size_t rank = 0; rank < content.size(); ++rank) {
      if (!Allows(rank, content[rank])) {
        return "key " + std::to_string(rank) + ": expected " + Describe(rank) + ", got " +
               testing::Describe(content[rank]);
      }
    }
    return {};
  }

 private:
  std::vector<std::vector<ValueId>> now_;      // after the process lives on or dies
  std::vector<std::vector<ValueId>> durable_;  // after a power loss
};

}  // namespace chunkstore::testing
