#include "index/disk_shard.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace sampling {

using kvdyno::MutexLock;

class DiskShard final : public Shard {
 public:
  DiskShard(DiskShardWriter* writer, std::unique_ptr<PageFile> file)
      : Shard(writer->kind_),
        scratch_(writer->scratch_),
        file_(std::move(file)),
        entries_(writer->entries_),
        summaries_(std::move(writer->summaries_)),
        structure_(kind_.build(summaries_, writer->mass_, std::pmr::get_default_resource())) {
    mass_ = writer->mass_;
    tombstones_ = std::move(writer->tombstones_);
    tombstones_.MakeFilter(writer->false_positives_);
  }

  size_t size() const override { return entries_; }
  std::unique_ptr<Run> Entries(uint64_t first, uint64_t last) const override;
  std::unique_ptr<Selection> Select(uint64_t first, uint64_t last) const override {
    const size_t page = FirstPage(first);
    return structure_->Select(page == 0 ? 0 : summaries_[page].key, last);
  }
  // Each page stands for as many entries, whether or not it is full.
  double unit() const override { return kind_.weighted ? 1 : double{Page::kEntries}; }
  const PageFile* file() const override { return file_.get(); }
  Entry Pick(const Page& page, Random* random) const override;

  void Approach(uint64_t, int) const override {}
  std::span<const Entry> Near(uint64_t) const override { return {}; }
  Status FindIn(std::span<const Entry> near, uint64_t key, uint64_t value,
                std::optional<Found>* found) const override;

  size_t bytes() const override {
    constexpr size_t kTagBytes = 48;  // a node of the map and its place
    return summaries_.capacity() * sizeof(Entry) + structure_->bytes() + tombstones_.bytes() +
           tagged() * kTagBytes;
  }
  uint64_t disk_bytes() const override { return file_->bytes(); }

 private:
  friend class PageRun;

  // The first page that may hold the key: the last one that begins below it.
  size_t FirstPage(uint64_t key) const {
    const auto above = std::partition_point(summaries_.begin(), summaries_.end(),
                                            [&](const Entry& page) { return page.key < key; });
    return above == summaries_.begin() ? 0 : static_cast<size_t>(above - summaries_.begin()) - 1;
  }
  Entry At(const Page& page, size_t slot) const {
    Entry entry = page.At(slot);
    if (tagged() > 0 && !entry.tombstone()) entry.deleted = TagOf(page.number, slot);
    return entry;
  }
  uint64_t TagOf(size_t page, size_t slot) const {
    const MutexLock lock(mutex_);
    const auto tag = tags_.find(static_cast<uint32_t>(page * Page::kEntries + slot));
    return tag == tags_.end() ? Entry::kNever : tag->second;
  }
  void Mark(size_t position, uint64_t time) override {
    const MutexLock lock(mutex_);
    tags_[static_cast<uint32_t>(position)] = time;
  }

  const std::shared_ptr<Scratch> scratch_;
  const std::unique_ptr<PageFile> file_;
  const uint64_t entries_;
  const std::vector<Entry> summaries_;
  const std::unique_ptr<Structure> structure_;
  mutable kvdyno::Mutex mutex_;
  std::unordered_map<uint32_t, uint64_t> tags_ KVDYNO_GUARDED_BY(mutex_);  // when, by position
};

// Reads a shard's pages in order, past the cache.
class PageRun final : public Run {
 public:
  PageRun(const DiskShard& shard, size_t begin, size_t end)
      : shard_(shard),
        at_(begin),
        end_(end),
        size_(std::min(shard.size(), end * Page::kEntries) - begin * Page::kEntries) {}

  Status Next(std::span<const Entry>* block) override {
    entries_.clear();
    const size_t count = std::min(DiskShardWriter::kPagesAtOnce, end_ - at_);
    if (count > 0) {
      pages_.resize(count);
      Status status = shard_.file_->Read(static_cast<uint32_t>(at_), pages_);
      if (!status.ok()) return status;
      at_ += count;
      for (const Page& page : pages_) {
        for (size_t slot = 0; slot < page.count; ++slot) entries_.push_back(shard_.At(page, slot));
      }
    }
    *block = entries_;
    return Status::Ok();
  }
  size_t size() const override { return size_; }

 private:
  const DiskShard& shard_;
  size_t at_;
  const size_t end_;
  const size_t size_;
  std::vector<Page> pages_;
  std::vector<Entry> entries_;
};

std::unique_ptr<Run> DiskShard::Entries(uint64_t first, uint64_t last) const {
  const size_t begin = FirstPage(first);
  const auto end =
      std::partition_point(summaries_.begin() + static_cast<ptrdiff_t>(begin), summaries_.end(),
                           [&](const Entry& page) { return page.key <= last; });
  return std::make_unique<PageRun>(*this, begin, static_cast<size_t>(end - summaries_.begin()));
}

Entry DiskShard::Pick(const Page& page, Random* random) const {
  if (!kind_.weighted) {
    const size_t slot = random->Below(Page::kEntries);
    return slot < page.count ? At(page, slot) : Entry(Record{0, 0, 0}, Entry::kTombstone);
  }
  while (true) {  // a product that rounds up to the mass lies behind the last entry
    const double at = random->Real() * summaries_[page.number].weight;
    double sum = 0;
    for (size_t slot = 0; slot < page.count; ++slot) {
      sum += std::max(page.records[slot].weight, 0.0);
      if (at < sum) return At(page, slot);
    }
  }
}

Status DiskShard::FindIn(std::span<const Entry>, uint64_t key, uint64_t value,
                         std::optional<Found>* found) const {
  found->reset();
  const auto above = std::partition_point(
      summaries_.begin(), summaries_.end(),
      [&](const Entry& page) { return std::tie(page.key, page.value) <= std::tie(key, value); });
  if (above == summaries_.begin()) return Status::Ok();
  const auto number = static_cast<uint32_t>(above - summaries_.begin() - 1);
  PageCache::Want want{file_.get(), number, nullptr};
  if (Status status = scratch_->cache().Get({&want, 1}); !status.ok()) return status;
  const Page& page = *want.found;
  for (size_t slot = 0; slot < page.count; ++slot) {
    const Record& record = page.records[slot];
    if (record.key != key || record.value != value || page.At(slot).tombstone()) continue;
    *found =
        Found{size_t{number} * Page::kEntries + slot, record.weight, At(page, slot).deleted_at()};
  }
  return Status::Ok();
}

// --- writing

DiskShardWriter::~DiskShardWriter() {
  if (path_.empty()) return;
  file_.reset();
  // What cannot be removed is removed when the directory is next opened.
  [[maybe_unused]] const Status removed = scratch_->files()->Remove(path_);
}

Status DiskShardWriter::Add(const Entry& entry) {
  const size_t slot = entries_ % Page::kEntries;
  if (slot == 0) {
    if (pages_.size() == kPagesAtOnce) {
      if (Status status = WritePages(); !status.ok()) return status;
    }
    pages_.emplace_back();
    summaries_.emplace_back(Record{entry.key, entry.value, 0}, Entry::kNever);
  }
  pages_.back().records[slot] = entry;
  if (entry.tombstone()) {
    pages_.back().records[slot].weight = Page::kTombstone;
    tombstones_.Add(entry);
  }
  pages_.back().count = static_cast<uint32_t>(slot + 1);
  summaries_.back().weight += kind_.Counts(entry);
  ++entries_;
  return Status::Ok();
}

Status DiskShardWriter::WritePages() {
  if (path_.empty()) {
    number_ = scratch_->NextNumber();
    path_ = scratch_->PathOf(number_);
    Status status = scratch_->files()->Create(path_, /*direct=*/true, &file_);
    if (!status.ok()) return status;
  }
  const size_t written = summaries_.size() - pages_.size();
  for (size_t i = 0; i < pages_.size(); ++i) {
    pages_[i].number = static_cast<uint32_t>(written + i);
    pages_[i].shard = number_;
    pages_[i].Seal();
  }
  Status status = Write(pages_.data(), pages_.size() * sizeof(Page));
  if (status.ok()) scratch_->NoteWritten(pages_.size());
  pages_.clear();
  return status;
}

Status DiskShardWriter::Write(const void* data, size_t bytes) {
  return file_->Append(std::string_view(static_cast<const char*>(data), bytes));
}

Status DiskShardWriter::Finish(std::shared_ptr<Shard>* shard) {
  shard->reset();
  if (entries_ == 0) return Status::Ok();
  for (const Entry& page : summaries_) mass_ += page.weight;
  Status status = WritePages();
  const auto footer = std::make_unique<Footer>();
  footer->magic = Footer::kMagic;
  footer->version = Footer::kVersion;
  footer->entries = entries_;
  footer->pages = static_cast<uint32_t>(summaries_.size());
  footer->shard = number_;
  footer->Seal();
  if (status.ok()) status = Write(footer.get(), sizeof *footer);
  // No process needs the file after a crash. A disk that takes writes late, and fails, must fail while the shards that
  // were merged are still there.
  if (status.ok()) status = file_->Sync();
  if (!status.ok()) return status;
  file_.reset();
  std::unique_ptr<PageFile> opened;
  status = PageFile::Open(scratch_->files(), std::exchange(path_, {}), number_, footer->pages,
                          entries_, &opened);
  if (status.ok()) *shard = std::make_shared<DiskShard>(this, std::move(opened));
  return status;
}

}  // namespace sampling
