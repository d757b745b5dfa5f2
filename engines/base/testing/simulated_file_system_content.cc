#include "simulated_file_system_content.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace kvdyno::testing {
namespace {

constexpr uint64_t kPage = Content::kPageBytes;
constexpr uint64_t kSector = Content::kSectorBytes;
alignas(16) constexpr char kZeros[kPage] = {};

uint64_t PagesOf(uint64_t size) { return (size + kPage - 1) / kPage; }

// The three below touch memory into which others may store meanwhile, as the kernel does when it
// writes a mapped page back. That is no mistake of the stores, so the thread sanitizer is not to
// see it; `volatile` keeps the compiler from calling memcpy, which it would see.
#define KVDYNO_LIKE_THE_KERNEL [[gnu::noinline]] __attribute__((no_sanitize("thread")))

KVDYNO_LIKE_THE_KERNEL bool SamePage(const char* live, const char* stored) {
  using Word [[gnu::may_alias]] = uint64_t;
  const auto* a = reinterpret_cast<const Word*>(live);
  const auto* b = reinterpret_cast<const Word*>(stored);
  uint64_t difference = 0;
  for (size_t i = 0; i < kPage / sizeof(Word); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

KVDYNO_LIKE_THE_KERNEL void CopyLive(char* to, const char* live, size_t length) {
  using Word [[gnu::may_alias]] = uint64_t;
  while (length > 0 && reinterpret_cast<uintptr_t>(live) % sizeof(Word) != 0) {
    *to++ = *const_cast<const volatile char*>(live++);
    --length;
  }
  for (; length >= sizeof(Word); length -= sizeof(Word)) {
    const Word word = *reinterpret_cast<const volatile Word*>(live);
    std::memcpy(to, &word, sizeof(word));
    live += sizeof(word);
    to += sizeof(word);
  }
  for (; length > 0; --length) *to++ = *const_cast<const volatile char*>(live++);
}

KVDYNO_LIKE_THE_KERNEL void ZeroLive(char* live, size_t length) {
  for (size_t i = 0; i < length; ++i) *const_cast<volatile char*>(live + i) = 0;
}

KVDYNO_LIKE_THE_KERNEL void FlipLive(char* live, int bit) {
  *live = static_cast<char>(*live ^ (1 << bit));
}

}  // namespace

const char* Content::Image::At(uint64_t page) const {
  return page < pages.size() && pages[page] ? pages[page]->bytes : kZeros;
}

char* Content::Image::Own(uint64_t page) {
  std::shared_ptr<Page>& own = pages[page];
  if (own && own.use_count() == 1) return own->bytes;
  auto copy = std::make_shared_for_overwrite<Page>();
  std::memcpy(copy->bytes, At(page), kPage);
  own = std::move(copy);
  return own->bytes;
}

char* Content::Image::Replace(uint64_t page) {
  std::shared_ptr<Page>& to = pages[page];
  if (!to || to.use_count() > 1) to = std::make_shared_for_overwrite<Page>();
  return to->bytes;
}

void Content::Image::Resize(uint64_t to) {
  pages.resize(PagesOf(to));
  if (to < size && to % kPage != 0 && pages.back()) {
    std::memset(Own(pages.size() - 1) + to % kPage, 0, kPage - to % kPage);
  }
  size = to;
}

uint64_t Content::NewBlocks(uint64_t offset, uint64_t length) const {
  uint64_t count = 0;
  for (uint64_t page = offset / kPage; page < PagesOf(offset + length); ++page) {
    if (page >= flags_.size() || (flags_[page] & kAllocated) == 0) ++count;
  }
  return count;
}

uint64_t Content::blocks() const {
  return static_cast<uint64_t>(std::count_if(
      flags_.begin(), flags_.end(), [](uint8_t flags) { return (flags & kAllocated) != 0; }));
}

const char* Content::Live(uint64_t page) const {
  return memory_ ? memory_.get() + page * kPage : now_.At(page);
}

void Content::MarkDirty(uint64_t page) {
  if ((flags_[page] & kDirty) == 0) dirty_.push_back(page);
  flags_[page] |= kDirty;
}

size_t Content::Read(uint64_t offset, size_t length, char* to) const {
  if (offset >= now_.size) return 0;
  length = std::min<uint64_t>(length, now_.size - offset);
  for (size_t done = 0; done < length;) {
    const uint64_t within = (offset + done) % kPage;
    const size_t part = std::min<uint64_t>(kPage - within, length - done);
    const char* const from = Live((offset + done) / kPage) + within;
    if (memory_) {
      CopyLive(to + done, from, part);
    } else {
      std::memcpy(to + done, from, part);
    }
    done += part;
  }
  return length;
}

void Content::Write(uint64_t offset, std::string_view bytes) {
  assert(!mapped());
  if (offset + bytes.size() > now_.size) Resize(offset + bytes.size());
  while (!bytes.empty()) {
    const uint64_t page = offset / kPage;
    const uint64_t within = offset % kPage;
    const size_t part = std::min<uint64_t>(kPage - within, bytes.size());
    char* const to = part == kPage ? now_.Replace(page) : now_.Own(page);
    std::memcpy(to + within, bytes.data(), part);
    flags_[page] |= kAllocated;
    MarkDirty(page);
    offset += part;
    bytes.remove_prefix(part);
  }
}

void Content::Resize(uint64_t size) {
  assert(!mapped());
  const bool cuts_page = size < now_.size && size % kPage != 0;
  now_.Resize(size);
  flags_.resize(now_.pages.size());
  if (cuts_page) MarkDirty(size / kPage);
  floor_ = std::min(floor_, size);
}

void Content::Allocate() {
  for (uint8_t& flags : flags_) flags |= kAllocated;
}

void Content::Punch(uint64_t first_page, uint64_t pages) {
  const uint64_t end = std::min<uint64_t>(flags_.size(), first_page + pages);
  for (uint64_t page = first_page; page < end; ++page) {
    if (memory_) ZeroLive(memory_.get() + page * kPage, kPage);
    now_.pages[page].reset();
    MarkDirty(page);
    flags_[page] &= static_cast<uint8_t>(~kAllocated);
  }
}

void Content::Flip(uint64_t bit) {
  const uint64_t offset = bit / 8;
  const uint64_t page = offset / kPage;
  const auto flip = [&](char* bytes) {
    FlipLive(bytes + offset % kPage, static_cast<int>(bit % 8));
  };
  if (memory_) {
    flip(memory_.get() + page * kPage);
    if (offset < durable_.size) flip(durable_.Own(page));
    return;
  }
  const bool shared = page < durable_.pages.size() && durable_.pages[page] == now_.pages[page];
  flip(now_.Own(page));
  if (offset >= durable_.size) return;
  if (shared) {
    durable_.pages[page] = now_.pages[page];
  } else {
    flip(durable_.Own(page));
  }
}

std::shared_ptr<char[]> Content::Map() {
  if (++mappings_ > 1) return memory_;
  const size_t bytes = now_.pages.size() * kPage;
  auto* const data = static_cast<char*>(std::aligned_alloc(kPage, bytes));
  if (data == nullptr) throw std::bad_alloc();
  memory_ = std::shared_ptr<char[]>(data, std::free);
  for (uint64_t page = 0; page < now_.pages.size(); ++page) {
    std::memcpy(data + page * kPage, now_.At(page), kPage);
    now_.pages[page].reset();
  }
  return memory_;
}

void Content::Unmap() {
  if (--mappings_ == 0) Fold();
}

void Content::Fold() {
  for (uint64_t page = 0; page < now_.pages.size(); ++page) {
    // The durable image holds no page that was cut off since the last Sync.
    const bool comparable = (page + 1) * kPage <= floor_;
    if (comparable && SamePage(Live(page), durable_.At(page))) {
      now_.pages[page] = durable_.pages[page];
      continue;
    }
    MarkDirty(page);
    if (SamePage(Live(page), kZeros)) continue;
    char* const to = now_.Replace(page);
    const uint64_t length = std::min(kPage, now_.size - page * kPage);
    CopyLive(to, Live(page), length);
    std::memset(to + length, 0, kPage - length);
  }
  memory_.reset();
}

void Content::SyncMapping(Pages pages) {
  const uint64_t end = std::min<uint64_t>(pages.end, now_.pages.size());
  for (uint64_t page = pages.begin; page < end; ++page) {
    if (SamePage(Live(page), durable_.At(page))) continue;
    // What lies in the mapping beyond the file's end never gets to the file.
    CopyLive(durable_.Own(page), Live(page), std::min(kPage, now_.size - page * kPage));
  }
}

void Content::Sync(Pages pages) {
  if (floor_ < durable_.size) durable_.Resize(floor_);
  durable_.Resize(now_.size);
  floor_ = now_.size;
  if (memory_) return SyncMapping(pages);
  for (const uint64_t page : dirty_) {
    if (page >= now_.pages.size()) continue;  // cut off since
    durable_.pages[page] = now_.pages[page];
    flags_[page] &= static_cast<uint8_t>(~kDirty);
  }
  dirty_.clear();
}

void Content::Settle(Loss loss, Choices* choices, Pages pages) {
  if (loss == Loss::kDropAll) return;
  if (loss == Loss::kKeepAll) return Sync(pages);
  const bool shrunk = floor_ < durable_.size;
  if (shrunk && choices->Coin()) {
    // The truncation is lost, and with it whatever took the place of the bytes that were cut off.
    SettleSectors(loss, floor_ - floor_ % kSector, pages, choices);
    return;
  }
  if (shrunk) durable_.Resize(floor_);
  const uint64_t size = SettleSize(loss, choices);
  durable_.Resize(size);
  floor_ = size;
  SettleSectors(loss, size, pages, choices);
}

uint64_t Content::SettleSize(Loss loss, Choices* choices) {
  const uint64_t low = floor_;
  const uint64_t high = now_.size;
  switch (choices->Below(4)) {
    case 0:
      return low;
    case 1:
      return high;
    default: {
      const uint64_t size = low + choices->Below(high - low + 1);
      return loss == Loss::kTorn ? size : std::max(low, size - size % kSector);
    }
  }
}

std::vector<uint64_t> Content::Suspects(Pages pages) const {
  std::vector<uint64_t> suspects;
  if (memory_) {
    const uint64_t end = std::min<uint64_t>(pages.end, now_.pages.size());
    for (uint64_t page = pages.begin; page < end; ++page) suspects.push_back(page);
    return suspects;
  }
  suspects = dirty_;
  std::sort(suspects.begin(), suspects.end());
  suspects.erase(std::unique(suspects.begin(), suspects.end()), suspects.end());
  return suspects;
}

void Content::SettleSectors(Loss loss, uint64_t limit, Pages within, Choices* choices) {
  const uint64_t bias = choices->Bias();
  uint64_t last_offset = 0;
  uint64_t last_length = 0;  // 0: no sector survived
  char last_before[kSector] = {};
  for (const uint64_t page : Suspects(within)) {
    if (page * kPage >= limit || page >= now_.pages.size()) break;
    if (SamePage(Live(page), durable_.At(page))) continue;
    for (uint64_t at = page * kPage; at < std::min(limit, (page + 1) * kPage); at += kSector) {
      const uint64_t length = std::min(kSector, std::min(limit, now_.size) - at);
      char sector[kSector];
      CopyLive(sector, Live(page) + at % kPage, length);
      const char* const before = durable_.At(page) + at % kPage;
      if (std::memcmp(sector, before, length) == 0 || !choices->Keep(bias)) continue;
      std::memcpy(last_before, before, length);
      last_offset = at;
      last_length = length;
      std::memcpy(durable_.Own(page) + at % kPage, sector, length);
    }
  }
  if (loss == Loss::kTorn && last_length > 0 && choices->Coin()) {
    const uint64_t kept = choices->Below(last_length);
    std::memcpy(durable_.Own(last_offset / kPage) + last_offset % kPage + kept, last_before + kept,
                last_length - kept);
  }
}

void Content::Revert() {
  memory_.reset();
  mappings_ = 0;
  now_ = durable_;
  dirty_.clear();
  floor_ = now_.size;
  flags_.resize(now_.pages.size());
  for (uint64_t page = 0; page < flags_.size(); ++page) {
    flags_[page] &= kAllocated;
    if (now_.pages[page]) flags_[page] |= kAllocated;
  }
}

}  // namespace kvdyno::testing
