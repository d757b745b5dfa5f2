#include <algorithm>
#include <cassert>
#include <cstring>

#include "hooks/moments.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/hash.h"
#include "stage/ring.h"

namespace chunkstore {
namespace {

// One 64-byte entry of the stage gets ten bits of the filter, which then takes 1/51 of it.
size_t FilterBytes(size_t capacity) { return capacity / 64 * 10 / 8; }

size_t FirstArenaBlock(size_t capacity) {
  return std::clamp<size_t>(capacity / 64, 4096, Arena::kLargestBlock);
}

Status WriteSpill(kvdyno::FileSystem* files, const std::string& directory, const std::string& path,
                  std::string_view payload) {
  std::unique_ptr<kvdyno::WritableFile> file;
  Status status = files->Create(path, /*direct=*/false, &file);
  if (status.ok()) status = file->Append(payload);
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = files->SyncDirectory(directory);
  return status;
}

}  // namespace

Stage::Stage(uint64_t sequence, Version first, Place place, std::vector<std::string> separators)
    : sequence_(sequence),
      first_(first),
      place_(std::move(place)),
      capacity_(place_.size - kRecordsAt),
      last_(first - 1),
      durable_(first - 1),
      arena_(FirstArenaBlock(capacity_)),
      index_(&arena_, std::move(separators)),
      filter_(FilterBytes(capacity_)) {}

size_t Stage::memory() const {
  return place_.size + arena_.bytes() + filter_.memory() +
         spilled_bytes_.load(std::memory_order_relaxed);
}

size_t Stage::touched_memory() const {
  const size_t touched = std::max(kRecordsAt + bytes(), populated_.load(std::memory_order_relaxed));
  return memory() - place_.size + std::min(place_.size, touched);
}

void Stage::ForgetUnused() {
  if (place_.file == nullptr) return;
  const size_t reached = std::max(kRecordsAt + bytes(), populated_.load(std::memory_order_relaxed));
  const size_t from = std::max(reached, expected_);
  place_.file->Forget(from, place_.size - std::min(place_.size, from));
}

bool Stage::HasRoom(size_t payload_bytes) const {
  const bool spills = payload_bytes > spill_limit();
  // What is spilled stays in memory: it fills a stage like everything else, but for the first.
  const size_t held = spilled_bytes_.load(std::memory_order_relaxed);
  if (!empty() && held + (spills ? payload_bytes : 0) > capacity_) return false;
  return RecordSize(spills ? kSpillRefBytes : payload_bytes) <= capacity_ - bytes();
}

void Stage::Advance(Version last, size_t bytes) {
  used_.store(used_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  last_.store(last, std::memory_order_release);
}

Status Stage::Append(Version first, uint32_t count, std::string_view payload,
                     std::string_view* stored) {
  assert(first == last() + 1 && count > 0 && HasRoom(payload.size()));
  if (payload.size() > spill_limit()) return AppendSpilled(first, count, payload, stored);
  if (Status status = Populate(RecordSize(payload.size())); !status.ok()) return status;
  EncodeRecord(place_.data + kRecordsAt + bytes(), first, count, 0, payload, stored);
  Advance(first + count - 1, RecordSize(payload.size()));
  return Status::Ok();
}

// A window at a time, which also spares most of the page faults.
Status Stage::Populate(size_t record_bytes) {
  constexpr size_t kWindow = size_t{64} << 10;
  const size_t end = kRecordsAt + bytes() + record_bytes;
  const size_t from = populated_.load(std::memory_order_relaxed);
  if (place_.file == nullptr || end <= from) return Status::Ok();
  const size_t to = std::min(place_.size, end + kWindow);
  if (Status status = place_.file->Populate(from, to - from); !status.ok()) return status;
  populated_.store(to, std::memory_order_relaxed);
  if (to + kAhead / 2 > expected_) {
    place_.file->ReadAhead(expected_, to + kAhead - expected_);
    expected_ = to + kAhead;
  }
  return Status::Ok();
}

Status Stage::AppendSpilled(Version first, uint32_t count, std::string_view payload,
                            std::string_view* stored) {
  // The file before the record that refers to it, so that no record lacks its file after a power
  // loss.
  if (place_.files != nullptr) {
    const std::string path = place_.directory + "/" + SpillName(first);
    if (Status status = WriteSpill(place_.files, place_.directory, path, payload); !status.ok()) {
      (void)place_.files->Remove(path);  // what stays is an orphan, which the next Open removes
      return status;
    }
  }
  if (Status status = Populate(RecordSize(kSpillRefBytes)); !status.ok()) return status;
  char reference[kSpillRefBytes];
  StoreSpillRef(reference, {first, payload.size(), kvdyno::Crc32c(payload)});
  std::string_view in_stage;
  EncodeRecord(place_.data + kRecordsAt + bytes(), first, count, kSpilled,
               {reference, kSpillRefBytes}, &in_stage);
  *stored = KeepSpilled(first, payload);
  Advance(first + count - 1, RecordSize(kSpillRefBytes));
  return Status::Ok();
}

std::string_view Stage::KeepSpilled(uint64_t number, std::string_view payload) {
  std::unique_ptr<char[]> copy(new char[payload.size()]);
  std::memcpy(copy.get(), payload.data(), payload.size());
  const std::string_view kept(copy.get(), payload.size());
  spilled_.emplace_back(number, std::move(copy));
  spilled_bytes_.fetch_add(payload.size(), std::memory_order_relaxed);
  return kept;
}

void Stage::Adopt(const Record& record, std::string_view payload) {
  const std::string_view stored =
      (record.flags & kSpilled) != 0
          ? KeepSpilled(record.first, payload)
          : std::string_view(place_.data + kRecordsAt + bytes() + kRecordHeaderBytes,
                             payload.size());
  Advance(record.first + record.count - 1, record.size);
  Index(record.first, stored);
}

void Stage::Index(Version first, std::string_view stored) {
  OperationReader reader(stored, first);
  Entry entry;
  while (reader.Next(&entry)) {
    filter_.Add(kvdyno::Hash64(entry.key));
    index_.Insert(entry);
    Reached(Moment::kOperationEntered);
  }
  assert(!reader.malformed());
}

Status Stage::Sync() {
  if (place_.file == nullptr) return Status::Ok();
  // Those who wait here find, as a rule, that their predecessor has synchronised for them.
  const kvdyno::MutexLock lock(sync_mutex_);
  if (!sync_error_.ok()) return sync_error_;
  const Version covered = last();
  if (retired_ || durable() >= covered) return Status::Ok();
  const size_t end = used_.load(std::memory_order_acquire);  // at or after the end of `covered`
  sync_error_ = place_.file->Sync(kRecordsAt + synced_, end - synced_);
  if (!sync_error_.ok()) return sync_error_;
  synced_ = end;
  const size_t half_full = (kRecordsAt + end) / kvdyno::kDirectAlignment * kvdyno::kDirectAlignment;
  size_t populated = populated_.load(std::memory_order_relaxed);
  while (populated > half_full && !populated_.compare_exchange_weak(populated, half_full)) {
  }
  // A lower bound for recovery; it becomes durable some time later.
  StoreMark(place_.data + kMarksAt[next_mark_], sequence_, covered);
  next_mark_ = 1 - next_mark_;
  durable_.store(covered, std::memory_order_release);
  return Status::Ok();
}

void Stage::Retire() {
  const kvdyno::MutexLock lock(sync_mutex_);  // a running Sync still writes its mark
  retired_ = true;
  if (place_.files == nullptr) return;
  for (const auto& [number, payload] : spilled_) {
    // What cannot be removed is an orphan, which the next Open removes.
    (void)place_.files->Remove(place_.directory + "/" + SpillName(number));
  }
}

}  // namespace chunkstore
