#include "core/reader.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "hooks/moments.h"
#include "hooks/seeded_bugs.h"
#include "kvdyno/base/clock.h"
#include "kvdyno/base/hash.h"

namespace chunkstore {

namespace {

Status Answer(const Entry& entry, std::string* value) {
  if (entry.type == EntryType::kDeletion) return Status::NotFound();
  value->assign(entry.value);
  return Status::Ok();
}

// A chunk's reads are counted in the munk policy only roughly: no ordering, no atomic addition.
void Warm(std::atomic<uint32_t>* heat) {
  heat->store(heat->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

// A batch becomes visible to single gets all at once: a get that meets one on its way into the
// indexes, before it looks or while it does, reads at a moment after it.
Status Reader::Get(std::string_view key, bool fill_cache, std::string* value) {
  return Counted(value, [&](Answerer* answerer) {
    if (state_.gate.closed()) return state_.ClosedError("get");
    const Batches::Seen before = state_.batches.now();
    if (before.none_pending()) {
      Reached(Moment::kGetBegun);
      Status status = GetPinned(key, kNewest, fill_cache, value, answerer);
      Reached(Moment::kGetLooked);
      if (state_.batches.now() == before || Seeded(Bug::kGetSeesHalfABatch)) return status;
      *answerer = {};
    }
    const SnapshotHold moment(&state_.snapshots);
    state_.slots.WaitForPending(moment.version());
    return GetPinned(key, moment.version(), fill_cache, value, answerer);
  });
}

Status Reader::GetAt(std::string_view key, Version version, bool fill_cache, std::string* value) {
  return Counted(value, [&](Answerer* answerer) {
    return GetPinned(key, version, fill_cache, value, answerer);
  });
}

template <typename Find>
Status Reader::Counted(const std::string* value, const Find& find) {
  const Slots::Pin pin(&state_.slots);
  const bool timed = Counters::TimeThis();
  const uint64_t begin = timed ? kvdyno::NowNs() : 0;
  Answerer answerer;
  Status status = find(&answerer);
  const uint64_t bytes = status.ok() ? value->size() : 0;
  state_.counters.Get(answerer.by, bytes);
  if (answerer.from_block_cache) state_.counters.Get(Served::kBlockCache, bytes);
  if (timed) {
    const uint64_t ns = kvdyno::NowNs() - begin;
    state_.counters.latency(answerer.by).Add(ns);
    if (answerer.from_block_cache) state_.counters.latency(Served::kBlockCache).Add(ns);
  }
  return status;
}

Status Reader::GetPinned(std::string_view key, Version version, bool fill_cache, std::string* value,
                         Answerer* answerer) {
  Search search;
  Status status;
  if (FromMemory(key, version, value, answerer, &search, &status)) return status;
  return FromDisk(key, version, search, fill_cache, value, answerer);
}

bool Reader::FromMemory(std::string_view key, Version version, std::string* value,
                        Answerer* answerer, Search* search, Status* status) {
  const StageList& stages = *state_.stages.load();
  search->chunk = state_.map().Find(key);
  Warm(&search->chunk->heat.reads);
  Entry entry;
  if (const Munk* munk = search->chunk->ActiveMunk(); munk != nullptr) {
    answerer->by = Served::kMunk;
    *status = munk->Lookup(key, version, &entry) ? Answer(entry, value) : Status::NotFound();
    return true;
  }
  if (search->chunk->unsettled.load()) state_.slots.WaitForPending(state_.clock.load());
  search->hash = kvdyno::Hash64(key);
  // Before anything is searched: a row that a flush overtakes from here on does not enter the
  // cache.
  search->stamp = state_.rows ? state_.rows->Stamp(search->hash) : 0;
  for (const auto& stage : stages.stages) {
    if (stage->MayContain(search->hash) && stage->Lookup(key, version, &entry)) {
      answerer->by = Served::kStage;
      *status = Answer(entry, value);
      return true;
    }
  }
  EntryType type = EntryType::kValue;
  Version row_version = 0;
  if (!state_.rows || !state_.rows->Lookup(key, search->hash, value, &type, &row_version) ||
      row_version > version) {
    return false;
  }
  answerer->by = Served::kRowCache;
  *status = type == EntryType::kValue ? Status::Ok() : Status::NotFound();
  return true;
}

// Only the newest row may enter the row cache, which knows no versions but that one. There a row is
// cached once: its block stays out of the block cache.
Status Reader::FromDisk(std::string_view key, Version version, const Search& search,
                        bool fill_cache, std::string* value, Answerer* answerer) {
  const bool as_row = fill_cache && version == kNewest && state_.rows != nullptr;
  const bool fits = as_row && state_.rows->largest_row() >= state_.options.block_size;
  const ReadContext context = state_.read_context(fill_cache && !fits);
  LookupResult result;
  if (Status status = SearchFunk(search, key, version, context, value, answerer, &result);
      !status.ok() || !result.found) {
    return status.ok() ? Status::NotFound() : status;
  }
  if (as_row) {
    const Entry row{key, result.type == EntryType::kValue ? std::string_view(*value) : "",
                    result.version, result.type};
    state_.rows->Insert(key, search.hash, row, search.stamp);
  }
  return result.type == EntryType::kValue ? Status::Ok() : Status::NotFound();
}

Status Reader::SearchFunk(const Search& search, std::string_view key, Version version,
                          const ReadContext& context, std::string* value, Answerer* answerer,
                          LookupResult* result) {
  const Funk& funk = search.chunk->funk();
  uint64_t searched = 0;
  if (!funk.log->empty()) {
    if (!funk.log->warm()) cold_();
    const Status status =
        funk.log->Lookup(context, key, search.hash, version, value, result, &searched);
    state_.counters.Add(Count::kLogSearchedBytes, searched);
    if (!status.ok()) return status;
    if (result->found) {
      *answerer = {Served::kLog, result->from_cache};
      return status;
    }
  }
  if (funk.table == nullptr) return Status::Ok();
  const Status status = funk.table->Lookup(context, key, search.hash, version, value, result);
  if (result->filtered) state_.counters.Add(Count::kFilteredGets);
  if (status.ok() && result->found) *answerer = {Served::kTable, result->from_cache};
  return status;
}

// What memory does not answer is located, and the blocks are read together. Each key is then
// searched as by a get, which finds its block in the cache, and reports its own error.
void Reader::MultiGetAt(const std::vector<std::string_view>& keys, Version version, bool fill_cache,
                        std::vector<std::string>* values, std::vector<Status>* statuses) {
  constexpr size_t kTogether = 32;
  for (size_t from = 0; from < keys.size(); from += kTogether) {
    Reached(Moment::kBetweenPins);
    const Slots::Pin pin(&state_.slots);
    std::vector<std::pair<size_t, Search>> missing;
    for (size_t i = from; i < std::min(keys.size(), from + kTogether); ++i) {
      Answerer answerer;
      Search search;
      if (FromMemory(keys[i], version, &(*values)[i], &answerer, &search, &(*statuses)[i])) {
        state_.counters.Get(answerer.by, (*statuses)[i].ok() ? (*values)[i].size() : 0);
      } else {
        missing.emplace_back(i, search);
      }
    }
    std::vector<WantedBlock> blocks;
    if (missing.size() > 1 && fill_cache && state_.blocks != nullptr) {
      for (const auto& [i, search] : missing) Locate(search, keys[i], version, &blocks);
      static_cast<void>(HoldTogether(state_.read_context(true), &blocks));
    }
    for (const auto& each : missing) {
      const size_t i = each.first;
      (*statuses)[i] = Counted(&(*values)[i], [&](Answerer* answerer) {
        return FromDisk(keys[i], version, each.second, fill_cache, &(*values)[i], answerer);
      });
    }
  }
}

void Reader::Locate(const Search& search, std::string_view key, Version version,
                    std::vector<WantedBlock>* blocks) {
  const Funk& funk = search.chunk->funk();
  WantedBlock wanted;
  if (!funk.log->Locate(key, version, &wanted) &&
      (funk.table == nullptr || !funk.table->Locate(key, search.hash, &wanted))) {
    return;
  }
  const bool known = std::any_of(blocks->begin(), blocks->end(), [&](const WantedBlock& block) {
    return block.extent == wanted.extent && block.place == wanted.place;
  });
  if (!known) blocks->push_back(std::move(wanted));
}

namespace {

// All sources of a chunk that does not answer from a munk, newest first.
std::unique_ptr<EntryCursor> FunkCursor(const StageList& stages, const Funk& funk,
                                        const ReadContext& context, const LogRead& read,
                                        size_t span) {
  std::vector<std::unique_ptr<EntryCursor>> sources;
  for (const auto& stage : stages.stages) {
    if (!stage->empty()) {
      sources.push_back(std::make_unique<StageIndex::Cursor>(stage->NewCursor()));
    }
  }
  if (!funk.log->empty()) sources.push_back(funk.log->NewCursor(context, read, span));
  if (funk.table != nullptr) sources.push_back(funk.table->NewCursor(context, span));
  return NewMergingCursor(std::move(sources));
}

// What a read of so many rows (0: all) from `position` on needs of the chunk's log. Where there is
// a table, its index has where they end.
LogRead WantedOfLog(const Funk& funk, Version version, std::string_view position, uint64_t rows) {
  LogRead read{version, rows, {}};
  const SortedRunIndex* index = nullptr;
  if (rows == 0 || funk.table == nullptr || !funk.table->Index(&index).ok()) return read;
  uint64_t held = 0;
  // Perhaps only the last row of the first block is needed.
  for (size_t block = index->Find(position) + 1; block < index->blocks.size(); ++block) {
    if (held >= rows) {
      read.before = index->first_key(block);
      return read;
    }
    held += index->blocks[block].entries;
  }
  return read;
}

// The bytes that a read of so many rows will probably need of a funk.
size_t ExpectedSpan(const Funk& funk, uint64_t rows) {
  const uint64_t entries = std::max<uint64_t>(funk.entries(), 1);
  const uint64_t all = funk.bytes();
  if (rows == 0 || rows >= entries) return all;
  return all / entries * (rows + 1);
}

}  // namespace

Status Reader::Rows(const Range& range, Version version, const RowFunction& row) {
  std::string position(range.from);
  uint64_t given = 0;
  for (;;) {
    Reached(Moment::kBetweenPins);
    const Slots::Pin pin(&state_.slots);
    const StageList& stages = *state_.stages.load();
    const Chunk* chunk = state_.map().Find(position);
    Warm(&chunk->heat.scans);
    Prefetch prefetch;
    std::unique_ptr<EntryCursor> cursor;
    if (const Munk* munk = chunk->ActiveMunk(); munk != nullptr) {
      cursor = munk->NewCursor();
    } else {
      const uint64_t wanted = range.expected > given ? range.expected - given : range.expected;
      const Funk& funk = chunk->funk();
      const size_t span = ExpectedSpan(funk, wanted);
      if (!funk.log->warm()) cold_();
      ReadContext context = state_.read_context(range.fill_cache);
      context.log_reads = &chunk->heat.log_reads;
      if (!funk.log->empty() && funk.table != nullptr) {
        prefetch = funk.table->Wanted(context, position, span);
        context.prefetch = &prefetch;
      }
      cursor =
          FunkCursor(stages, funk, context, WantedOfLog(funk, version, position, wanted), span);
    }
    std::string_view end = range.end;
    if (!chunk->max_key.empty() && (end.empty() || chunk->max_key < end)) end = chunk->max_key;

    std::string last;  // the key whose newest visible version has been met
    bool has_last = false;
    for (cursor->Seek(position); cursor->Valid(); cursor->Next()) {
      const Entry& entry = cursor->entry();
      if (!end.empty() && entry.key >= end) break;
      if (entry.version > version || (has_last && entry.key == last)) continue;
      last.assign(entry.key);
      has_last = true;
      if (entry.type == EntryType::kDeletion) continue;
      ++given;
      if (!row(entry.key, entry.value)) return Status::Ok();
    }
    if (const Status status = cursor->status(); !status.ok()) return status;
    if (chunk->max_key.empty() || (!range.end.empty() && chunk->max_key >= range.end)) {
      return Status::Ok();
    }
    position = chunk->max_key;
  }
}

std::string Reader::ChunkBefore(std::string_view end) {
  const Slots::Pin pin(&state_.slots);
  const ChunkMap& map = state_.map();
  if (end.empty()) return map.chunks().back()->min_key;
  const size_t at = map.Position(end);
  const Chunk* chunk = map.chunks()[at];
  return chunk->min_key == end && at > 0 ? map.chunks()[at - 1]->min_key : chunk->min_key;
}

std::string Reader::WindowBefore(std::string_view end, uint64_t* rows) {
  const uint64_t wanted = std::exchange(*rows, 0);
  std::string chunk_begin = ChunkBefore(end);
  const Slots::Pin pin(&state_.slots);
  const Chunk* chunk = state_.map().Find(chunk_begin);
  const Funk& funk = chunk->funk();
  const SortedRunIndex* index = nullptr;
  if (funk.table == nullptr || !funk.table->Index(&index).ok() || index->blocks.empty()) {
    return chunk_begin;
  }
  const size_t blocks = index->blocks.size();
  size_t block = end.empty() ? blocks - 1 : std::min(index->Find(end), blocks - 1);
  *rows = index->blocks[block].entries;
  while (block > 0 && (*rows < wanted || (!end.empty() && index->first_key(block) >= end))) {
    *rows += index->blocks[--block].entries;
  }
  return block == 0 ? chunk_begin : std::max(chunk_begin, std::string(index->first_key(block)));
}

}  // namespace chunkstore
