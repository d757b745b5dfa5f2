#include "funk/sorted_run_cursor.h"

#include <algorithm>
#include <utility>

namespace chunkstore {

namespace {

constexpr size_t kLargestRead = size_t{1} << 20;
// With a reader: two pieces are held, one of them on its way.
constexpr size_t kPiece = size_t{512} << 10;
constexpr size_t kEnds = 2 * kvdyno::kDirectAlignment;  // what direct input may read around a piece
// Blocks of larger reads are not put into the cache: such a scan brings more than will
// be read again soon, and would drive out what point reads and short scans live on.
constexpr size_t kLargestCachedRead = size_t{64} << 10;

}  // namespace

SortedRunCursor::SortedRunCursor(const SortedRun* run, const ReadContext& context, size_t span)
    : run_(run), context_(context), span_(std::min(span, kLargestRead)) {
  // An error comes again when a Seek needs the index.
  if (context.reader != nullptr && run_->Index(context_.ahead, &index_).ok()) StartPiece(0);
}

SortedRunCursor::~SortedRunCursor() {
  if (context_.reader != nullptr) context_.reader->WaitFor(piece_.task);
}

void SortedRunCursor::Seek(std::string_view key) {
  valid_ = false;
  status_ = {};
  if (index_ == nullptr) status_ = run_->Index(context_.ahead, &index_);
  if (!status_.ok()) return;
  next_read_ = span_;
  const size_t block = index_->Find(key);
  if (block == index_->blocks.size() || !EnterBlock(block)) return;
  at_ = view_.LowerBound(key, kNewest);
  Show();
}

void SortedRunCursor::Next() {
  ++at_;
  Show();
}

void SortedRunCursor::Show() {
  valid_ = false;
  if (at_ == view_.size()) {
    if (block_ + 1 == index_->blocks.size() || !EnterBlock(block_ + 1)) return;
    at_ = 0;
  }
  entry_ = view_.at(at_);
  valid_ = true;
}

bool SortedRunCursor::EnterBlock(size_t block) {
  block_ = block;
  const BlockRef& ref = index_->blocks[block];
  const uint64_t segment = run_->extent().segment;
  const uint64_t place = run_->extent().offset + ref.offset;
  handle_ = {};
  if (ref.offset < read_offset_ || ref.offset + ref.length > read_offset_ + read_.size()) {
    if (context_.blocks != nullptr) handle_ = context_.blocks->Lookup(segment, place);
    if (handle_) {
      view_ = BlockView(handle_.bytes());
      return true;
    }
    if (!ReadFrom(block)) return false;
  }
  const std::string_view bytes = read_.substr(ref.offset - read_offset_, ref.length);
  Status status = ParseBlock(context_, run_->extent(), *index_, block, bytes, &view_);
  if (!status.ok()) return Fail(std::move(status));
  if (context_.blocks != nullptr && context_.fill_cache && read_.size() <= kLargestCachedRead) {
    (void)context_.blocks->Insert(segment, place, bytes);
  }
  return true;
}

// Whole blocks, so many that they reach the span, but one at least.
bool SortedRunCursor::ReadFrom(size_t block) {
  if (context_.reader != nullptr) return TakePiece(block);
  if (context_.ahead != nullptr) {
    read_ = context_.ahead->Find(run_->extent());
    read_offset_ = 0;
    if (!read_.empty()) return true;
  }
  const auto& blocks = index_->blocks;
  if (const Prefetch* ready = context_.prefetch;
      ready != nullptr && ready->extent == run_->extent() &&
      blocks[block].offset >= ready->offset_in_run &&
      blocks[block].offset + blocks[block].length <= ready->offset_in_run + ready->bytes.size()) {
    read_ = ready->bytes;
    read_offset_ = ready->offset_in_run;
    next_read_ = std::min(kLargestRead, next_read_ * 2);
    return true;
  }
  uint64_t length = blocks[block].length;
  for (size_t next = block + 1;
       next < blocks.size() && length < next_read_ && length + blocks[next].length <= kLargestRead;
       ++next) {
    length += blocks[next].length;
  }
  read_ = {};
  read_disk_ = true;
  Status status =
      run_->segments()->ReadInto(run_->extent(), blocks[block].offset, length, &buffer_, &read_);
  if (!status.ok()) return Fail(std::move(status));
  read_offset_ = blocks[block].offset;
  next_read_ = std::min(kLargestRead, next_read_ * 2);
  return true;
}

void SortedRunCursor::StartPiece(size_t block) {
  const auto& blocks = index_->blocks;
  uint64_t length = blocks[block].length;
  size_t next = block + 1;
  for (; next < blocks.size() && length + blocks[next].length <= kPiece; ++next) {
    length += blocks[next].length;
  }
  piece_.from = block;
  piece_.to = next;
  // Made here, where a BufferReuse of this thread has it.
  if (piece_.buffer.size() == 0) piece_.buffer = kvdyno::AlignedBuffer(kPiece + kEnds);
  piece_.task = context_.reader->Do([this, offset = blocks[block].offset, length] {
    piece_.status =
        run_->segments()->ReadInto(run_->extent(), offset, length, &piece_.buffer, &piece_.bytes);
  });
}

bool SortedRunCursor::TakePiece(size_t block) {
  context_.reader->WaitFor(piece_.task);
  if (piece_.from != block || piece_.to == 0) {
    StartPiece(block);
    context_.reader->WaitFor(piece_.task);
  }
  if (!piece_.status.ok()) return Fail(piece_.status);
  std::swap(buffer_, piece_.buffer);
  read_ = piece_.bytes;
  read_offset_ = index_->blocks[block].offset;
  read_disk_ = true;
  if (piece_.to < index_->blocks.size()) StartPiece(piece_.to);
  return true;
}

bool SortedRunCursor::Fail(Status status) {
  read_ = {};
  view_ = {};
  status_ = std::move(status);
  return false;
}

}  // namespace chunkstore
