#include "funk/run.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "funk/run_cursor.h"
#include "hooks/seeded_bugs.h"

namespace chunkstore {

Run::Run(Segments* segments, const ExtentRef& extent, std::shared_ptr<const RunIndex> index,
         bool keep_index)
    : segments_(segments),
      extent_(extent),
      keep_index_(keep_index),
      owner_(keep_index ? std::move(index) : nullptr),
      index_(owner_.get()) {}

Run::~Run() {
  if (obsolete_.load()) segments_->Free(extent_);
}

// --- index

Status Run::Index(const ReadAhead* ahead, std::shared_ptr<const RunIndex>* index) const {
  if (index_.load(std::memory_order_acquire) != nullptr) {
    *index = owner_;  // does not change any more
    return Status::Ok();
  }
  if (!keep_index_) {
    auto loaded = std::make_shared<RunIndex>();
    Status status = ReadIndex(ahead, loaded.get());
    if (status.ok()) *index = std::move(loaded);
    return status;
  }
  const kvdyno::MutexLock lock(load_);
  if (owner_ == nullptr) {
    auto loaded = std::make_shared<RunIndex>();
    if (Status status = ReadIndex(ahead, loaded.get()); !status.ok()) return status;
    owner_ = std::move(loaded);
    index_.store(owner_.get(), std::memory_order_release);
  }
  *index = owner_;
  return Status::Ok();
}

Status Run::Index(const RunIndex** index) const {
  assert(keep_index_);
  *index = index_.load(std::memory_order_acquire);
  if (*index != nullptr) return Status::Ok();
  std::shared_ptr<const RunIndex> loaded;
  Status status = Index(nullptr, &loaded);
  *index = loaded.get();
  return status;
}

size_t Run::memory() const {
  const RunIndex* index = index_.load(std::memory_order_acquire);
  return index == nullptr ? 0 : index->memory();
}

// Reads the run's end, where the index lies, with one call for all but very small blocks.
Status Run::ReadIndex(const ReadAhead* ahead, RunIndex* index) const {
  constexpr uint64_t kTailBytes = 16 << 10;
  if (extent_.length < kFooterBytes) {
    return Problem("read footer", 0,
                   Status::Corruption("expected " + std::to_string(kFooterBytes) +
                                      " bytes or more, got " + std::to_string(extent_.length)));
  }
  const ThreadBuffer buffer;
  std::string_view tail;
  Status status;
  if (ahead != nullptr) tail = ahead->Find(extent_);
  if (tail.empty()) {
    const uint64_t length = std::min(extent_.length, std::max(kTailBytes, extent_.length / 32));
    status = segments_->ReadInto(extent_, extent_.length - length, length, buffer.get(), &tail);
  }
  if (!status.ok()) return status;
  RunFooter footer;
  status = DecodeFooter(tail.substr(tail.size() - kFooterBytes), &footer);
  if (!status.ok()) return Problem("read footer", extent_.length - kFooterBytes, status);
  const uint64_t room = extent_.length - kFooterBytes;
  if (footer.index_length > room || footer.index_offset != room - footer.index_length) {
    return Problem("read footer", room,
                   Status::Corruption("expected an index that ends at " + std::to_string(room) +
                                      ", got one of " + std::to_string(footer.index_length) +
                                      " bytes at " + std::to_string(footer.index_offset)));
  }
  if (footer.entries != extent_.entries) {
    return Problem("read footer", room,
                   Status::Corruption("expected " + std::to_string(extent_.entries) +
                                      " entries, got " + std::to_string(footer.entries)));
  }
  const uint64_t wanted = footer.index_length + kFooterBytes;
  if (wanted > tail.size()) {
    status = segments_->ReadInto(extent_, footer.index_offset, wanted, buffer.get(), &tail);
    if (!status.ok()) return status;
  }
  tail.remove_prefix(tail.size() - wanted);
  status =
      DecodeRunIndex(tail.substr(footer.index_length), tail.substr(0, footer.index_length), index);
  return status.ok() ? status : Problem("read index", footer.index_offset, status);
}

Status Run::Problem(const char* operation, uint64_t offset_in_run, const Status& status) const {
  return {status.code(), std::string(operation) + " " + segments_->PathOf(extent_.segment) +
                             " at " + std::to_string(extent_.offset + offset_in_run) + ": " +
                             status.message()};
}

// --- point reads

Status Run::Lookup(const ReadContext& context, std::string_view key, Version version,
                   std::string* value, LookupResult* result) const {
  result->found = false;
  const RunIndex* index = nullptr;
  if (Status status = Index(&index); !status.ok()) return status;
  const size_t blocks = index->blocks.size();
  size_t block = index->Find(key);
  if (block == blocks || (block == 0 && key < index->first_key(0))) return Status::Ok();
  for (;;) {
    bool at_end = false;
    Status status = SearchBlock(context, index->blocks[block].place(), index, block, key, version,
                                value, result, &at_end);
    if (!status.ok() || result->found || !at_end) return status;
    // Versions of one key may go on in the next block.
    ++block;
    if (block == blocks || !index->blocks[block].continues || index->first_key(block) != key) {
      return Status::Ok();
    }
  }
}

Status Run::LookupInBlock(const ReadContext& context, BlockPlace block, std::string_view key,
                          Version version, std::string* value, LookupResult* result) const {
  result->found = false;
  bool at_end = false;
  Status status = SearchBlock(context, block, nullptr, 0, key, version, value, result, &at_end);
  if (!status.ok()) return status;
  return result->found && result->version == version ? status : MissingKey(block);
}

Status Run::SearchBlock(const ReadContext& context, BlockPlace block, const RunIndex* index,
                        size_t ordinal, std::string_view key, Version version, std::string* value,
                        LookupResult* result, bool* at_end) const {
  const uint64_t place = extent_.offset + block.offset;
  const ThreadBuffer buffer;
  BlockCache::Handle handle;
  BlockView view;
  if (context.blocks != nullptr) handle = context.blocks->Lookup(extent_.segment, place);
  if (handle) {
    view = BlockView(handle.bytes());
  } else {
    result->from_cache = false;
    std::string_view bytes;
    Status status = segments_->ReadInto(extent_, block.offset, block.length, buffer.get(), &bytes);
    if (status.ok()) {
      status = index != nullptr ? ParseBlock(context, *index, ordinal, bytes, &view)
                                : ParseAt(context, block, bytes, &view);
    }
    if (!status.ok()) return status;
    if (context.blocks != nullptr && context.fill_cache) {
      (void)context.blocks->Insert(extent_.segment, place, bytes);
    }
  }
  const uint32_t at = view.LowerBound(key, version);
  *at_end = at == view.size();
  if (*at_end) return Status::Ok();
  const Entry entry = view.at(at);
  if (entry.key != key) return Status::Ok();
  result->found = true;
  result->type = entry.type;
  result->version = entry.version;
  value->assign(entry.value);
  return Status::Ok();
}

Status Run::ParseBlock(const ReadContext& context, const RunIndex& index, size_t block,
                       std::string_view bytes, BlockView* view) const {
  const BlockRef& ref = index.blocks[block];
  if (Status status = ParseAt(context, ref.place(), bytes, view); !status.ok()) return status;
  std::string problem;
  if (view->size() != ref.entries) {
    problem =
        "expected " + std::to_string(ref.entries) + " entries, got " + std::to_string(view->size());
  } else if (view->at(0).key != index.first_key(block)) {
    problem = "expected the index's first key, got another";
  }
  if (problem.empty()) return Status::Ok();
  return Problem("read block", ref.offset, Status::Corruption(std::move(problem)));
}

Status Run::ParseAt(const ReadContext& context, BlockPlace block, std::string_view bytes,
                    BlockView* view) const {
  const bool verify = context.verify_checksums && !Seeded(Bug::kIgnoresChecksum);
  std::string problem = BlockView::Parse(bytes, verify, view);
  if (problem.empty()) return Status::Ok();
  return Problem("read block", block.offset, Status::Corruption(std::move(problem)));
}

Status Run::HoldTogether(const ReadContext& context, std::vector<WantedBlock>* blocks) {
  std::vector<SegmentRead> reads;
  std::vector<WantedBlock*> missing;
  for (WantedBlock& block : *blocks) {
    const ExtentRef& extent = block.run->extent_;
    if (context.blocks != nullptr) {
      block.handle = context.blocks->Lookup(extent.segment, extent.offset + block.place.offset);
    }
    if (block.handle) {
      block.view = BlockView(block.handle.bytes());
    } else {
      reads.push_back({extent, block.place.offset, block.place.length, {}, {}});
      missing.push_back(&block);
    }
  }
  if (missing.empty()) return Status::Ok();
  context.CountLogReads(missing.size());
  Prefetch* const beside = context.prefetch;
  if (beside != nullptr && beside->length > 0) {
    reads.push_back({beside->extent, beside->offset_in_run, beside->length, {}, {}});
    beside->length = 0;
  }
  const ThreadBuffer buffer;
  missing.front()->run->segments_->ReadTogether(&reads, buffer.get());
  // What could not be read is read again by the cursor that needs it, which gets the error.
  if (reads.size() > missing.size() && reads.back().status.ok()) beside->bytes = reads.back().bytes;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (!reads[i].status.ok()) return std::move(reads[i].status);
    if (Status status = missing[i]->run->Keep(context, reads[i].bytes, missing[i]); !status.ok()) {
      return status;
    }
  }
  return Status::Ok();
}

Prefetch Run::Wanted(const ReadContext& context, std::string_view position, size_t span) const {
  constexpr size_t kLongest = size_t{256} << 10;
  const RunIndex* index = nullptr;
  if (span > kLongest || !Index(&index).ok()) return {};
  const auto& blocks = index->blocks;
  const size_t first = index->Find(position);
  if (first == blocks.size()) return {};
  if (context.blocks != nullptr &&
      context.blocks->Lookup(extent_.segment, extent_.offset + blocks[first].offset)) {
    return {};
  }
  size_t length = 0;
  for (size_t block = first; block < blocks.size() && (length == 0 || length < span); ++block) {
    length += blocks[block].length;
  }
  return {extent_, blocks[first].offset, length, {}};
}

Status Run::Keep(const ReadContext& context, std::string_view bytes, WantedBlock* block) const {
  BlockView checked;
  if (Status status = ParseAt(context, block->place, bytes, &checked); !status.ok()) return status;
  if (context.blocks != nullptr && context.fill_cache) {
    const uint64_t place = extent_.offset + block->place.offset;
    block->handle = context.blocks->Insert(extent_.segment, place, bytes);
    block->view = BlockView(block->handle.bytes());
  } else {
    block->copy.assign(bytes);
    block->view = BlockView(block->copy);
  }
  return Status::Ok();
}

Status Run::MissingKey(BlockPlace block) const {
  return Problem(
      "look up", block.offset,
      Status::Corruption("expected the block to hold a key of the log's index, got none"));
}

std::unique_ptr<EntryCursor> Run::NewCursor(const ReadContext& context, size_t span) const {
  return std::make_unique<RunCursor>(this, context, span);
}

}  // namespace chunkstore
