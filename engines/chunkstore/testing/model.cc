#include "testing/model.h"

namespace chunkstore::testing {

void Model::Write(size_t rank, ValueId id) {
  std::vector<Written>& history = histories_[rank];
  const Moment newest_held = held_.empty() ? 0 : *held_.rbegin();
  const bool overwritten_unseen =
      !history.empty() && (held_.empty() || history.back().moment > newest_held);
  ++now_;
  if (overwritten_unseen) {
    history.back() = {now_, id};
  } else {
    history.push_back({now_, id});
  }
  if (held_.empty()) {
    history.front() = history.back();
    history.resize(1);
    return;
  }
  const Moment oldest_held = *held_.begin();
  size_t unseen = 0;
  while (unseen + 1 < history.size() && history[unseen + 1].moment <= oldest_held) ++unseen;
  history.erase(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(unseen));
}

ValueId Model::At(size_t rank, Moment moment) const {
  const std::vector<Written>& history = histories_[rank];
  for (size_t i = history.size(); i-- > 0;) {
    if (history[i].moment <= moment) return history[i].id;
  }
  return kAbsent;
}

size_t Model::Forward(size_t rank, Moment moment) const {
  while (rank < size() && At(rank, moment) == kAbsent) ++rank;
  return rank;
}

size_t Model::Backward(size_t rank, Moment moment) const {
  if (rank >= size()) return size();
  while (At(rank, moment) == kAbsent) {
    if (rank-- == 0) return size();
  }
  return rank;
}

}  // namespace chunkstore::testing
