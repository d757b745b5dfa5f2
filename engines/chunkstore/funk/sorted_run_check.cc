#include <algorithm>

#include "funk/sorted_run.h"
#include "kvdyno/base/hash.h"

namespace chunkstore {

namespace {

constexpr uint64_t kReadBytes = uint64_t{1} << 20;

// Compares blocks, in their order, with the index and with each other.
class BlockChecker {
 public:
  explicit BlockChecker(const SortedRunIndex& index) : index_(index) {}

  // What is wrong with the next block; empty: nothing.
  std::string Check(std::string_view bytes) {
    const size_t block = block_++;
    const BlockRef& ref = index_.blocks[block];
    BlockView view;
    if (std::string problem = BlockView::Parse(bytes, ref.offset, true, &view); !problem.empty())
      return problem;
    entries_ += view.size();
    if (view.size() != ref.entries) {
      return "expected " + std::to_string(ref.entries) + " entries, got " +
             std::to_string(view.size());
    }
    const std::string_view first = view.at(0).key;
    if (first != index_.first_key(block)) return "expected the index's first key, got another";
    if ((ref.continues != 0) != (block > 0 && first == last_key_)) {
      return "expected the index to know if the first key was the last before, got the contrary";
    }
    for (uint32_t i = 0; i < view.size(); ++i) {
      const Entry entry = view.at(i);
      if (any_ && Compare(last_key_, last_version_, entry.key, entry.version) >= 0) {
        return "expected entries in order, got entry " + std::to_string(i) + " out of it";
      }
      last_key_.assign(entry.key);
      last_version_ = entry.version;
      any_ = true;
      if (!index_.filter.MayContain(kvdyno::Hash64(entry.key))) {
        return "expected a filter of all keys, got one without that of entry " + std::to_string(i);
      }
    }
    if (block_ == index_.blocks.size() && last_key_ != index_.last_key()) {
      return "expected the index's last key, got another";
    }
    return {};
  }
  uint64_t entries() const { return entries_; }

 private:
  const SortedRunIndex& index_;
  size_t block_ = 0;
  uint64_t entries_ = 0;
  bool any_ = false;
  std::string last_key_;
  Version last_version_ = 0;
};

}  // namespace

void SortedRun::Check(std::vector<std::string>* problems, uint64_t* blocks,
                      uint64_t* entries) const {
  SortedRunIndex index;  // as it is on disk, whatever is in memory
  if (const Status status = ReadIndex(nullptr, &index); !status.ok()) {
    problems->push_back(status.message());
    return;
  }
  BlockChecker checker(index);
  kvdyno::AlignedBuffer buffer;
  std::string_view read;
  uint64_t read_offset = 0;
  for (const BlockRef& ref : index.blocks) {
    if (ref.offset + ref.length > read_offset + read.size()) {
      const uint64_t end = index.blocks.back().offset + index.blocks.back().length;
      const uint64_t length =
          std::min(end - ref.offset, std::max<uint64_t>(kReadBytes, ref.length));
      const Status status = segments_->ReadInto(extent_, ref.offset, length, &buffer, &read);
      if (!status.ok()) {
        problems->push_back(status.message());
        break;
      }
      read_offset = ref.offset;
    }
    ++*blocks;
    const std::string problem = checker.Check(read.substr(ref.offset - read_offset, ref.length));
    if (!problem.empty()) {
      problems->push_back(
          Problem("check block", ref.offset, Status::Corruption(problem)).message());
    }
  }
  *entries += checker.entries();
}

}  // namespace chunkstore
