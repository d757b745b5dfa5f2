#include "check/salvage.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "manifest/file.h"
#include "manifest/text.h"

namespace chunkstore {

namespace {

constexpr size_t kWindowBytes = size_t{1} << 20;

Status ReplayFile(kvdyno::FileSystem* files, const std::string& path, Replay* replay) {
  std::string content;
  const Status status = kvdyno::ReadWholeFile(files, path, &content);
  if (status.ok()) *replay = ReplayManifest(content, path);
  return status;
}

// False when there is no such file or it names nothing.
bool ReadCurrent(kvdyno::FileSystem* files, const std::string& directory, CheckReport* report,
                 uint64_t* number) {
  const std::string path = directory + "/" + kCurrentName;
  std::string content;
  Status status = kvdyno::ReadWholeFile(files, path, &content);
  if (status.ok()) status = DecodeCurrent(content, number).WithPlace(path, 0);
  if (status.not_found())
    status = Status::Corruption("expected a file, got none").WithPlace(path, 0);
  if (!status.ok()) report->problems.push_back(Line(status));
  return status.ok();
}

// Later states compare greater, readable ones above all others.
auto Rank(const Replay& replay) {
  return std::make_tuple(replay.snapshot_complete, replay.status.ok(), replay.state.epoch,
                         replay.state.flushed_version, replay.edits);
}

// Where a footer's magic may stand in `bytes`.
size_t FindMagic(std::string_view bytes, size_t from) {
  char magic[sizeof kRunMagic];
  std::memcpy(magic, &kRunMagic, sizeof magic);
  return bytes.find({magic, sizeof magic}, from);
}

// The run whose footer ends at `end`, if there is one.
bool RunEndingAt(SegmentFiles* segments, uint64_t segment, uint64_t end, ExtentRef* extent) {
  std::string bytes;
  SortedRunFooter footer;
  const uint64_t length = std::min<uint64_t>(end, kFooterBytes);
  if (!segments->Read(segment, end - length, length, &bytes).ok()) return false;
  if (!DecodeFooter(bytes, &footer).ok()) return false;
  const uint64_t tail = footer.tail_length();
  if (tail > end || footer.index_offset > end - tail) return false;
  const uint64_t run = footer.index_offset + tail;
  *extent = {segment, end - run, run, footer.entries};
  return true;
}

void DropInner(std::vector<ExtentRef>* runs) {
  std::sort(runs->begin(), runs->end(), [](const ExtentRef& a, const ExtentRef& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.length > b.length;
  });
  uint64_t end = 0;
  std::erase_if(*runs, [&](const ExtentRef& run) {
    if (run.offset + run.length <= end) return true;
    end = run.offset + run.length;
    return false;
  });
}

}  // namespace

Status SalvageState(kvdyno::FileSystem* files, const std::string& directory,
                    const std::vector<std::string>& names, CheckReport* report,
                    SalvagedState* salvaged) {
  uint64_t current = 0;
  const bool named = ReadCurrent(files, directory, report, &current);
  Replay best;
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (!ParseManifestName(name, &number) || (named && number != current)) continue;
    const std::string path = directory + "/" + name;
    Replay replay;
    const Status status = ReplayFile(files, path, &replay);
    ++report->files;
    if (replay.status.code() == Code::kUnsupported) return replay.status;
    if (!status.ok()) report->problems.push_back(Line(status));
    if (!replay.status.ok()) report->problems.push_back(Line(replay.status));
    if (Rank(replay) > Rank(best)) best = std::move(replay);
  }
  std::vector<std::string> problems;
  CheckState(best.state, &problems);
  salvaged->exact = best.snapshot_complete && best.status.ok() && problems.empty();
  if (best.snapshot_complete) {
    report->problems.insert(report->problems.end(), problems.begin(), problems.end());
  }
  salvaged->state = std::move(best.state);
  return Status::Ok();
}

Status FindRuns(SegmentFiles* segments, uint64_t segment, std::vector<ExtentRef>* runs) {
  uint64_t size = 0;
  Status status = segments->Size(segment, &size);
  if (!status.ok()) return status;
  std::string window;
  for (uint64_t from = 0; from < size; from += kWindowBytes) {
    // Three bytes more, for a magic that begins in this window.
    const uint64_t length = std::min<uint64_t>(kWindowBytes + sizeof kRunMagic - 1, size - from);
    status = segments->Read(segment, from, length, &window);
    if (!status.ok()) return status;
    for (size_t at = FindMagic(window, 0); at != std::string::npos;
         at = FindMagic(window, at + 1)) {
      const uint64_t end = from + at + sizeof kRunMagic;
      ExtentRef extent;
      if (RunEndingAt(segments, segment, end, &extent)) runs->push_back(extent);
    }
  }
  DropInner(runs);
  return Status::Ok();
}

SalvageCursor::SalvageCursor(std::unique_ptr<SortedRunFile> run, CheckReport* report)
    : run_(std::move(run)), report_(report) {
  ReadBlock();
}

void SalvageCursor::Next() {
  if (++at_ < view_.size()) {
    entry_ = view_.at(at_);
    return;
  }
  ++block_;
  ReadBlock();
}

void SalvageCursor::ReadBlock() {
  valid_ = false;
  for (; block_ < run_->index().blocks.size(); ++block_) {
    ++report_->blocks;
    const Status status = run_->ReadBlock(block_, &bytes_, &view_);
    if (status.ok()) {
      at_ = 0;
      entry_ = view_.at(0);
      valid_ = true;
      return;
    }
    const bool last = block_ + 1 == run_->index().blocks.size();
    report_->problems.push_back(
        Line(status) + "; lost " + std::to_string(run_->index().blocks[block_].entries) +
        " entries from " + Quoted(run_->index().first_key(block_)) +
        (last ? " to " : " to at most ") + Quoted(run_->index().key(block_ + 1)));
  }
}

}  // namespace chunkstore
