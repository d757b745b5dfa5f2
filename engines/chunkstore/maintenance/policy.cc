#include "maintenance/policy.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace chunkstore {

namespace {
constexpr double kFill = 0.7;  // of the chunk size: what a new piece is filled to
}

Policy::Policy(const Options& resolved, bool automatic_log_limit)
    : options_(resolved), automatic_log_limit_(automatic_log_limit) {}

uint64_t Policy::LogLimit(const Chunk& chunk) const {
  const uint64_t limit = chunk.munk() != nullptr ? options_.munk_log_limit : options_.log_limit;
  const uint32_t scans = chunk.heat.scans.load(std::memory_order_relaxed);
  const uint32_t reads = chunk.heat.reads.load(std::memory_order_relaxed);
  return automatic_log_limit_ && chunk.munk() == nullptr && scans > 4 && scans > reads / 4
             ? limit / 4
             : limit;
}

uint64_t Policy::DebtLimit(uint64_t live_bytes) const {
  if (options_.log_debt_limit != Options::kAuto) return options_.log_debt_limit;
  return std::max(live_bytes / 3, 8 * options_.stage_size);
}

double Policy::SlowdownNsPerByte(uint64_t debt, uint64_t limit) const {
  if (debt <= limit) return 0;
  constexpr double kAtTwice = 40;  // 25 MB/s are left at twice the limit
  return kAtTwice * static_cast<double>(debt - limit) / static_cast<double>(limit);
}

bool Policy::Merges(const Chunk& left, const Chunk& right) const {
  const uint64_t a = left.funk().bytes();
  const uint64_t b = right.funk().bytes();
  return std::min(a, b) < options_.chunk_size / 4 &&
         static_cast<double>(a + b) < kFill * static_cast<double>(options_.chunk_size);
}

std::vector<Job> Policy::Due(const ChunkMap& map, uint64_t debt, uint64_t live_bytes,
                             uint64_t bytes) const {
  std::vector<Chunk*> over, others;
  for (Chunk* chunk : map.chunks()) {
    const uint64_t log = chunk->funk().log_bytes();
    if (log == 0 || chunk->failed_rounds > 0) continue;
    (log > LogLimit(*chunk) ? over : others).push_back(chunk);
  }
  const auto larger_log = [](const Chunk* a, const Chunk* b) {
    return a->funk().log_bytes() > b->funk().log_bytes();
  };
  std::sort(over.begin(), over.end(), larger_log);
  const uint64_t limit = DebtLimit(live_bytes);
  if (debt > limit) {
    std::sort(others.begin(), others.end(), larger_log);
    over.insert(over.end(), others.begin(), others.end());
  }
  std::vector<Job> jobs;
  std::unordered_set<const Chunk*> taken;
  uint64_t sum = 0;
  uint64_t left_debt = debt;
  for (Chunk* chunk : over) {
    const uint64_t log = chunk->funk().log_bytes();
    if (sum >= bytes || (log <= LogLimit(*chunk) && left_debt <= limit)) break;
    jobs.push_back({{chunk}, chunk->funk().bytes()});
    taken.insert(chunk);
    sum += chunk->funk().bytes();
    left_debt -= log;
  }
  const auto& chunks = map.chunks();
  for (size_t i = 0; i + 1 < chunks.size() && sum < bytes; ++i) {
    Chunk* left = chunks[i];
    Chunk* right = chunks[i + 1];
    if (left->failed_rounds > 0 || right->failed_rounds > 0) continue;
    if (taken.contains(left) || taken.contains(right) || !Merges(*left, *right)) continue;
    jobs.push_back({{left, right}, left->funk().bytes() + right->funk().bytes()});
    taken.insert(left);
    taken.insert(right);
    sum += jobs.back().bytes;
  }
  return jobs;
}

uint64_t Policy::PieceBytes(uint64_t input_bytes) const {
  if (input_bytes <= options_.chunk_size) return options_.chunk_size;
  const double piece = kFill * static_cast<double>(options_.chunk_size);
  const auto pieces =
      static_cast<uint64_t>(std::max(2LL, std::llround(static_cast<double>(input_bytes) / piece)));
  return std::max<uint64_t>(input_bytes / pieces, 1);
}

bool Policy::AppendedEnough(const Munk& munk) const {
  const size_t appended = munk.appended_bytes();
  return appended > options_.block_size * 4 && appended > (munk.memory() - appended) / 2;
}

}  // namespace chunkstore
