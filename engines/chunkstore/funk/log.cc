#include "funk/log.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <span>
#include <utility>

#include "funk/bloom.h"
#include "funk/key_index.h"
#include "funk/sorted_run_cursor.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/hash.h"

namespace chunkstore {

// Oldest first; both share their parts with the logs before and after.
struct Log::Directory {
  // kIndex. Parts belong to classes of size, each kAlike times the last; as soon as the newest
  // kAlike parts are in one class or below, they are merged. So an entry is merged once a class,
  // and a log has few parts, however long it is.
  static constexpr int kAlikeBits = 2;
  static constexpr size_t kAlike = size_t{1} << kAlikeBits;
  static int ClassOf(const KeyIndex& part) { return std::bit_width(part.size()) / kAlikeBits; }
  std::vector<std::shared_ptr<const KeyIndex>> parts;
  // kBloom. Pieces name runs, which are searched by their own indexes.
  std::vector<std::shared_ptr<const BloomPiece>> pieces;
  std::vector<std::shared_ptr<const SortedRun>> runs;
};

// Runs come and go together: a log only grows, until a reorganisation has replaced all of it.
class Log::Space {
 public:
  explicit Space(Segments* segments) : segments_(segments) {}
  ~Space() {
    for (const ExtentRef& extent : obsolete_) segments_->Free(extent);
  }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  Segments* segments() const { return segments_; }
  // Once, by background work. Those that let go of their logs later are ordered by the count of
  // owners.
  void MarkObsolete(const std::vector<ExtentRef>& runs) { obsolete_ = runs; }

 private:
  Segments* segments_;
  std::vector<ExtentRef> obsolete_;
};

Log::Log(const LogPolicy* policy, Segments* segments, std::vector<ExtentRef> runs, SavedIndex saved)
    : Log(policy, std::make_shared<Space>(segments), std::move(runs), std::move(saved)) {}

Log::Log(const LogPolicy* policy, std::shared_ptr<Space> space, std::vector<ExtentRef> runs,
         SavedIndex saved)
    : policy_(policy), space_(std::move(space)), runs_(std::move(runs)), saved_(std::move(saved)) {
  for (const ExtentRef& run : runs_) {
    bytes_ += run.length;
    entries_ += run.entries;
  }
}

Log::~Log() { delete directory_.load(); }

void Log::MarkObsolete() const { space_->MarkObsolete(runs_); }

std::shared_ptr<const void> Log::HoldRuns() const { return space_; }

size_t Log::memory() const {
  const Directory* directory = directory_.load(std::memory_order_acquire);
  if (directory == nullptr) return 0;
  size_t bytes = sizeof *directory;
  for (const auto& part : directory->parts) bytes += part->memory();
  for (const auto& piece : directory->pieces) bytes += piece->memory();
  for (const auto& run : directory->runs) bytes += kSortedRunBytes + run->memory();
  return bytes;
}

// --- making the directory

std::unique_ptr<Log> Log::With(const SortedRunSummary& run) const {
  std::vector<ExtentRef> runs;
  runs.reserve(runs_.size() + 1);
  runs = runs_;
  runs.push_back(run.extent);
  const Directory* known = directory_.load(std::memory_order_acquire);
  const bool cold = known == nullptr && !runs_.empty();
  std::unique_ptr<Log> next(
      new Log(policy_, space_, std::move(runs), cold ? saved_ : SavedIndex()));
  // A recovered log that was never read stays without one.
  if (cold) return next;
  auto directory =
      known == nullptr ? std::make_unique<Directory>() : std::make_unique<Directory>(*known);
  next->AddRun(static_cast<uint32_t>(runs_.size()), run.index, run.keys, directory.get());
  next->directory_.store(directory.release(), std::memory_order_release);
  return next;
}

void Log::AddRun(uint32_t run, std::shared_ptr<const SortedRunIndex> index,
                 const std::vector<SortedRunKey>& keys, Directory* directory) const {
  assert(keys.size() == runs_[run].entries);
  if (policy_->lookup == LogLookup::kIndex) {
    AddToIndex(run, keys, directory);
  } else {
    directory->runs.push_back(
        std::make_shared<SortedRun>(space_->segments(), runs_[run], std::move(index)));
    AddToPieces(run, keys, directory);
  }
}

void Log::AddToIndex(uint32_t first_run, const std::vector<SortedRunKey>& keys,
                     Directory* directory) {
  auto& parts = directory->parts;
  parts.push_back(std::make_shared<const KeyIndex>(keys, first_run));
  for (;;) {
    const int most = Directory::ClassOf(*parts.back());
    const auto larger = [most](const auto& part) { return Directory::ClassOf(*part) > most; };
    const auto from = std::find_if(parts.rbegin(), parts.rend(), larger).base();
    const std::span<const std::shared_ptr<const KeyIndex>> alike(from, parts.end());
    if (alike.size() < Directory::kAlike || !KeyIndex::CanMerge(alike)) break;
    auto merged = std::make_shared<const KeyIndex>(alike);
    parts.erase(from, parts.end());
    parts.push_back(std::move(merged));
  }
}

// The run goes to the last piece until that has its bytes; the last piece of all takes every later
// run.
void Log::AddToPieces(uint32_t run, const std::vector<SortedRunKey>& keys,
                      Directory* directory) const {
  auto& pieces = directory->pieces;
  const auto split = static_cast<size_t>(std::max(policy_->bloom_split, 1));
  const auto may_grow = [&](const BloomPiece& piece, size_t ordinal) {
    return piece.bytes < policy_->piece_bytes || ordinal + 1 == split;
  };
  auto piece = std::make_shared<BloomPiece>();
  piece->first_run = run;
  if (!pieces.empty() && may_grow(*pieces.back(), pieces.size() - 1)) {
    *piece = *pieces.back();
    pieces.pop_back();
  }
  piece->end_run = run + 1;
  piece->bytes += runs_[run].length;
  piece->hashes.reserve(piece->hashes.size() + keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0 && keys[i].key == keys[i - 1].key) continue;  // a version more of the same
    piece->hashes.push_back(kvdyno::Hash64(keys[i].key));
  }
  piece->filter = BloomFilter(piece->hashes, policy_->bloom_bits);
  if (!may_grow(*piece, pieces.size())) piece->hashes = {};
  pieces.push_back(std::move(piece));
}

Status Log::Warm(const ReadContext& context) const {
  const Directory* directory = nullptr;
  return runs_.empty() ? Status::Ok() : Find(context, &directory);
}

// Makes the directory of a recovered log; once.
Status Log::Find(const ReadContext& context, const Directory** directory) const {
  *directory = directory_.load(std::memory_order_acquire);
  if (*directory != nullptr) return Status::Ok();
  const kvdyno::MutexLock lock(load_);
  *directory = directory_.load(std::memory_order_acquire);
  if (*directory != nullptr) return Status::Ok();
  auto made = std::make_unique<Directory>();
  ReadAhead own;
  ReadContext whole_runs = context;
  whole_runs.fill_cache = false;
  if (context.ahead == nullptr) whole_runs.ahead = &own;
  constexpr size_t kKeysSortedTogether = size_t{1} << 16;
  std::vector<SortedRunKey> keys;
  const uint32_t known = LoadSaved(made.get());
  uint32_t fetched = known;
  for (uint32_t run = known; run < runs_.size(); ++run) {
    if (context.ahead == nullptr && run == fetched) {
      fetched = FetchFrom(run, *context.segments, &own);
    }
    std::vector<SortedRunKey> of_run;
    const SortedRun source(context.segments, runs_[run], nullptr);
    if (Status status = ReadKeys(whole_runs, source, &of_run); !status.ok()) return status;
    if (policy_->lookup != LogLookup::kIndex) {
      std::shared_ptr<const SortedRunIndex> index;
      if (Status status = source.Index(nullptr, &index); !status.ok()) return status;
      AddRun(run, std::move(index), of_run, made.get());
      continue;
    }
    // Sorted together: merging run by run would move each key several times.
    for (SortedRunKey& key : of_run) key.run = run;
    keys.insert(keys.end(), std::make_move_iterator(of_run.begin()),
                std::make_move_iterator(of_run.end()));
    if (run + 1 < runs_.size() && keys.size() < kKeysSortedTogether) continue;
    std::sort(keys.begin(), keys.end(), [](const SortedRunKey& a, const SortedRunKey& b) {
      return Compare(a.key, a.version, b.key, b.version) < 0;
    });
    AddToIndex(0, keys, made.get());
    keys.clear();
  }
  *directory = made.get();
  directory_.store(made.release(), std::memory_order_release);
  return Status::Ok();
}

// How many runs the saved index knows; 0 if there is none that can be used.
uint32_t Log::LoadSaved(Directory* directory) const {
  std::string bytes;
  if (saved_.file == nullptr || policy_->lookup != LogLookup::kIndex) return 0;
  if (!saved_.file->Read(*saved_.chunk, &bytes).ok()) return 0;
  const auto known = static_cast<uint32_t>(saved_.chunk->runs);
  kvdyno::Reader reader(bytes);
  std::string_view part;
  while (reader.LengthPrefixed(&part)) {
    auto index = KeyIndex::Decode(part, known);
    if (index == nullptr) break;
    directory->parts.push_back(std::move(index));
  }
  uint64_t expected = 0;
  uint64_t found = 0;
  for (uint32_t run = 0; run < known; ++run) expected += runs_[run].entries;
  for (const auto& index : directory->parts) found += index->size();
  if (reader.rest().empty() && found == expected) return known;
  directory->parts.clear();
  return 0;
}

// The parts of the index, each with its length before it.
Status Log::Save(std::string* index, uint64_t* runs) const {
  index->clear();
  *runs = runs_.size();
  const Directory* directory = directory_.load(std::memory_order_acquire);
  if (runs_.empty() || policy_->lookup != LogLookup::kIndex) return Status::Ok();
  if (directory == nullptr) {
    if (saved_.file == nullptr) return Status::Ok();
    *runs = saved_.chunk->runs;
    return saved_.file->Read(*saved_.chunk, index);
  }
  std::string encoded;
  for (const auto& part : directory->parts) {
    encoded.clear();
    part->Encode(&encoded);
    kvdyno::AppendLengthPrefixed(index, encoded);
  }
  return Status::Ok();
}

bool Log::EndsBefore(std::string_view key) const {
  const Directory* directory = directory_.load(std::memory_order_acquire);
  if (directory != nullptr && policy_->lookup == LogLookup::kIndex) {
    return std::all_of(directory->parts.begin(), directory->parts.end(), [&](const auto& part) {
      KeyIndex::Cursor cursor(part.get());
      cursor.Seek(key, kNewest);
      return !cursor.Valid();
    });
  }
  return std::all_of(runs_.begin(), runs_.end(), [&](const ExtentRef& extent) {
    const SortedRun run(space_->segments(), extent, nullptr);
    const SortedRunIndex* index = nullptr;
    return run.Index(&index).ok() && index->last_key() < key;
  });
}

// Some runs, each with one call for index and blocks, and those side by side with one for all.
// Returns behind which.
uint32_t Log::FetchFrom(uint32_t run, const Segments& segments, ReadAhead* ahead) const {
  std::vector<ExtentRef> extents;
  uint64_t bytes = 0;
  for (; run < runs_.size() && bytes < ReadAhead::kLongestRun; ++run) {
    const ExtentRef& extent = runs_[run];
    bytes += extent.length;
    if (extent.length <= ReadAhead::kLongestRun) extents.push_back(extent);
  }
  ahead->Fetch(segments, std::move(extents));
  return run;
}

Status Log::ReadKeys(const ReadContext& context, const SortedRun& run,
                     std::vector<SortedRunKey>* keys) {
  keys->reserve(run.extent().entries);
  SortedRunCursor cursor(&run, context, run.extent().length);
  for (cursor.Seek({}); cursor.Valid(); cursor.Next()) {
    keys->push_back(
        {std::string(cursor.entry().key), cursor.entry().version, cursor.block_ref().place(), 0});
  }
  return cursor.status();
}

// --- reading

namespace {

// As published: a "maybe" costs reading the runs' blocks, newest run first, entry by entry.
Status SearchRun(const SortedRun& run, const ReadContext& context, std::string_view key,
                 Version version, std::string* value, LookupResult* result,
                 uint64_t* searched_bytes) {
  SortedRunCursor cursor(&run, context, run.extent().length);
  uint32_t block = UINT32_MAX;
  for (cursor.Seek({}); cursor.Valid(); cursor.Next()) {
    if (cursor.block() != block) {
      block = cursor.block();
      *searched_bytes += cursor.block_ref().length;
    }
    const Entry& entry = cursor.entry();
    if (entry.version > version || entry.key != key) continue;
    result->found = true;
    result->type = entry.type;
    result->version = entry.version;
    value->assign(entry.value);
    break;
  }
  if (cursor.read_disk()) result->from_cache = false;
  return cursor.status();
}

class FailedCursor final : public EntryCursor {
 public:
  explicit FailedCursor(Status status) : status_(std::move(status)) {}
  void Seek(std::string_view) override {}
  bool Valid() const override { return false; }
  void Next() override {}
  const Entry& entry() const override { return entry_; }
  Status status() const override { return status_; }

 private:
  Status status_;
  Entry entry_;
};

// With the run that it walks.
class OwnSortedRunCursor final : public EntryCursor {
 public:
  OwnSortedRunCursor(const ReadContext& context, const ExtentRef& extent, size_t span)
      : run_(context.segments, extent, nullptr), cursor_(&run_, context, span) {}
  void Seek(std::string_view key) override { cursor_.Seek(key); }
  bool Valid() const override { return cursor_.Valid(); }
  void Next() override { cursor_.Next(); }
  const Entry& entry() const override { return cursor_.entry(); }
  Status status() const override { return cursor_.status(); }

 private:
  const SortedRun run_;
  SortedRunCursor cursor_;
};

// Merges all runs. Those of a log that is not too long are read together first.
class RunsCursor final : public EntryCursor {
 public:
  RunsCursor(const Log& log, ReadContext context, size_t span) {
    constexpr uint64_t kReadTogether = uint64_t{1} << 20;
    if (log.bytes() <= kReadTogether) {
      ahead_.Fetch(*context.segments, log.runs());
      context.ahead = &ahead_;
    }
    context.CountLogReads(log.runs().size());
    std::vector<std::unique_ptr<EntryCursor>> cursors;
    log.AddRunCursors(context, span, &cursors);
    merged_ = NewMergingCursor(std::move(cursors));
  }
  void Seek(std::string_view key) override { merged_->Seek(key); }
  bool Valid() const override { return merged_->Valid(); }
  void Next() override { merged_->Next(); }
  const Entry& entry() const override { return merged_->entry(); }
  Status status() const override { return merged_->status(); }

 private:
  ReadAhead ahead_;
  std::unique_ptr<EntryCursor> merged_;
};

}  // namespace

Status Log::Lookup(const ReadContext& context, std::string_view key, uint64_t hash, Version version,
                   std::string* value, LookupResult* result, uint64_t* searched_bytes) const {
  result->found = false;
  if (runs_.empty()) return Status::Ok();
  const Directory* directory = nullptr;
  if (Status status = Find(context, &directory); !status.ok()) return status;
  const auto& parts = directory->parts;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    KeyIndex::Item item;
    if (!(*part)->Find(key, version, &item)) continue;
    *searched_bytes += item.block.length;
    return LookupInBlock(context, runs_[item.run], item.block, key, item.version, value, result);
  }
  const auto& pieces = directory->pieces;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (!(*piece)->filter.MayContain(hash)) continue;
    for (uint32_t run = (*piece)->end_run; run-- > (*piece)->first_run;) {
      Status status =
          SearchRun(*directory->runs[run], context, key, version, value, result, searched_bytes);
      if (!status.ok() || result->found) return status;
    }
  }
  return Status::Ok();
}

bool Log::Locate(std::string_view key, Version version, WantedBlock* block) const {
  const Directory* directory = directory_.load(std::memory_order_acquire);
  if (directory == nullptr) return false;
  for (auto part = directory->parts.rbegin(); part != directory->parts.rend(); ++part) {
    KeyIndex::Item item;
    if (!(*part)->Find(key, version, &item)) continue;
    block->extent = runs_[item.run];
    block->place = item.block;
    return true;
  }
  return false;
}

std::unique_ptr<EntryCursor> Log::NewCursor(const ReadContext& context, const LogRead& read,
                                            size_t span) const {
  // What one window of blocks holds is best read so whatever the span.
  constexpr uint64_t kShort = LogCursor::kLargestWindow * kvdyno::kDirectAlignment;
  if (policy_->lookup == LogLookup::kIndex && (span < bytes_ || bytes_ <= kShort)) {
    const Directory* directory = nullptr;
    if (Status status = Find(context, &directory); !status.ok()) {
      return std::make_unique<FailedCursor>(std::move(status));
    }
    return std::make_unique<LogCursor>(directory->parts, runs_, context, read);
  }
  return std::make_unique<RunsCursor>(*this, context, span);
}

// A merge takes the first cursor's of equal entries.
void Log::AddRunCursors(const ReadContext& context, size_t span,
                        std::vector<std::unique_ptr<EntryCursor>>* cursors) const {
  const Directory* directory = directory_.load(std::memory_order_acquire);
  for (size_t run = runs_.size(); run-- > 0;) {
    const size_t of_run = std::min<size_t>(span, runs_[run].length);
    if (directory != nullptr && !directory->runs.empty()) {
      cursors->push_back(directory->runs[run]->NewCursor(context, of_run));
    } else {
      cursors->push_back(std::make_unique<OwnSortedRunCursor>(context, runs_[run], of_run));
    }
  }
}

}  // namespace chunkstore
