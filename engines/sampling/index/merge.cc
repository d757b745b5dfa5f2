#include "index/merge.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace sampling {
namespace {

struct Slot {
  uint64_t key;
  uint32_t slot;
};

// Sorts by key, those of one key in their order: by digits, from the lowest, without those that all keys share.
void SortByKey(std::vector<Slot>* slots) {
  constexpr int kBits = 11;
  constexpr size_t kDigits = size_t{1} << kBits;
  constexpr int kPasses = (64 + kBits - 1) / kBits;
  std::vector<std::array<uint32_t, kDigits>> counts(kPasses);
  for (const Slot& slot : *slots) {
    for (int pass = 0; pass < kPasses; ++pass)
      ++counts[static_cast<size_t>(pass)][slot.key >> pass * kBits & (kDigits - 1)];
  }
  std::vector<Slot> sorted(slots->size());
  for (int pass = 0; pass < kPasses; ++pass) {
    std::array<uint32_t, kDigits>& ends = counts[static_cast<size_t>(pass)];
    const auto digit = [&](const Slot& slot) { return slot.key >> pass * kBits & (kDigits - 1); };
    if (slots->empty() || ends[digit(slots->front())] == slots->size()) continue;
    uint32_t begin = 0;
    for (uint32_t& at : ends) begin += std::exchange(at, begin);
    for (const Slot& slot : *slots) sorted[ends[digit(slot)]++] = slot;
    slots->swap(sorted);
  }
}

}  // namespace

std::vector<Entry> SortedRun(const Buffer& buffer, size_t count) {
  std::vector<Slot> order(count);
  for (uint32_t slot = 0; slot < count; ++slot) order[slot] = {buffer.entry(slot).key, slot};
  SortByKey(&order);
  const auto value = [&](const Slot& slot) {
    return std::tuple(buffer.entry(slot.slot).value, slot.slot);
  };
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = std::find_if(begin + 1, order.end(),
                                  [&](const Slot& slot) { return slot.key != begin->key; });
    if (end - begin > 1) {
      std::sort(begin, end, [&](const Slot& a, const Slot& b) { return value(a) < value(b); });
    }
    begin = end;
  }
  std::vector<Entry> run;
  run.reserve(count);
  for (const Slot& slot : order) run.push_back(buffer.entry(slot.slot));
  return run;
}

Heads::Heads(Runs runs) : runs_(std::move(runs)), heads_(runs_.size()), losers_(runs_.size()) {
  if (runs_.empty()) return;
  // The winner of each node, from the leaves up.
  std::vector<Match> winners(2 * runs_.size());
  for (size_t run = 0; run < runs_.size(); ++run) {
    Refill(run);
    winners[runs_.size() + run] = {heads_[run].at == nullptr ? UINT64_MAX : heads_[run].at->key,
                                   run};
  }
  for (size_t node = runs_.size() - 1; node > 0; --node) {
    const Match left = winners[2 * node], right = winners[2 * node + 1];
    const bool right_wins =
        right.key < left.key || (right.key == left.key && FirstOfTie(right.run, left.run));
    winners[node] = right_wins ? right : left;
    losers_[node] = right_wins ? left : right;
  }
  winner_ = winners[1];
}

bool Heads::FirstOfTie(size_t a, size_t b) const {
  const Entry *left = heads_[a].at, *right = heads_[b].at;
  if (left == nullptr || right == nullptr) return right == nullptr;
  return left->value < right->value || (left->value == right->value && a < b);
}

void Heads::Refill(size_t run) {
  std::span<const Entry> block;
  if (status_.ok()) status_ = runs_[run]->Next(&block);
  if (!status_.ok()) {  // the end of all
    for (Head& other : heads_) other.at = nullptr;
  } else if (block.empty()) {
    heads_[run] = {nullptr, nullptr};
  } else {
    heads_[run] = {block.data(), block.data() + block.size()};
  }
}

}  // namespace sampling
