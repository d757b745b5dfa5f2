#include "check/sorted_run_file.h"

#include <algorithm>
#include <utility>

#include "kvdyno/base/coding.h"

namespace chunkstore {

namespace {

// To the end of the entry at *at; false when there is none.
bool SkipEntry(std::string_view bytes, size_t* at) {
  kvdyno::Reader reader(bytes.substr(*at));
  EntryType type{};
  uint64_t key_length = 0, value_length = 0;
  Version version = 0;
  std::string_view key, value;
  reader.Fixed(&type);
  reader.Varint(&key_length);
  reader.Varint(&value_length);
  reader.Fixed(&version);
  reader.Bytes(key_length, &key);
  reader.Bytes(value_length, &value);
  *at = bytes.size() - reader.rest().size();
  return !reader.failed() && (type == EntryType::kValue || type == EntryType::kDeletion);
}

// The length of the block at `offset` of a run, with which the bytes begin, 0 if there is none. A
// block does not store its length: it ends where as many offsets follow as entries went before, with
// the right checksum.
size_t BlockLength(std::string_view bytes, uint64_t offset) {
  size_t end = 0;
  for (uint32_t count = 1; SkipEntry(bytes, &end); ++count) {
    const size_t length = end + count * sizeof(uint32_t) + kBlockTrailerBytes;
    if (length > bytes.size()) return 0;
    const char* trailer = bytes.data() + length - kBlockTrailerBytes;
    BlockView view;
    if ((kvdyno::LoadFixed<uint32_t>(trailer) & ~kPlacedBlock) == count &&
        BlockView::Parse(bytes.substr(0, length), offset, true, &view).empty()) {
      return length;
    }
  }
  return 0;
}

}  // namespace

Status SegmentFiles::Open(uint64_t segment, const kvdyno::RandomAccessFile** file) {
  auto at = open_.find(segment);
  if (at == open_.end()) {
    if (open_.size() >= kMaxOpen) open_.clear();
    std::unique_ptr<kvdyno::RandomAccessFile> opened;
    Status status = files_->OpenForRead(PathOf(segment), false, &opened);
    if (status.not_found()) {
      return Status::Corruption("expected a segment, got no such file")
          .WithPlace(PathOf(segment), 0);
    }
    if (!status.ok()) return status;
    at = open_.emplace(segment, std::move(opened)).first;
  }
  *file = at->second.get();
  return Status::Ok();
}

Status SegmentFiles::Size(uint64_t segment, uint64_t* size) {
  const kvdyno::RandomAccessFile* file = nullptr;
  Status status = Open(segment, &file);
  if (status.ok()) *size = file->size();
  return status;
}

Status SegmentFiles::Read(uint64_t segment, uint64_t offset, uint64_t length, std::string* bytes) {
  const kvdyno::RandomAccessFile* file = nullptr;
  Status status = Open(segment, &file);
  if (!status.ok()) return status;
  // Before anything is allocated: lengths may come from damaged bytes.
  const uint64_t left = offset <= file->size() ? file->size() - offset : 0;
  size_t read = 0;
  if (length <= left) {
    bytes->resize(length);
    status = file->Read(offset, length, bytes->data(), &read);
    if (!status.ok()) return status;
  }
  if (read == length) return Status::Ok();
  return Status::Corruption("expected " + std::to_string(length) + " bytes, got " +
                            std::to_string(length <= left ? read : left))
      .WithPlace(PathOf(segment), offset);
}

Status SortedRunFile::Open(SegmentFiles* segments, const ExtentRef& extent,
                           std::unique_ptr<SortedRunFile>* run) {
  std::unique_ptr<SortedRunFile> opened(new SortedRunFile(segments, extent));
  Status status = opened->ReadIndex();
  if (status.ok()) *run = std::move(opened);
  return status;
}

Status SortedRunFile::OpenByBlocks(SegmentFiles* segments, const ExtentRef& extent,
                                   std::unique_ptr<SortedRunFile>* run) {
  uint64_t size = 0;
  Status status = segments->Size(extent.segment, &size);
  if (!status.ok()) return status;
  const uint64_t left = size - std::min(size, extent.offset);
  std::string bytes;
  status = segments->Read(extent.segment, extent.offset, std::min(extent.length, left), &bytes);
  if (!status.ok()) return status;
  std::unique_ptr<SortedRunFile> opened(new SortedRunFile(segments, extent));
  std::string last_key;
  const std::string_view blocks = bytes;
  for (size_t at = 0;;) {
    const size_t length = BlockLength(blocks.substr(at), at);
    if (length == 0) break;
    opened->AddBlock(blocks.substr(at, length), &last_key);
    at += length;
  }
  SortedRunIndex& index = opened->index_;
  if (index.blocks.empty()) {
    return Status::Corruption("expected a block, got none that is whole")
        .WithPlace(segments->PathOf(extent.segment), extent.offset);
  }
  index.keys.append(last_key);
  index.key_ends.push_back(static_cast<uint32_t>(index.keys.size()));
  index.Seal();
  *run = std::move(opened);
  return Status::Ok();
}

void SortedRunFile::AddBlock(std::string_view bytes, std::string* last_key) {
  const BlockView view(bytes);
  const std::string_view first_key = view.at(0).key;
  BlockRef ref;
  if (!index_.blocks.empty()) {
    ref.offset = index_.blocks.back().offset + index_.blocks.back().length;
    ref.continues = first_key == *last_key ? 1 : 0;
  }
  ref.length = static_cast<uint32_t>(bytes.size());
  ref.entries = view.size() & 0x7fffffff;
  index_.blocks.push_back(ref);
  index_.keys.append(first_key);
  index_.key_ends.push_back(static_cast<uint32_t>(index_.keys.size()));
  last_key->assign(view.at(view.size() - 1).key);
}

Status SortedRunFile::ReadIndex() {
  const std::string path = segments_->PathOf(extent_.segment);
  const uint64_t end_length = std::min<uint64_t>(extent_.length, kFooterBytes);
  const uint64_t end_at = extent_.offset + extent_.length - end_length;
  std::string end, bytes;
  Status status = segments_->Read(extent_.segment, end_at, end_length, &end);
  if (!status.ok()) return status;
  SortedRunFooter footer;
  status = DecodeFooter(end, &footer);
  if (status.ok()) status = CheckFooter(footer, extent_);
  if (!status.ok()) {
    return Status(status.code(), "run footer: " + status.message()).WithPlace(path, end_at);
  }
  const uint64_t index_at = extent_.offset + footer.index_offset;
  status = segments_->Read(extent_.segment, index_at, footer.tail_length() - footer.length, &bytes);
  if (!status.ok()) return status;
  return DecodeSortedRunIndex(footer, bytes, &index_).WithPlace(path, index_at);
}

Status SortedRunFile::ReadBlock(size_t block, std::string* bytes, BlockView* view) const {
  const BlockRef& ref = index_.blocks[block];
  Status status = segments_->Read(extent_.segment, OffsetOf(block), ref.length, bytes);
  if (!status.ok()) return status;
  std::string problem = BlockView::Parse(*bytes, ref.offset, true, view);
  if (problem.empty() && view->size() != ref.entries) {
    problem =
        "expected " + std::to_string(ref.entries) + " entries, got " + std::to_string(view->size());
  }
  if (problem.empty() && view->at(0).key != index_.first_key(block)) {
    problem = "expected the first key that the index holds, got another one";
  }
  if (problem.empty()) return Status::Ok();
  return Status::Corruption("block: " + problem)
      .WithPlace(segments_->PathOf(extent_.segment), OffsetOf(block));
}

std::string Line(const Status& status) {
  std::string line;
  if (!status.file().empty()) {
    line = status.file() + " at offset " + std::to_string(status.offset()) + ": ";
  }
  if (status.code() != Code::kCorruption) line += std::string(CodeName(status.code())) + ": ";
  return line + status.message();
}

}  // namespace chunkstore
