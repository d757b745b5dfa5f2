#include <cassert>
#include <utility>

#include "funk/sorted_run.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/hash.h"

namespace chunkstore {

namespace {

constexpr size_t kOffsetBytes = sizeof(uint32_t);

}  // namespace

SortedRunBuilder::SortedRunBuilder(SegmentWriter* segment, const SortedRunForm& form)
    : segment_(segment), form_(form), begin_(segment->offset()) {}

uint64_t SortedRunBuilder::bytes() const { return block_begin_ + block_.size() + offsets_.size(); }

Status SortedRunBuilder::Add(const Entry& entry, bool cached) {
  assert(entries_ == 0 || Compare(last_key_, last_version_, entry.key, entry.version) < 0);
  char head_bytes[kMaxEntryHead];
  const std::string_view head(head_bytes, StoreEntryHead(head_bytes, entry));
  const size_t added = head.size() + entry.key.size() + entry.value.size() + kOffsetBytes;
  const size_t full = block_.size() + offsets_.size() + added + kBlockTrailerBytes;
  if (!block_.empty() && full > form_.block_size) {
    if (const Status status = EndBlock(); !status.ok()) return status;
  }
  const bool alone = added + kBlockTrailerBytes > form_.block_size;
  if (block_.empty()) BeginBlock(entry.key);
  if (form_.keep_keys) {
    keys_.push_back({std::string(entry.key), entry.version, {}, 0});
  }
  if (form_.filter_bits > 0 && (entries_ == 0 || entry.key != last_key_)) {
    hashes_.push_back(kvdyno::Hash64(entry.key));
  }
  last_key_.assign(entry.key);
  last_version_ = entry.version;
  ++entries_;
  cached_ += cached ? 1 : 0;
  if (alone) return AddAlone(entry, head);
  kvdyno::AppendFixed(&offsets_, static_cast<uint32_t>(block_.size()));
  block_.append(head).append(entry.key).append(entry.value);
  return Status::Ok();
}

void SortedRunBuilder::BeginBlock(std::string_view first_key) {
  BlockRef ref;
  ref.offset = block_begin_;
  ref.continues = entries_ > 0 && first_key == last_key_ ? 1 : 0;
  cached_ = 0;
  index_.blocks.push_back(ref);
  index_.keys.append(first_key);
  index_.key_ends.push_back(static_cast<uint32_t>(index_.keys.size()));
}

Status SortedRunBuilder::EndBlock() {
  const auto count = static_cast<uint32_t>(offsets_.size() / kOffsetBytes);
  if (const Status status = segment_->Append(block_); !status.ok()) return status;
  const Status status =
      AppendTrailer(offsets_, count, kvdyno::Crc32c(block_, PlaceChecksum(block_begin_)));
  block_.clear();
  offsets_.clear();
  return status;
}

// A large entry goes straight to the segment: values may be hundreds of megabytes.
Status SortedRunBuilder::AddAlone(const Entry& entry, std::string_view head) {
  uint32_t checksum = PlaceChecksum(block_begin_);
  for (const std::string_view part : {head, entry.key, entry.value}) {
    if (const Status status = segment_->Append(part); !status.ok()) return status;
    checksum = kvdyno::Crc32c(part, checksum);
  }
  const char offset[kOffsetBytes] = {};
  return AppendTrailer({offset, kOffsetBytes}, 1, checksum);
}

// `checksum` is that of the block's place and entries.
Status SortedRunBuilder::AppendTrailer(std::string_view offsets, uint32_t count,
                                       uint32_t checksum) {
  std::string trailer(offsets);
  kvdyno::AppendFixed(&trailer, count | kPlacedBlock);
  kvdyno::AppendFixed(&trailer, kvdyno::Crc32c(trailer, checksum));
  const Status status = segment_->Append(trailer);
  BlockRef& ref = index_.blocks.back();
  ref.length = static_cast<uint32_t>(segment_->offset() - begin_ - ref.offset);
  ref.entries = count & 0x7fffffff;
  const bool most_cached = 2 * cached_ > ref.entries;
  if (form_.cache != nullptr && most_cached && !block_.empty() && status.ok()) {
    (void)form_.cache->Insert(segment_->number(), begin_ + ref.offset, block_.append(trailer));
  }
  block_begin_ = ref.offset + ref.length;
  for (; placed_keys_ < keys_.size(); ++placed_keys_) keys_[placed_keys_].block = ref.place();
  return status;
}

Status SortedRunBuilder::Finish(SortedRunSummary* summary) {
  assert(entries_ > 0);
  if (!block_.empty()) {
    if (const Status status = EndBlock(); !status.ok()) return status;
  }
  index_.keys.append(last_key_);
  index_.key_ends.push_back(static_cast<uint32_t>(index_.keys.size()));
  index_.Seal();
  if (!hashes_.empty()) index_.filter = BloomFilter(hashes_, form_.filter_bits);
  SortedRunFooter footer;
  const std::string encoded = EncodeSortedRunIndex(index_, &footer);
  if (const Status status = segment_->Append(encoded); !status.ok()) return status;
  if (const Status status = segment_->Append(EncodeFooter(footer)); !status.ok()) return status;
  summary->extent = {segment_->number(), begin_, segment_->offset() - begin_, entries_};
  summary->index = std::make_shared<const SortedRunIndex>(std::move(index_));
  summary->keys = std::move(keys_);
  return Status::Ok();
}

}  // namespace chunkstore
