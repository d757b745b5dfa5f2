#include "check/check.h"

#include <algorithm>
#include <utility>

#include "check/sorted_run_file.h"
#include "funk/warmth.h"
#include "kvdyno/base/hash.h"
#include "manifest/file.h"
#include "manifest/text.h"
#include "stage/ring.h"

namespace chunkstore {

namespace {

constexpr uint64_t kProgressBytes = uint64_t{8} << 20;
constexpr size_t kMaxProblems = 1000;

// Walks one run and reports what is wrong with it.
class SortedRunCheck {
 public:
  SortedRunCheck(const SortedRunFile& run, const SortedRunToCheck& expected,
                 const ManifestState& state, const std::string& path, CheckReport* report)
      : run_(run), expected_(expected), state_(state), path_(path), report_(report) {}

  Version Walk() {
    for (size_t block = 0; block < run_.index().blocks.size(); ++block) {
      BlockView view;
      const Status status = run_.ReadBlock(block, &bytes_, &view);
      ++report_->blocks;
      if (!status.ok()) {
        Problem(Line(status));
        has_last_ = false;  // the next block has no known predecessor
        continue;
      }
      CheckBlock(block, view);
    }
    if (has_last_ && last_key_ != run_.index().last_key()) {
      Problem(Line(Status::Corruption("run index: expected last key " + Quoted(last_key_) +
                                      ", got " + Quoted(run_.index().last_key()))
                       .WithPlace(path_, run_.extent().offset)));
    }
    return newest_;
  }

 private:
  void CheckBlock(size_t block, const BlockView& view) {
    const bool continues = has_last_ && last_key_ == view.at(0).key;
    if (has_last_ && continues != (run_.index().blocks[block].continues != 0)) {
      At(block, "expected the index to hold whether the block continues a key, got the contrary");
    }
    for (uint32_t i = 0; i < view.size(); ++i) CheckEntry(block, view.at(i));
    report_->entries += view.size();
  }

  void CheckEntry(size_t block, const Entry& entry) {
    if (has_last_ && Compare(last_key_, last_version_, entry.key, entry.version) >= 0) {
      At(block, "expected entries in order, got " + Quoted(entry.key) + " at version " +
                    std::to_string(entry.version) + " after " + Quoted(last_key_) + " at version " +
                    std::to_string(last_version_));
    }
    if (entry.key < expected_.min_key ||
        (!expected_.max_key.empty() && entry.key >= expected_.max_key)) {
      At(block, "expected keys from " + Quoted(expected_.min_key) + " to below " +
                    (expected_.max_key.empty() ? "the end" : Quoted(expected_.max_key)) + ", got " +
                    Quoted(entry.key));
    }
    if (!run_.index().filter.MayContain(kvdyno::Hash64(entry.key))) {
      At(block, "expected the filter to know " + Quoted(entry.key) + ", got one that does not");
    }
    CheckVersion(block, entry);
    if (!has_last_ || last_key_ != entry.key) last_key_ = entry.key;
    last_version_ = entry.version;
    has_last_ = true;
    newest_ = std::max(newest_, entry.version);
  }

  void CheckVersion(size_t block, const Entry& entry) {
    const uint64_t epoch = EpochOf(entry.version);
    const auto end = std::find_if(state_.epochs.begin(), state_.epochs.end(),
                                  [&](const EpochEnd& e) { return e.epoch == epoch; });
    if (epoch > state_.epoch) {
      At(block, "expected versions of epochs up to " + std::to_string(state_.epoch) + ", got " +
                    Quoted(entry.key) + " of epoch " + std::to_string(epoch));
    } else if (end != state_.epochs.end() && entry.version > end->last) {
      At(block, "expected versions up to " + std::to_string(end->last) + " in epoch " +
                    std::to_string(epoch) + ", got " + Quoted(entry.key) + " at version " +
                    std::to_string(entry.version));
    }
  }

  void At(size_t block, const std::string& text) {
    Problem(Line(Status::Corruption("block: " + text).WithPlace(path_, run_.OffsetOf(block))));
  }
  void Problem(std::string line) {
    if (report_->problems.size() < kMaxProblems) report_->problems.push_back(std::move(line));
  }

  const SortedRunFile& run_;
  const SortedRunToCheck& expected_;
  const ManifestState& state_;
  const std::string& path_;
  CheckReport* report_;
  std::string bytes_, last_key_;
  Version last_version_ = 0, newest_ = 0;
  bool has_last_ = false;
};

// CURRENT and the manifest; false when there is no state to go on with.
Status CheckManifest(kvdyno::FileSystem* files, const std::string& directory, CheckReport* report,
                     ManifestState* state, bool* usable) {
  *usable = false;
  std::string path = directory + "/" + kCurrentName;
  std::string content;
  Status status = kvdyno::ReadWholeFile(files, path, &content);
  if (!status.ok()) return status;
  ++report->files;
  uint64_t number = 0;
  status = DecodeCurrent(content, &number);
  if (!status.ok()) {
    report->problems.push_back(Line(status.WithPlace(path, 0)));
    return Status::Ok();
  }
  path = directory + "/" + ManifestName(number);
  status = kvdyno::ReadWholeFile(files, path, &content);
  if (status.not_found()) {
    report->problems.push_back(path + ": expected the manifest that CURRENT names, got no file");
    return Status::Ok();
  }
  if (!status.ok()) return status;
  ++report->files;
  Replay replay = ReplayManifest(content, path);
  if (!replay.status.ok()) report->problems.push_back(Line(replay.status));
  CheckState(replay.state, &report->problems);
  if (replay.state.epoch >= kMaxEpoch && !replay.state.clean) {
    report->problems.push_back(path + ": expected an epoch below " + std::to_string(kMaxEpoch) +
                               ", which leaves room for the next, got the last one");
  }
  *usable = replay.snapshot_complete;
  *state = std::move(replay.state);
  return Status::Ok();
}

// *newest: the last version that the ring holds.
void CheckRing(kvdyno::FileSystem* files, const std::string& directory, const ManifestState& state,
               CheckReport* report, Version* newest) {
  RingOptions options;
  options.files = files;
  options.directory = directory;
  options.read_only = true;
  for (int i = 0; i < Ring::kStages; ++i) {
    uint64_t size = 0;
    if (!files->Size(directory + "/ring-" + std::to_string(i), &size).ok()) continue;
    options.stage_size = std::max<size_t>(options.stage_size, size);
    ++report->files;
  }
  RingRecovery recovery;
  std::unique_ptr<Ring> ring;
  Status status;
  if (options.stage_size > 0) {  // else never written with files
    status = Ring::Open(options, state.flushed_sequence, state.epochs, false, &recovery, &ring);
  }
  if (status.ok()) {
    status = recovery.Follows(state.flushed_version, state.begun_sequence(), directory);
  }
  if (!status.ok()) {
    report->problems.push_back(Line(status));
    return;
  }
  *newest = recovery.last;
  if (state.clean && recovery.records > 0) {
    report->problems.push_back("ring in " + directory +
                               ": expected no records, as the store was closed properly, got " +
                               std::to_string(recovery.records));
  }
}

}  // namespace

std::vector<SortedRunToCheck> RunsOf(const ManifestState& state) {
  std::vector<SortedRunToCheck> runs;
  for (auto at = state.chunks.begin(); at != state.chunks.end(); ++at) {
    const auto next = std::next(at);
    const std::string max_key = next == state.chunks.end() ? std::string() : next->first;
    const ChunkRecord& chunk = at->second;
    if (!chunk.table.empty()) runs.push_back({chunk.table, at->first, max_key});
    for (const ExtentRef& run : chunk.log) runs.push_back({run, at->first, max_key});
  }
  std::sort(runs.begin(), runs.end(), [](const SortedRunToCheck& a, const SortedRunToCheck& b) {
    return a.extent.segment != b.extent.segment ? a.extent.segment < b.extent.segment
                                                : a.extent.offset < b.extent.offset;
  });
  return runs;
}

void CheckRuns(kvdyno::FileSystem* files, const std::string& directory, const ManifestState& state,
               const std::vector<SortedRunToCheck>& runs, CheckReport* report, Version* newest,
               const CheckProgress& progress) {
  SegmentFiles segments(files, directory);
  uint64_t total = 0, done = 0, reported = 0, segment = 0;
  for (const SortedRunToCheck& run : runs) total += run.extent.length;
  for (const SortedRunToCheck& expected : runs) {
    if (segment != expected.extent.segment || report->files == 0) ++report->files;
    segment = expected.extent.segment;
    const std::string path = segments.PathOf(segment);
    std::unique_ptr<SortedRunFile> run;
    const Status status = SortedRunFile::Open(&segments, expected.extent, &run);
    if (status.ok()) {
      *newest = std::max(*newest, SortedRunCheck(*run, expected, state, path, report).Walk());
    } else if (report->problems.size() < kMaxProblems) {
      report->problems.push_back(Line(status));
    }
    done += expected.extent.length;
    if (progress && (done - reported >= kProgressBytes || done == total)) {
      progress(done, total);
      reported = done;
    }
  }
}

Status CheckStore(kvdyno::FileSystem* files, const std::string& directory, CheckReport* report,
                  const CheckProgress& progress) {
  ManifestState state;
  bool usable = false;
  Status status = CheckManifest(files, directory, report, &state, &usable);
  if (!status.ok() || !usable) return status;
  Version newest = 0, in_ring = 0;
  CheckRuns(files, directory, state, RunsOf(state), report, &newest, progress);
  CheckRing(files, directory, state, report, &in_ring);
  const Version explained = std::max(state.flushed_version, in_ring);
  if (newest > explained) {
    report->problems.push_back(
        "segments in " + directory + ": expected versions up to " + std::to_string(explained) +
        ", which were flushed or are in the ring, got " + std::to_string(newest));
  }
  return Status::Ok();
}

void CheckWarmth(kvdyno::FileSystem* files, const std::string& directory, CheckReport* report) {
  CheckReport reported;  // by CheckStore already
  ManifestState state;
  bool usable = false;
  if (!CheckManifest(files, directory, &reported, &state, &usable).ok() || !usable) return;
  const std::string path = directory + "/" + WarmthName(state.warmth);
  if (!state.clean || state.warmth == 0 || !files->Exists(path)) return;
  ++report->files;
  std::shared_ptr<const Warmth> warmth;
  if (const Status status = Warmth::Open(files, path, &warmth); !status.ok()) {
    report->problems.push_back(Line(status));
    return;
  }
  std::string index;
  for (const ChunkWarmth& chunk : warmth->chunks()) {
    const Status status = warmth->Read(chunk, &index);
    if (!status.ok() && report->problems.size() < kMaxProblems) {
      report->problems.push_back(Line(status));
    }
  }
}

}  // namespace chunkstore
