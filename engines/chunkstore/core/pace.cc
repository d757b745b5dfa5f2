#include "core/pace.h"

#include <algorithm>

#include "kvdyno/base/clock.h"

namespace chunkstore {

void Pace::Flushed(uint64_t bytes, uint64_t capacity, bool busy, uint64_t now_ns) {
  constexpr double kWeight = 0.25;  // of the newest
  if (busy && bytes > capacity / 2) {
    const double took = static_cast<double>(now_ns - last_flush_ns_) / static_cast<double>(bytes);
    const double before = flush_.load(std::memory_order_relaxed);
    flush_.store(before == 0 ? took : before + kWeight * (took - before),
                 std::memory_order_relaxed);
  }
  last_flush_ns_ = now_ns;
}

double Pace::DelayNs(double share) const {
  constexpr double kFree = 1.0 / 3, kEven = 0.75;
  double delay = debt_.load(std::memory_order_relaxed);
  if (share > kFree) {
    const double over = (share - kFree) / (kEven - kFree);
    delay = std::max(delay, over * over * flush_.load(std::memory_order_relaxed));
  }
  return delay;
}

void Pace::Write(size_t bytes, double share) {
  const double delay = DelayNs(share);
  if (delay <= 0) return;
  const uint64_t now = kvdyno::NowNs();
  const double ahead = delay * static_cast<double>(bytes);
  const uint64_t begin = std::max(due_ns_.load(std::memory_order_relaxed), now);
  due_ns_.store(std::min(begin + static_cast<uint64_t>(ahead), now + kMostNs),
                std::memory_order_relaxed);
}

uint64_t Pace::WaitNs() const {
  const uint64_t due = due_ns_.load(std::memory_order_relaxed);
  if (due == 0) return 0;
  const uint64_t now = kvdyno::NowNs();
  return due > now + kNapNs ? due - now : 0;
}

}  // namespace chunkstore
