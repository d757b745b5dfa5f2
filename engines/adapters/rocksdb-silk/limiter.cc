#include "limiter.h"

#include <algorithm>
#include <chrono>

#include "kvdyno/base/clock.h"
#include "work.h"

namespace kvdyno::silk {

namespace {

// A waiting thread looks again so often, whether or not the share changes.
constexpr uint64_t kLookNs = 5'000'000;

}  // namespace

Limiter::Limiter(const tuners::SilkSettings& settings, double gate_max_seconds)
    : gate_max_ns_(static_cast<uint64_t>(gate_max_seconds * 1e9)),
      bucket_(settings),
      rate_bytes_per_s_(settings.bandwidth_bytes_per_s),
      refilled_ns_(NowNs()) {}

void Limiter::SetShare(double rate_bytes_per_s, bool peak) {
  {
    const std::lock_guard lock(mutex_);
    Refill();
    rate_bytes_per_s_ = rate_bytes_per_s;
    bucket_.SetPeak(peak);
  }
  changed_.notify_all();
}

void Limiter::Release() {
  {
    const std::lock_guard lock(mutex_);
    released_ = true;
  }
  changed_.notify_all();
}

int Limiter::deep_waiters() const {
  const std::lock_guard lock(mutex_);
  return bucket_.waiters(tuners::SilkClass::kDeep);
}

uint64_t Limiter::bytes(tuners::SilkClass work) const {
  const std::lock_guard lock(mutex_);
  return done_[static_cast<size_t>(work)].bytes;
}

uint64_t Limiter::waited_ns(tuners::SilkClass work) const {
  const std::lock_guard lock(mutex_);
  return done_[static_cast<size_t>(work)].waited_ns;
}

void Limiter::Request(int64_t bytes, rocksdb::Env::IOPriority /*priority*/,
                      rocksdb::Statistics* /*statistics*/) {
  const tuners::SilkClass work = CurrentWork();
  std::unique_lock lock(mutex_);
  Done& done = done_[static_cast<size_t>(work)];
  done.requests++;
  done.bytes += static_cast<uint64_t>(bytes);
  Refill();
  const auto amount = static_cast<double>(bytes);
  if (!bucket_.TryTake(work, amount)) {
    const uint64_t begin_ns = NowNs();
    WaitFor(work, amount, &lock);
    done.waited_ns += NowNs() - begin_ns;
  }
}

void Limiter::WaitFor(tuners::SilkClass work, double bytes, std::unique_lock<std::mutex>* lock) {
  const uint64_t deadline_ns = NowNs() + gate_max_ns_;
  bucket_.AddWaiter(work);
  for (;;) {
    const uint64_t now_ns = NowNs();
    if (released_ || now_ns >= deadline_ns) {
      bucket_.Take(bytes);
      break;
    }
    Refill();
    if (bucket_.TryTake(work, bytes)) break;
    changed_.wait_for(*lock, std::chrono::nanoseconds(std::min(kLookNs, deadline_ns - now_ns)));
  }
  bucket_.RemoveWaiter(work);
}

void Limiter::Refill() {
  const uint64_t now_ns = NowNs();
  bucket_.Refill(rate_bytes_per_s_, static_cast<double>(now_ns - refilled_ns_) / 1e9);
  refilled_ns_ = now_ns;
}

void Limiter::SetBytesPerSecond(int64_t bytes_per_second) {
  const std::lock_guard lock(mutex_);
  Refill();
  rate_bytes_per_s_ = static_cast<double>(bytes_per_second);
}

int64_t Limiter::GetBytesPerSecond() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(rate_bytes_per_s_);
}

// RocksDB's priorities know flushes (high) and compactions (low) only.
uint64_t Limiter::Sum(uint64_t Done::* member, rocksdb::Env::IOPriority priority) const {
  uint64_t sum = 0;
  for (size_t work = 0; work < done_.size(); work++) {
    const bool flush = work == static_cast<size_t>(tuners::SilkClass::kFlush);
    const bool counts = priority == rocksdb::Env::IO_TOTAL ||
                        priority == (flush ? rocksdb::Env::IO_HIGH : rocksdb::Env::IO_LOW);
    if (counts) sum += done_[work].*member;
  }
  return sum;
}

int64_t Limiter::GetTotalBytesThrough(rocksdb::Env::IOPriority priority) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(Sum(&Done::bytes, priority));
}

int64_t Limiter::GetTotalRequests(rocksdb::Env::IOPriority priority) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(Sum(&Done::requests, priority));
}

}  // namespace kvdyno::silk
