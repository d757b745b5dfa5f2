#include "maintenance/policy.h"

#include <algorithm>
#include <cmath>

#include "stage/ring.h"

namespace chunkstore {

namespace {
constexpr double kFill = 0.7;  // of the chunk size: what a new piece is filled to
}  // namespace

Policy::Policy(const Options& resolved) : options_(resolved) {}

uint64_t Policy::LogLimit(const Chunk& chunk) const {
  return chunk.munk() != nullptr ? options_.munk_log_limit : options_.log_limit;
}

uint64_t Policy::DebtLimit(uint64_t live_bytes, uint64_t debt, uint64_t log_index_bytes) const {
  const uint64_t limit = options_.log_debt_limit != Options::kAuto
                             ? options_.log_debt_limit
                             : std::max(live_bytes * 9 / 25, 8 * options_.stage_size);
  const uint64_t most = options_.memory_budget / 4;
  if (log_index_bytes <= most) return limit;
  const double share = static_cast<double>(most) / static_cast<double>(log_index_bytes);
  return std::min(limit, static_cast<uint64_t>(static_cast<double>(debt) * share));
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

std::pair<size_t, size_t> Policy::GroupOf(const ChunkMap& map, size_t at) const {
  constexpr double kAsGood = 0.75;
  const auto& chunks = map.chunks();
  // What a rewrite saves over what it costs.
  const auto gain = [&chunks](size_t i) {
    const Funk& funk = chunks[i]->funk();
    return static_cast<double>(funk.log_bytes()) / static_cast<double>(funk.bytes() + 1);
  };
  const double least = kAsGood * gain(at);
  const bool has_munk = chunks[at]->munk() != nullptr;
  uint64_t bytes = chunks[at]->funk().log_bytes();
  const auto joins = [&](size_t i) {
    const Chunk& chunk = *chunks[i];
    const uint64_t log = chunk.funk().log_bytes();
    if (chunk.failed_rounds > 0 || (chunk.munk() != nullptr) != has_munk) return false;
    if (gain(i) < least || bytes + log > GroupBytes()) return false;
    bytes += log;
    return true;
  };
  size_t from = at, to = at + 1;
  while (to < chunks.size() && joins(to)) ++to;
  while (from > 0 && joins(from - 1)) --from;
  return {from, to};
}

std::vector<Job> Policy::Due(const ChunkMap& map, uint64_t debt, uint64_t limit,
                             uint64_t bytes) const {
  const auto& chunks = map.chunks();
  std::vector<size_t> over, others;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const uint64_t log = chunks[i]->funk().log_bytes();
    if (log == 0 || chunks[i]->failed_rounds > 0) continue;
    (log > LogLimit(*chunks[i]) ? over : others).push_back(i);
  }
  const auto larger_log = [&chunks](size_t a, size_t b) {
    return chunks[a]->funk().log_bytes() > chunks[b]->funk().log_bytes();
  };
  std::sort(over.begin(), over.end(), larger_log);
  if (debt > limit) {
    std::sort(others.begin(), others.end(), larger_log);
    over.insert(over.end(), others.begin(), others.end());
  }
  std::vector<Job> jobs;
  std::vector<bool> taken(chunks.size());
  uint64_t sum = 0;
  uint64_t left_debt = debt;
  const auto take = [&](size_t i) {
    const Funk& funk = chunks[i]->funk();
    jobs.push_back({{chunks[i]}, funk.bytes()});
    taken[i] = true;
    sum += funk.bytes();
    left_debt -= funk.log_bytes();
  };
  for (const size_t largest : over) {
    if (taken[largest]) continue;
    const uint64_t log = chunks[largest]->funk().log_bytes();
    if (sum >= bytes || (log <= LogLimit(*chunks[largest]) && left_debt <= limit)) break;
    take(largest);
    const auto [from, to] = GroupOf(map, largest);
    for (size_t i = from; i < to && sum < bytes; ++i) {
      if (!taken[i]) take(i);
    }
  }
  for (size_t i = 0; i + 1 < chunks.size() && sum < bytes; ++i) {
    Chunk* left = chunks[i];
    Chunk* right = chunks[i + 1];
    if (left->failed_rounds > 0 || right->failed_rounds > 0) continue;
    if (taken[i] || taken[i + 1] || !Merges(*left, *right)) continue;
    jobs.push_back({{left, right}, left->funk().bytes() + right->funk().bytes()});
    taken[i] = taken[i + 1] = true;
    sum += jobs.back().bytes;
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return a.chunks.front()->min_key < b.chunks.front()->min_key;
  });
  return jobs;
}

uint64_t Policy::ScansSince(const ChunkMap& map, uint64_t now_ns, uint64_t since_ns) {
  const auto& chunks = map.chunks();
  const bool read = std::any_of(chunks.begin(), chunks.end(), [](const Chunk* chunk) {
    return chunk->heat.log_reads.load(std::memory_order_relaxed) > 0;
  });
  return read ? since_ns : now_ns;
}

std::vector<Job> Policy::DueForScans(const ChunkMap& map, uint64_t now_ns, uint64_t since_ns,
                                     uint64_t bytes) const {
  // A read of one block beside others takes about as long as rewriting this much.
  constexpr double kBytesPerRead = 8 << 10;
  constexpr double kForesight = 60;             // seconds
  constexpr uint64_t kPassing = 2'000'000'000;  // ns: scans that may soon be over
  if (now_ns - since_ns < kPassing) return {};
  std::vector<Chunk*> worth;
  double most = 0;
  size_t first = 0;  // in worth: the chunk that gains most
  for (Chunk* chunk : map.chunks()) {
    const Funk& funk = chunk->funk();
    const uint32_t reads = chunk->heat.log_reads.load(std::memory_order_relaxed);
    if (funk.log->empty() || reads == 0 || chunk->munk() != nullptr) continue;
    if (chunk->failed_rounds > 0) continue;
    const auto cost = static_cast<double>(funk.bytes() + funk.table_bytes());
    const double grown = 1e-9 * static_cast<double>(now_ns - chunk->reorganised_ns);
    const double seconds = std::min(kForesight, grown);
    const double saved = kBytesPerRead * reads / kHeatSeconds * seconds / cost;
    if (saved < 1) continue;
    if (saved > most) {
      most = saved;
      first = worth.size();
    }
    worth.push_back(chunk);
  }
  // From there on in key order: logs of neighbours are read together.
  std::vector<Job> jobs;
  uint64_t sum = 0;
  for (size_t i = first; i < worth.size() && sum < bytes; ++i) {
    jobs.push_back({{worth[i]}, worth[i]->funk().bytes()});
    sum += jobs.back().bytes;
  }
  return jobs;
}

std::vector<Job> Policy::DueForSpace(const ChunkMap& map, const std::vector<uint64_t>& sparse,
                                     uint64_t bytes) {
  std::vector<Job> jobs;
  if (sparse.empty()) return jobs;
  const auto in_sparse = [&sparse](const ExtentRef& run) {
    return std::binary_search(sparse.begin(), sparse.end(), run.segment);
  };
  uint64_t chosen = 0;
  for (Chunk* chunk : map.chunks()) {
    const Funk& funk = chunk->funk();
    const auto& log = funk.log->runs();
    if (chunk->failed_rounds > 0 || chosen >= bytes) continue;
    const bool table = funk.table != nullptr && in_sparse(funk.table->extent());
    if (!table && std::none_of(log.begin(), log.end(), in_sparse)) continue;
    jobs.push_back({{chunk}, funk.bytes()});
    chosen += funk.bytes();
  }
  return jobs;
}

std::vector<Job> Policy::All(const ChunkMap& map, std::string* from, uint64_t bytes) {
  const std::vector<Chunk*>& chunks = map.chunks();
  std::vector<Job> jobs;
  uint64_t chosen = 0;
  size_t at = map.Position(*from);
  for (; at < chunks.size() && chosen < bytes; ++at) {
    if (chunks[at]->funk().empty()) continue;
    jobs.push_back({{chunks[at]}, chunks[at]->funk().bytes()});
    chosen += jobs.back().bytes;
  }
  *from = at < chunks.size() ? chunks[at]->min_key : "";
  return jobs;
}

uint64_t Policy::PieceBytes(uint64_t input_bytes) const {
  if (input_bytes <= options_.chunk_size) return options_.chunk_size;
  const double piece = kFill * static_cast<double>(options_.chunk_size);
  const auto pieces =
      static_cast<uint64_t>(std::max(2LL, std::llround(static_cast<double>(input_bytes) / piece)));
  return std::max<uint64_t>(input_bytes / pieces, 1);
}

bool Policy::KeepsRing(double bytes_per_second) const {
  constexpr double kSoon = 10;  // seconds, for all stages
  return bytes_per_second * kSoon >= static_cast<double>(options_.stage_size) * Ring::kStages;
}

bool Policy::AppendedEnough(const Munk& munk, double growth) const {
  const size_t appended = munk.appended_memory();
  return appended > options_.block_size * 4 &&
         static_cast<double>(appended) > growth * static_cast<double>(munk.memory() - appended);
}

}  // namespace chunkstore
