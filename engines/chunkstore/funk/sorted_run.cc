#include "funk/sorted_run.h"

#include <algorithm>
#include <utility>

#include "funk/sorted_run_cursor.h"

namespace chunkstore {

SortedRun::SortedRun(Segments* segments, const ExtentRef& extent,
                     std::shared_ptr<const SortedRunIndex> index)
    : segments_(segments), extent_(extent), owner_(std::move(index)), index_(owner_.get()) {}

SortedRun::~SortedRun() {
  if (obsolete_.load()) segments_->Free(extent_);
}

// --- index

Status SortedRun::Index(const ReadAhead* ahead,
                        std::shared_ptr<const SortedRunIndex>* index) const {
  if (index_.load(std::memory_order_acquire) != nullptr) {
    *index = owner_;  // does not change any more
    return Status::Ok();
  }
  const kvdyno::MutexLock lock(load_);
  if (owner_ == nullptr) {
    auto loaded = std::make_shared<SortedRunIndex>();
    if (Status status = ReadIndex(ahead, loaded.get()); !status.ok()) return status;
    owner_ = std::move(loaded);
    index_.store(owner_.get(), std::memory_order_release);
  }
  *index = owner_;
  return Status::Ok();
}

Status SortedRun::Index(const SortedRunIndex** index) const {
  *index = index_.load(std::memory_order_acquire);
  if (*index != nullptr) return Status::Ok();
  std::shared_ptr<const SortedRunIndex> loaded;
  Status status = Index(nullptr, &loaded);
  *index = loaded.get();
  return status;
}

size_t SortedRun::memory() const {
  const SortedRunIndex* index = index_.load(std::memory_order_acquire);
  return index == nullptr ? 0 : index->memory();
}

size_t SortedRun::filter_memory() const {
  const SortedRunIndex* index = index_.load(std::memory_order_acquire);
  return index == nullptr ? 0 : index->filter.memory();
}

// With one call for all but very small rows.
Status SortedRun::ReadIndex(const ReadAhead* ahead, SortedRunIndex* index) const {
  constexpr uint64_t kEndBytes = 16 << 10;
  const ThreadBuffer buffer;
  std::string_view end;
  Status status = ReadEnd(ahead, std::max(kEndBytes, extent_.length / 32), buffer.get(), &end);
  if (!status.ok()) return status;
  SortedRunFooter footer;
  status = DecodeFooter(end.substr(end.size() - std::min(end.size(), kFooterBytes)), &footer);
  if (status.ok()) status = CheckFooter(footer, extent_);
  if (!status.ok()) {
    return Problem("read footer", extent_.length - std::min(extent_.length, kFooterBytes), status);
  }
  if (footer.tail_length() > end.size()) {
    status = ReadEnd(ahead, footer.tail_length(), buffer.get(), &end);
    if (!status.ok()) return status;
  }
  end.remove_prefix(end.size() - footer.tail_length());
  end.remove_suffix(footer.length);
  status = DecodeSortedRunIndex(footer, end, index);
  return status.ok() ? status : Problem("read index", footer.index_offset, status);
}

Status SortedRun::ReadEnd(const ReadAhead* ahead, uint64_t length, kvdyno::AlignedBuffer* buffer,
                          std::string_view* end) const {
  *end = ahead == nullptr ? std::string_view() : ahead->Find(extent_);
  if (!end->empty()) return Status::Ok();
  length = std::min(length, extent_.length);
  return segments_->ReadInto(extent_, extent_.length - length, length, buffer, end);
}

Status SortedRun::Problem(const char* operation, uint64_t offset_in_run,
                          const Status& status) const {
  return chunkstore::Problem(*segments_, extent_, operation, offset_in_run, status);
}

// --- point reads

Status SortedRun::Lookup(const ReadContext& context, std::string_view key, uint64_t hash,
                         Version version, std::string* value, LookupResult* result) const {
  result->found = false;
  const SortedRunIndex* index = nullptr;
  if (Status status = Index(&index); !status.ok()) return status;
  const size_t blocks = index->blocks.size();
  size_t block = index->Find(key);
  if (block == blocks || (block == 0 && key < index->first_key(0))) return Status::Ok();
  result->filtered = !index->filter.MayContain(hash);
  if (result->filtered) return Status::Ok();
  for (;;) {
    bool at_end = false;
    Status status = SearchBlock(context, extent_, index->blocks[block].place(), index, block, key,
                                version, value, result, &at_end);
    if (!status.ok() || result->found || !at_end) return status;
    // Versions of one key may go on in the next block.
    ++block;
    if (block == blocks || !index->blocks[block].continues || index->first_key(block) != key) {
      return Status::Ok();
    }
  }
}

bool SortedRun::Locate(std::string_view key, uint64_t hash, WantedBlock* block) const {
  const SortedRunIndex* index = nullptr;
  if (!Index(&index).ok()) return false;
  const size_t at = index->Find(key);
  if (at == index->blocks.size() || (at == 0 && key < index->first_key(0))) return false;
  if (!index->filter.MayContain(hash)) return false;
  block->extent = extent_;
  block->place = index->blocks[at].place();
  return true;
}

Prefetch SortedRun::Wanted(const ReadContext& context, std::string_view position,
                           size_t span) const {
  constexpr size_t kLongest = size_t{256} << 10;
  const SortedRunIndex* index = nullptr;
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

std::unique_ptr<EntryCursor> SortedRun::NewCursor(const ReadContext& context, size_t span) const {
  return std::make_unique<SortedRunCursor>(this, context, span);
}

}  // namespace chunkstore
