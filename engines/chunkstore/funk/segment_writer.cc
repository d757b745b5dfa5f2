#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "funk/segments.h"
#include "hooks/seeded_bugs.h"

namespace chunkstore {

namespace {

constexpr size_t kBufferBytes = size_t{512} << 10;  // of each of the two
static_assert(kBufferBytes % kvdyno::kDirectAlignment == 0);

}  // namespace

SegmentWriter::SegmentWriter(Segments* segments, uint64_t number,
                             std::unique_ptr<kvdyno::WritableFile> file)
    : segments_(segments),
      number_(number),
      file_(std::move(file)),
      buffer_(kBufferBytes),
      on_its_way_(kBufferBytes),
      worker_(segments->space_ != nullptr) {}

SegmentWriter::~SegmentWriter() {
  if (finished_) return;
  worker_.Wait();
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
  if (Status status = WaitForWrite(); !status.ok()) return status;
  std::swap(buffer_, on_its_way_);
  const std::string_view bytes(on_its_way_.data(), std::exchange(buffered_, 0));
  worker_.Do([this, bytes] {
    written_ = file_->Append(bytes);
    segments_->written_bytes_.fetch_add(written_.ok() ? bytes.size() : 0,
                                        std::memory_order_relaxed);
  });
  return Status::Ok();
}

Status SegmentWriter::WaitForWrite() {
  worker_.Wait();
  return written_;
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
  if (status_.ok()) status_ = WaitForWrite();
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
