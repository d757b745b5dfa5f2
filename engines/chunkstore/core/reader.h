// Reader: gets and ordered reads at a version, over munks, stages, caches, logs and tables.
// Knows no writes and takes no locks (the caches' shards apart). Every method may be called from
// any thread; the caller holds the version as a snapshot where noted.
//
// What makes a read whole while background work moves entries: it loads the stage list first, then
// the chunk map, then the chunk's munk or funk. A flush installs a stage's entries in the funks,
// refreshes cached rows, and only then takes the stage off the list: a reader that misses the stage
// finds the funk.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/state.h"

namespace chunkstore {

class Reader {
 public:
  // `cold` is called, pinned, when a read meets a log without an index.
  Reader(State* state, std::function<void()> cold) : state_(*state), cold_(std::move(cold)) {}

  // The newest value; NotFound when there is none. A closed store returns InvalidArgument.
  Status Get(std::string_view key, bool fill_cache, std::string* value);
  // At a version that the caller holds, with no pending writes at or below it.
  Status GetAt(std::string_view key, Version version, bool fill_cache, std::string* value);

  // Each key as by GetAt; values and statuses are as long as keys. Blocks on disk are read
  // together, if they may fill the cache.
  void MultiGetAt(const std::vector<std::string_view>& keys, Version version, bool fill_cache,
                  std::vector<std::string>* values, std::vector<Status>* statuses);

  // Rows of [from, end) at the version, which the caller holds, upwards, until `row` returns false.
  // An empty `end` has no bound. `expected`: rows that the caller needs, 0 when it needs all; a
  // hint.
  using RowFunction = std::function<bool(std::string_view, std::string_view)>;
  struct Range {
    std::string_view from, end;
    uint64_t expected = 0;
    bool fill_cache = true;
  };
  Status Rows(const Range& range, Version version, const RowFunction& row);

  // Where to begin a walk of Rows that should end before `end` after about *rows rows: the first
  // key of a block of the table of the chunk that holds the last key before `end`, or that chunk's
  // minimal key. An empty `end` has no bound. Only a hint: there may be no row in between. *rows
  // becomes what the table has there, 0 if that is not known.
  std::string WindowBefore(std::string_view end, uint64_t* rows);
  // The minimal key of the chunk that holds the last possible key before `end`; empty for the
  // first.
  std::string ChunkBefore(std::string_view end);

 private:
  struct Answerer {
    Served by = Served::kNowhere;
    bool from_block_cache = false;
  };
  // Runs find(answerer) → Status and counts the result, all under one pin, so that a close waits
  // for both.
  template <typename Find>
  Status Counted(const std::string* value, const Find& find);
  Status GetPinned(std::string_view key, Version version, bool fill_cache, std::string* value,
                   Answerer* answerer);
  // What is known of a key when memory has not answered.
  struct Search {
    const Chunk* chunk = nullptr;
    uint64_t hash = 0;
    uint64_t stamp = 0;  // of the row cache
  };
  // True: answered, by *status.
  bool FromMemory(std::string_view key, Version version, std::string* value, Answerer* answerer,
                  Search* search, Status* status);
  Status FromDisk(std::string_view key, Version version, const Search& search, bool fill_cache,
                  std::string* value, Answerer* answerer);
  Status SearchFunk(const Search& search, std::string_view key, Version version,
                    const ReadContext& context, std::string* value, Answerer* answerer,
                    LookupResult* result);
  // Adds the block in which the search will look first, if that is known without reading a log.
  static void Locate(const Search& search, std::string_view key, Version version,
                     std::vector<WantedBlock>* blocks);

  State& state_;
  std::function<void()> cold_;
};

}  // namespace chunkstore
