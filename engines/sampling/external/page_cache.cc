#include "external/page_cache.h"

#include <algorithm>

namespace sampling {

using kvdyno::FileRead;
using kvdyno::MutexLock;

Status PageCache::Get(std::span<Want> wants) {
  std::vector<Want*> missing;
  {
    const MutexLock lock(mutex_);
    for (Want& want : wants) {
      want.found = Find(KeyOf(want));
      if (!want.found) missing.push_back(&want);
    }
  }
  hits_.fetch_add(wants.size() - missing.size(), std::memory_order_relaxed);
  return missing.empty() ? Status::Ok() : ReadMissing(missing);
}

Status PageCache::ReadMissing(std::span<Want*> missing) {
  std::sort(missing.begin(), missing.end(),
            [](const Want* a, const Want* b) { return KeyOf(*a) < KeyOf(*b); });
  std::vector<FileRead> reads;
  std::vector<std::shared_ptr<Page>> pages;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (i > 0 && KeyOf(*missing[i]) == KeyOf(*missing[i - 1])) continue;
    pages.emplace_back(new Page);
    reads.push_back({.file = missing[i]->file->file(),
                     .offset = uint64_t{missing[i]->page} * sizeof(Page),
                     .length = sizeof(Page),
                     .buffer = reinterpret_cast<char*>(pages.back().get()),
                     .read = 0,
                     .status = {}});
  }
  missing.front()->file->files()->ReadTogether(&reads);
  read_.fetch_add(reads.size(), std::memory_order_relaxed);

  size_t at = 0;
  for (size_t i = 0; i < missing.size(); ++i) {
    const bool again = i > 0 && KeyOf(*missing[i]) == KeyOf(*missing[i - 1]);
    if (again) {
      missing[i]->found = missing[i - 1]->found;
      continue;
    }
    const FileRead& read = reads[at];
    if (!read.status.ok()) return read.status;
    Status status = missing[i]->file->Check(*pages[at], missing[i]->page, read.read);
    if (!status.ok()) return status;
    missing[i]->found = pages[at++];
    const MutexLock lock(mutex_);
    Insert(KeyOf(*missing[i]), missing[i]->found);
  }
  return Status::Ok();
}

void PageCache::SetBytes(size_t bytes) {
  const MutexLock lock(mutex_);
  most_ = bytes / kFrameBytes;
  Evict();
}

PagePtr PageCache::Find(uint64_t key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return nullptr;
  frames_.splice(frames_.begin(), frames_, place->second);
  return place->second->page;
}

void PageCache::Insert(uint64_t key, const PagePtr& page) {
  if (places_.count(key) != 0) return;  // another thread read it as well
  frames_.push_front({key, page});
  places_[key] = frames_.begin();
  Evict();
}

void PageCache::Evict() {
  while (frames_.size() > most_) {
    places_.erase(frames_.back().key);
    frames_.pop_back();
  }
  held_.store(frames_.size(), std::memory_order_relaxed);
}

}  // namespace sampling
