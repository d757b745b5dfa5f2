#include <algorithm>
#include <cassert>
#include <cstring>

#include "funk/segments.h"
#include "hooks/seeded_bugs.h"

namespace chunkstore {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
static_assert(kBufferBytes % kvdyno::kDirectAlignment == 0);

}  // namespace

SegmentWriter::SegmentWriter(Segments* segments, uint64_t number)
    : segments_(segments), number_(number), buffer_(kBufferBytes) {}

SegmentWriter::~SegmentWriter() {
  if (finished_) return;
  file_.reset();
  // What stays is found and removed by the next Recover.
  (void)segments_->RemoveFile(number_);
}

Status SegmentWriter::Append(std::string_view bytes) {
  assert(!finished_);
  offset_ += bytes.size();
  while (!bytes.empty() && status_.ok()) {
    const size_t part = std::min(bytes.size(), buffer_.size() - buffered_);
    std::memcpy(buffer_.data() + buffered_, bytes.data(), part);
    buffered_ += part;
    bytes.remove_prefix(part);
    if (buffered_ == buffer_.size()) status_ = WriteBuffer();
  }
  return status_;
}

Status SegmentWriter::WriteBuffer() {
  const Status status = file_->Append({buffer_.data(), buffered_});
  segments_->written_bytes_.fetch_add(status.ok() ? buffered_ : 0, std::memory_order_relaxed);
  buffered_ = 0;
  return status;
}

Status SegmentWriter::Finish(bool sync) {
  assert(!finished_);
  const size_t over = buffered_ % kvdyno::kDirectAlignment;
  if (over != 0) {
    const size_t padding = kvdyno::kDirectAlignment - over;
    std::memset(buffer_.data() + buffered_, 0, padding);
    buffered_ += padding;
  }
  if (status_.ok() && buffered_ > 0) status_ = WriteBuffer();
  if (sync && !Seeded(Bug::kFlushWithoutSync)) {
    if (status_.ok()) status_ = file_->Sync();
    if (status_.ok()) status_ = segments_->files_->SyncDirectory(segments_->directory_);
  }
  if (!status_.ok()) return status_;
  segments_->AddFinished(number_, offset_, file_->size());
  file_.reset();
  finished_ = true;
  return status_;
}

}  // namespace chunkstore
