// What the store reports about itself: statistics, properties and the check of its checksums.
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include "store/store_impl.h"

namespace chunkstore {

namespace {

constexpr std::array<std::pair<Served, const char*>, kServers> kServerNames = {{
    {Served::kMunk, "munk"},
    {Served::kStage, "stage"},
    {Served::kRowCache, "row_cache"},
    {Served::kLog, "log"},
    {Served::kTable, "table"},
    {Served::kNowhere, "absent"},
    {Served::kBlockCache, "block_cache"},
}};

struct CountName {
  Count count;
  const char* name;
  const char* unit;
};
constexpr CountName kCountNames[] = {
    {Count::kPuts, "puts", "op"},
    {Count::kPutBytes, "put_bytes", "byte"},
    {Count::kScans, "scans", "op"},
    {Count::kScanRows, "scan_rows", "count"},
    {Count::kLogSearchedBytes, "log_searched_bytes", "byte"},
    {Count::kFilteredGets, "filtered_gets", "op"},
    {Count::kFlushes, "flushes", "count"},
    {Count::kFlushBytes, "flush_bytes", "byte"},
    {Count::kRebalances, "rebalances", "count"},
    {Count::kRebalanceBytes, "rebalance_bytes", "byte"},
    {Count::kSplits, "splits", "count"},
    {Count::kMerges, "merges", "count"},
    {Count::kAdoptions, "adoptions", "count"},
    {Count::kAdoptionBytes, "adoption_bytes", "byte"},
    {Count::kMunkRebalances, "munk_rebalances", "count"},
    {Count::kMunkLoads, "munk_loads", "count"},
    {Count::kLogsWarmed, "logs_warmed", "count"},
    {Count::kMunkEvictions, "munk_evictions", "count"},
    {Count::kCheckpoints, "checkpoints", "count"},
    {Count::kRingBytes, "ring_bytes", "byte"},
    {Count::kStalls, "stalls", "count"},
    {Count::kStallMicros, "stall_micros", "us"},
    {Count::kSlowdownMicros, "slowdown_micros", "us"},
    {Count::kBackgroundErrors, "background_errors", "count"},
};

}  // namespace

uint64_t StoreImpl::UnflushedBytes() const {
  const Slots::Pin pin(const_cast<Slots*>(&state_.slots));
  uint64_t bytes = 0;
  for (const auto& stage : state_.stages.load()->stages) bytes += stage->bytes();
  return bytes;
}

std::vector<Statistic> StoreImpl::GetStatistics() const {
  std::vector<Statistic> all;
  const auto add = [&all](std::string name, auto value, const char* unit, bool cumulative) {
    all.push_back({std::move(name), static_cast<double>(value), unit, cumulative});
  };
  const Counters& counters = state_.counters;
  for (const auto& [server, name] : kServerNames) {
    const std::string prefix(name);
    add(prefix + "_gets", counters.Gets(server), "op", true);
    add(prefix + "_get_bytes", counters.GetBytes(server), "byte", true);
    const LatencyHistogram& latency = counters.latency(server);
    add(prefix + "_get_p50_us", latency.PercentileNs(0.5) / 1000, "us", false);
    add(prefix + "_get_p99_us", latency.PercentileNs(0.99) / 1000, "us", false);
  }
  for (const CountName& count : kCountNames) {
    add(count.name, counters.Sum(count.count), count.unit, true);
  }
  const BlockCache::Counts blocks = state_.blocks ? state_.blocks->counts() : BlockCache::Counts{};
  const RowCache::Counts rows = state_.rows ? state_.rows->counts() : RowCache::Counts{};
  add("block_cache_hits", blocks.hits, "op", true);
  add("block_cache_misses", blocks.misses, "op", true);
  add("row_cache_hits", rows.hits, "op", true);
  add("row_cache_misses", rows.misses, "op", true);
  const Segments& segments = *state_.segments;
  add("read_calls", segments.reads(), "count", true);
  add("read_bytes", segments.read_bytes(), "byte", true);
  add("manifest_bytes", state_.manifest->bytes(), "byte", false);

  const uint64_t row_bytes = state_.rows ? state_.rows->memory() : 0;
  const uint64_t block_bytes = state_.blocks ? state_.blocks->memory() : 0;
  const uint64_t stage_bytes = state_.ring->memory_in_use();
  add("log_debt", maintenance_->log_debt(), "byte", false);
  add("unflushed_bytes", UnflushedBytes(), "byte", false);
  add("live_bytes", segments.live_bytes(), "byte", false);
  add("file_bytes", segments.file_bytes(), "byte", false);
  add("munk_bytes", maintenance_->munk_bytes(), "byte", false);
  add("row_cache_bytes", row_bytes, "byte", false);
  add("block_cache_bytes", block_bytes, "byte", false);
  add("stage_bytes", stage_bytes, "byte", false);
  add("index_bytes", maintenance_->index_bytes(), "byte", false);
  add("memory_bytes",
      maintenance_->munk_bytes() + row_bytes + block_bytes + stage_bytes +
          maintenance_->index_bytes(),
      "byte", false);
  add("memory_budget", maintenance_->memory_budget(), "byte", false);
  {
    Slots::Pin pin(const_cast<Slots*>(&state_.slots));
    add("chunks", state_.map().size(), "count", false);
  }
  add("munks", maintenance_->munks(), "count", false);
  add("segments", segments.count(), "count", false);
  add("open_files", segments.open_files(), "count", false);
  add("snapshots", state_.snapshots.count(), "count", false);
  add("direct_io", segments.direct() ? 1 : 0, "ratio", false);
  add("drain_seconds", maintenance_->drain_seconds(), "s", false);
  return all;
}

std::vector<ComponentLatency> StoreImpl::GetLatencies() const {
  std::vector<ComponentLatency> all;
  for (const auto& [server, name] : kServerNames) {
    const LatencyHistogram& latency = state_.counters.latency(server);
    ComponentLatency& each = all.emplace_back();
    each.component = name;
    for (size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
      each.buckets.push_back({LatencyHistogram::EndOfNs(bucket), latency.CountIn(bucket)});
    }
  }
  return all;
}

std::string StoreImpl::StatsTable() const {
  std::ostringstream text;
  for (const Statistic& statistic : GetStatistics()) {
    text << statistic.name;
    for (size_t i = statistic.name.size(); i < 28; ++i) text << ' ';
    text << statistic.value << ' ' << statistic.unit << '\n';
  }
  return text.str();
}

namespace {

// Printable form of a key: other bytes as \xNN.
std::string Printable(std::string_view key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      text.push_back(c);
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text;
}

}  // namespace

std::string StoreImpl::ChunkLines() const {
  std::ostringstream text;
  Slots::Pin pin(const_cast<Slots*>(&state_.slots));
  for (const Chunk* chunk : state_.map().chunks()) {
    const Funk& funk = chunk->funk();
    text << chunk->id << " from \"" << Printable(chunk->min_key) << "\" table "
         << funk.table_bytes() << " log " << funk.log_bytes() << " in " << funk.log->runs().size()
         << " runs, entries " << funk.entries();
    if (const Munk* munk = chunk->munk(); munk != nullptr) text << ", munk " << munk->memory();
    text << '\n';
  }
  return text.str();
}

bool StoreImpl::GetProperty(std::string_view name, std::string* value) const {
  if (name == "stats") {
    *value = StatsTable();
  } else if (name == "chunks") {
    *value = ChunkLines();
  } else if (name == "num-chunks") {
    Slots::Pin pin(const_cast<Slots*>(&state_.slots));
    *value = std::to_string(state_.map().size());
  } else if (name == "recovery") {
    std::ostringstream text;
    text << (recovery_.clean ? "closed properly" : "not closed properly") << ", recovered "
         << recovery_.recovered_records << " records of " << recovery_.recovered_bytes
         << " bytes, dropped " << recovery_.dropped_bytes << " bytes";
    if (!recovery_.dropped_reason.empty()) text << " (" << recovery_.dropped_reason << ")";
    text << ", in " << recovery_.seconds << " s";
    *value = text.str();
  } else {
    return false;
  }
  return true;
}

Status StoreImpl::VerifyChecksums(CheckReport* report) {
  const CallGate::Call call(&state_.gate);
  if (!call.open()) return state_.ClosedError("verify");
  // What is shared stays readable without a pin, however long this takes.
  std::vector<Funk> funks;
  {
    const Slots::Pin pin(&state_.slots);
    for (const Chunk* chunk : state_.map().chunks()) {
      funks.push_back(chunk->funk());
    }
  }
  std::set<uint64_t> files;
  const auto check = [&](const SortedRun& run) {
    files.insert(run.extent().segment);
    run.Check(&report->problems, &report->blocks, &report->entries);
  };
  for (const Funk& funk : funks) {
    if (funk.table != nullptr) check(*funk.table);
    for (const ExtentRef& run : funk.log->runs()) check({state_.segments.get(), run, nullptr});
  }
  report->files += files.size();
  return Status::Ok();
}

}  // namespace chunkstore
