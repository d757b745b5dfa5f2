// Content: the bytes of one simulated file, as the process sees them and as they are durable.
// Owns both images, in pages that they share until one of them changes, and the memory of a live
// mapping. Knows no names and no power: it only decides what a loss leaves. Not thread safe, except
// that stores into the mapping may happen at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "kvdyno/base/testing/simulated_file_system.h"

namespace kvdyno::testing {

// All choices of a simulation. Its draws depend on the seed alone, on every platform.
class Choices {
 public:
  explicit Choices(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t bound) { return engine_() % bound; }
  bool Coin() { return Below(2) == 0; }
  // A coin for many things at once that may favour one side, up to never or always: whole files
  // and directories that survive or vanish are likelier to find mistakes than an even mixture.
  uint64_t Bias() { return Below(5); }
  bool Keep(uint64_t bias) { return Below(4) < bias; }

 private:
  std::mt19937_64 engine_;
};

class Content {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kSectorBytes = 512;

  uint64_t size() const { return now_.size; }
  // Blocks that a write of this range, or allocating the whole file at `size`, would add.
  uint64_t NewBlocks(uint64_t offset, uint64_t length) const;
  uint64_t blocks() const;

  // Reads what there is of the range; returns how much.
  size_t Read(uint64_t offset, size_t length, char* to) const;
  // The next three: no live mapping.
  void Write(uint64_t offset, std::string_view bytes);
  void Resize(uint64_t size);
  void Allocate();                                  // all blocks up to the size
  void Punch(uint64_t first_page, uint64_t pages);  // clipped to the file
  void Flip(uint64_t bit);                          // in both images; within the size

  // The memory that stands for the current content until as many Unmap as Map were called.
  std::shared_ptr<char[]> Map();
  void Unmap();
  bool mapped() const { return mappings_ > 0; }

  // Some pages; only a mapping knows less than all.
  struct Pages {
    uint64_t begin = 0, end = UINT64_MAX;
  };
  // The current image (of a mapping: these pages, and the size) becomes durable.
  void Sync(Pages pages = {0, UINT64_MAX});
  // What `loss` leaves becomes durable.
  void Settle(Loss loss, Choices* choices, Pages pages = {0, UINT64_MAX});
  void Revert();  // the durable image becomes current; no mapping is left

 private:
  struct alignas(16) Page {
    char bytes[kPageBytes];
  };
  // Bytes beyond the size are zeros, and so are missing pages.
  struct Image {
    uint64_t size = 0;
    std::vector<std::shared_ptr<Page>> pages;

    const char* At(uint64_t page) const;
    char* Own(uint64_t page);      // to be changed: not shared, with its content
    char* Replace(uint64_t page);  // to be overwritten: not shared, any content
    void Resize(uint64_t to);
  };
  enum Flags : uint8_t { kDirty = 1, kAllocated = 2 };

  const char* Live(uint64_t page) const;
  void MarkDirty(uint64_t page);
  void SyncMapping(Pages pages);
  void Fold();  // the mapping's bytes go back into pages
  uint64_t SettleSize(Loss loss, Choices* choices);
  // The pages that may differ from durable_, ascending.
  std::vector<uint64_t> Suspects(Pages pages) const;
  void SettleSectors(Loss loss, uint64_t limit, Pages within, Choices* choices);

  Image now_, durable_;
  std::vector<uint8_t> flags_;  // of the pages of now_
  std::vector<uint64_t>
      dirty_;           // pages that may differ from durable_, perhaps twice; not for mappings
  uint64_t floor_ = 0;  // the smallest size since the last Sync
  std::shared_ptr<char[]> memory_;
  int mappings_ = 0;
};

}  // namespace kvdyno::testing
