#include "funk/segments.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace chunkstore {

using kvdyno::AlignedBuffer;
using kvdyno::kDirectAlignment;

namespace {

constexpr size_t kThreadBufferKept = (size_t{1} << 20) + 2 * kDirectAlignment;

uint64_t RoundDown(uint64_t value) { return value - value % kDirectAlignment; }
uint64_t RoundUp(uint64_t value) { return RoundDown(value + kDirectAlignment - 1); }

ByteRange RangeOf(const ExtentRef& extent) {
  return {extent.offset, extent.offset + extent.length};
}

ByteRange WholePages(ByteRange range) {
  const uint64_t from = RoundUp(range.from);
  return {from, std::max(from, RoundDown(range.to))};
}

// What the file is asked for, so that it brings these bytes.
ByteRange Asked(const kvdyno::RandomAccessFile& file, ByteRange wanted) {
  const uint64_t unit = file.alignment();
  return {wanted.from - wanted.from % unit, (wanted.to + unit - 1) / unit * unit};
}

ByteRange PartOf(const ExtentRef& extent, uint64_t offset_in_run, size_t length) {
  const uint64_t from = extent.offset + offset_in_run;
  return {from, from + length};
}

void Reserve(AlignedBuffer* buffer, uint64_t size) {
  if (buffer->size() >= size) return;
  *buffer = AlignedBuffer();  // the old one goes first: together they might not fit
  *buffer = AlignedBuffer(std::max<uint64_t>(RoundUp(size), 4 * kDirectAlignment));
}

AlignedBuffer& BufferOfThread() {
  thread_local AlignedBuffer buffer;
  return buffer;
}

}  // namespace

ThreadBuffer::ThreadBuffer() : buffer_(&BufferOfThread()) {}
ThreadBuffer::~ThreadBuffer() {
  if (buffer_->size() > kThreadBufferKept) *buffer_ = AlignedBuffer();
}

Segments::Segments(kvdyno::FileSystem* files, std::string directory, bool direct,
                   size_t max_open_files, uint64_t least_hole, double least_dead)
    : files_(files),
      directory_(std::move(directory)),
      least_hole_(least_hole),
      least_dead_(least_dead),
      direct_(direct),
      open_(files_, directory_, direct, max_open_files) {}

// --- space

Status Segments::Recover(const std::vector<ExtentRef>& live, bool read_only) {
  {
    const kvdyno::MutexLock lock(mutex_);
    segments_.clear();
    for (const ExtentRef& extent : live) segments_[extent.segment].live.Add(RangeOf(extent));
    if (!segments_.empty()) next_number_ = std::max(next_number_, segments_.rbegin()->first + 1);
  }
  if (const Status status = ScanDirectory(read_only); !status.ok()) return status;
  const kvdyno::MutexLock lock(mutex_);
  for (auto& [number, segment] : segments_) {
    const auto beyond = segment.live.Overlap({segment.size, UINT64_MAX});
    if (!beyond.empty()) {
      return Status::Corruption("open " + PathOf(number) + ": expected " +
                                std::to_string(beyond.back().to) + " bytes or more, got " +
                                std::to_string(segment.size));
    }
    segment.dead.Add({0, segment.size});
    for (const ByteRange& range : segment.live.Overlap({0, segment.size})) {
      segment.dead.Subtract(range);
    }
  }
  return Status::Ok();
}

// Removes what nothing refers to and learns the sizes of the rest; a missing file has none.
Status Segments::ScanDirectory(bool read_only) {
  std::vector<std::string> names;
  if (const Status status = files_->List(directory_, &names); !status.ok()) return status;
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (!ParseSegmentName(name, &number)) continue;
    bool known = false;
    {
      const kvdyno::MutexLock lock(mutex_);
      next_number_ = std::max(next_number_, number + 1);
      known = segments_.contains(number);
    }
    if (!known) {
      if (!read_only) (void)RemoveFile(number);
      continue;
    }
    uint64_t size = 0;
    if (const Status status = files_->Size(PathOf(number), &size); !status.ok()) return status;
    const kvdyno::MutexLock lock(mutex_);
    segments_[number].size = size;
  }
  return Status::Ok();
}

Status Segments::Create(std::unique_ptr<SegmentWriter>* writer) {
  uint64_t number = 0;
  {
    const kvdyno::MutexLock lock(mutex_);
    number = next_number_++;
  }
  std::unique_ptr<kvdyno::WritableFile> file;
  if (Status status = files_->Create(PathOf(number), direct_, &file); !status.ok()) return status;
  writer->reset(new SegmentWriter(this, number, std::move(file)));
  return Status::Ok();
}

void Segments::AddFinished(uint64_t number, uint64_t appended, uint64_t size) {
  const kvdyno::MutexLock lock(mutex_);
  Segment& segment = segments_[number];
  segment.size = size;
  segment.dead.Add({appended, size});
}

void Segments::AddLive(const ExtentRef& extent) {
  const kvdyno::MutexLock lock(mutex_);
  const auto at = segments_.find(extent.segment);
  assert(at != segments_.end());
  if (at != segments_.end()) at->second.live.Add(RangeOf(extent));
}

void Segments::Free(const ExtentRef& extent) {
  {
    const kvdyno::MutexLock lock(mutex_);
    const auto at = segments_.find(extent.segment);
    if (at == segments_.end()) return;
    Segment& segment = at->second;
    segment.live.Subtract(RangeOf(extent));
    segment.dead.Add(RangeOf(extent));
    const auto taken = static_cast<double>(segment.size - segment.punched);
    const uint64_t dead = segment.dead.bytes() - std::min(segment.left, segment.dead.bytes());
    const bool much = static_cast<double>(dead) >= least_dead_ * taken;
    if (segment.asked || !(much || segment.live.empty())) return;
    segment.asked = true;
  }
  const auto give_back = [this, number = extent.segment] { GiveBack(number, least_hole_); };
  if (space_ == nullptr) {
    give_back();
  } else {
    space_->Do(give_back);
  }
}

void Segments::WaitForSpace() {
  if (space_ != nullptr) space_->Wait();
}

void Segments::PunchGaps() {
  std::vector<uint64_t> numbers;
  {
    const kvdyno::MutexLock lock(mutex_);
    for (const auto& [number, segment] : segments_) numbers.push_back(number);
  }
  for (const uint64_t number : numbers) GiveBack(number, 1);
}

// The whole file when nothing else is in it, else the whole pages within dead ranges that are long
// enough: no run shares those.
void Segments::GiveBack(uint64_t number, uint64_t least) {
  std::vector<ByteRange> holes;
  bool all = false;
  {
    const kvdyno::MutexLock lock(mutex_);
    const auto at = segments_.find(number);
    if (at == segments_.end()) return;
    Segment& segment = at->second;
    segment.asked = false;
    segment.left = segment.dead.bytes();
    all = segment.dead.bytes() + segment.punched == segment.size;
    if (!all) holes = segment.dead.Overlap({0, segment.size});
  }
  if (all && RemoveFile(number)) {
    const kvdyno::MutexLock lock(mutex_);
    segments_.erase(number);
  }
  for (const ByteRange& hole : holes) {
    const ByteRange pages = WholePages(hole);
    if (hole.size() < least || pages.size() == 0 || !Punch(number, pages)) continue;
    const kvdyno::MutexLock lock(mutex_);
    const auto at = segments_.find(number);
    if (at == segments_.end()) return;
    // Counted by what it takes from the set: two calls may have punched the same pages.
    Segment& segment = at->second;
    const uint64_t before = segment.dead.bytes();
    segment.dead.Subtract(pages);
    const uint64_t went = before - segment.dead.bytes();
    segment.punched += went;
    segment.left -= std::min(segment.left, went);
  }
}

bool Segments::RemoveFile(uint64_t number) {
  open_.Close(number);
  const Status status = files_->Remove(PathOf(number));
  if (status.ok() || status.not_found()) return true;
  space_errors_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool Segments::Punch(uint64_t number, ByteRange pages) {
  if (cannot_punch_.load(std::memory_order_relaxed)) return false;
  const Status status = files_->PunchHole(PathOf(number), pages.from, pages.size());
  if (status.ok()) return true;
  if (status.code() == Code::kUnsupported) {
    cannot_punch_.store(true, std::memory_order_relaxed);
  } else {
    space_errors_.fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}

// --- reading

Status Segments::ReadInto(const ExtentRef& extent, uint64_t offset_in_run, size_t length,
                          AlignedBuffer* buffer, std::string_view* bytes) const {
  assert(offset_in_run + length <= extent.length);
  OpenFiles::File file;
  if (Status status = open_.Get(extent.segment, &file); !status.ok()) return status;
  const ByteRange wanted = PartOf(extent, offset_in_run, length);
  const ByteRange asked = Asked(*file, wanted);
  Reserve(buffer, asked.size());
  size_t read = 0;
  Status status = file->Read(asked.from, asked.size(), buffer->data(), &read);
  if (status.ok()) status = CheckRead(extent, wanted, asked.from, read);
  if (status.ok()) *bytes = {buffer->data() + (wanted.from - asked.from), length};
  return status;
}

void Segments::ReadTogether(std::vector<SegmentRead>* reads, AlignedBuffer* buffer) const {
  std::vector<OpenFiles::File> files(reads->size());
  std::vector<kvdyno::FileRead> asked;
  std::vector<SegmentRead*> askers;
  size_t total = 0;
  for (size_t i = 0; i < reads->size(); ++i) {
    SegmentRead& read = (*reads)[i];
    assert(read.offset_in_run + read.length <= read.extent.length);
    read.status = open_.Get(read.extent.segment, &files[i]);
    if (!read.status.ok()) continue;
    const ByteRange range = Asked(*files[i], PartOf(read.extent, read.offset_in_run, read.length));
    asked.push_back({files[i].get(), range.from, range.size(), nullptr, 0, {}});
    askers.push_back(&read);
    total += RoundUp(range.size());
  }
  Reserve(buffer, total);
  char* to = buffer->data();
  for (kvdyno::FileRead& each : asked) {
    each.buffer = to;
    to += RoundUp(each.length);
  }
  files_->ReadTogether(&asked);
  for (size_t i = 0; i < asked.size(); ++i) {
    SegmentRead& read = *askers[i];
    const ByteRange wanted = PartOf(read.extent, read.offset_in_run, read.length);
    read.status = std::move(asked[i].status);
    if (read.status.ok()) {
      read.status = CheckRead(read.extent, wanted, asked[i].offset, asked[i].read);
    }
    read.bytes = {asked[i].buffer + (wanted.from - asked[i].offset), read.length};
  }
}

Status Segments::CheckRead(const ExtentRef& extent, ByteRange wanted, uint64_t from,
                           size_t read) const {
  reads_.fetch_add(1, std::memory_order_relaxed);
  read_bytes_.fetch_add(read, std::memory_order_relaxed);
  if (from + read >= wanted.to) return Status::Ok();
  return Status::Corruption("read " + PathOf(extent.segment) + " at " +
                            std::to_string(wanted.from) + ": expected " +
                            std::to_string(wanted.size()) + " bytes, got " +
                            std::to_string(from + read - std::min(from + read, wanted.from)));
}

Status Segments::Read(const ExtentRef& extent, uint64_t offset_in_run, size_t length,
                      char* to) const {
  const ThreadBuffer buffer;
  std::string_view bytes;
  const Status status = ReadInto(extent, offset_in_run, length, buffer.get(), &bytes);
  if (status.ok()) std::memcpy(to, bytes.data(), bytes.size());
  return status;
}

// --- figures

uint64_t Segments::next_number() const {
  const kvdyno::MutexLock lock(mutex_);
  return next_number_;
}
uint64_t Segments::file_bytes() const {
  const kvdyno::MutexLock lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [number, segment] : segments_) bytes += segment.size - segment.punched;
  return bytes;
}
uint64_t Segments::live_bytes() const {
  const kvdyno::MutexLock lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [number, segment] : segments_) bytes += segment.live.bytes();
  return bytes;
}
size_t Segments::count() const {
  const kvdyno::MutexLock lock(mutex_);
  return segments_.size();
}
uint64_t Segments::reads() const { return reads_.load(std::memory_order_relaxed); }
uint64_t Segments::read_bytes() const { return read_bytes_.load(std::memory_order_relaxed); }
uint64_t Segments::written_bytes() const { return written_bytes_.load(std::memory_order_relaxed); }
uint64_t Segments::space_errors() const { return space_errors_.load(std::memory_order_relaxed); }

std::vector<uint64_t> Segments::SparseSegments(double share) const {
  std::vector<uint64_t> sparse;
  if (!cannot_punch_.load(std::memory_order_relaxed)) return sparse;
  const kvdyno::MutexLock lock(mutex_);
  for (const auto& [number, segment] : segments_) {
    // What is in no set may be on its way into the manifest.
    const uint64_t used = segment.size - segment.punched - segment.dead.bytes();
    if (static_cast<double>(used) < share * static_cast<double>(segment.size)) {
      sparse.push_back(number);
    }
  }
  return sparse;
}

}  // namespace chunkstore
