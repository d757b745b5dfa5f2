#include "check/repair.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "check/salvage.h"
#include "funk/sorted_run.h"
#include "funk/warmth.h"
#include "manifest/file.h"
#include "manifest/text.h"
#include "stage/ring.h"

namespace chunkstore {

namespace {

using kvdyno::FileSystem;

// Writes entries into tables of a chunk's size, one chunk per table.
class TableWriter {
 public:
  TableWriter(FileSystem* files, const std::string& directory, const RepairOptions& options)
      : segments_(files, directory, false, 16), options_(options) {}

  Status Start() { return segments_.Recover({}, true); }

  Status Add(const Entry& entry) {
    Status status;
    if (builder_ == nullptr) {
      if (writer_ == nullptr) status = NewSegment();
      if (!status.ok()) return status;
      const SortedRunForm form{.block_size = options_.block_bytes,
                               .filter_bits = options_.filter_bits};
      builder_ = std::make_unique<SortedRunBuilder>(writer_.get(), form);
      min_key_ = chunks_.empty() ? std::string() : std::string(entry.key);
    }
    status = builder_->Add(entry);
    if (status.ok() && builder_->bytes() >= options_.chunk_bytes) status = FinishTable();
    return status;
  }

  Status Finish(ManifestState* state) {
    Status status = FinishTable();
    if (status.ok()) status = FinishSegment();
    if (!status.ok()) return status;
    if (chunks_.empty()) chunks_.push_back({.id = 1, .min_key = {}, .table = {}, .log = {}});
    for (ChunkRecord& chunk : chunks_) {
      state->next_chunk_id = chunk.id + 1;
      std::string key = chunk.min_key;
      state->chunks.emplace(std::move(key), std::move(chunk));
    }
    return status;
  }

  bool Wrote(uint64_t segment) const { return written_.contains(segment); }

 private:
  Status NewSegment() {
    Status status = segments_.Create(&writer_);
    if (status.ok()) written_.insert(writer_->number());
    return status;
  }

  Status FinishTable() {
    if (builder_ == nullptr) return Status::Ok();
    SortedRunSummary summary;
    Status status = builder_->Finish(&summary);
    builder_.reset();
    if (!status.ok()) return status;
    chunks_.push_back(
        {.id = chunks_.size() + 1, .min_key = min_key_, .table = summary.extent, .log = {}});
    if (writer_->offset() >= options_.segment_bytes) status = FinishSegment();
    return status;
  }

  Status FinishSegment() {
    if (writer_ == nullptr) return Status::Ok();
    Status status = writer_->Finish(true);
    if (status.ok()) writer_.reset();
    return status;
  }

  Segments segments_;
  RepairOptions options_;
  std::unique_ptr<SegmentWriter> writer_;
  std::unique_ptr<SortedRunBuilder> builder_;
  std::string min_key_;
  std::vector<ChunkRecord> chunks_;
  std::set<uint64_t> written_;
};

class Repair {
 public:
  Repair(FileSystem* files, const std::string& directory, const RepairOptions& options,
         CheckReport* report)
      : files_(files),
        directory_(directory),
        report_(report),
        segments_(files, directory),
        writer_(files, directory, options) {}

  Status Run() {
    Status status = files_->List(directory_, &names_);
    if (status.ok()) status = SalvageState(files_, directory_, names_, report_, &salvaged_);
    if (status.ok()) status = CollectRuns();
    if (status.ok()) status = CollectRing();
    if (status.ok() && !AnyStore()) return Status::NotFound();
    if (status.ok()) status = writer_.Start();
    if (status.ok()) status = Merge();
    if (status.ok()) status = Install();
    if (status.ok()) status = MoveOldFiles();
    return status;
  }

 private:
  // A run that waits until the merge comes to its first key.
  struct Waiting {
    std::string first_key;
    ExtentRef extent;
    bool indexed;  // else its index cannot be read
  };
  // An input of the merge: a run or a stage.
  struct Source {
    std::unique_ptr<SalvageCursor> run;
    std::unique_ptr<StageIndex::Cursor> stage;
    bool Valid() const { return run ? run->Valid() : stage->Valid(); }
    const Entry& entry() const { return run ? run->entry() : stage->entry(); }
    void Next() { run ? run->Next() : stage->Next(); }
  };
  struct Later {
    bool operator()(const Source* a, const Source* b) const {
      return Compare(a->entry().key, a->entry().version, b->entry().key, b->entry().version) > 0;
    }
  };

  bool AnyStore() const {
    return std::any_of(names_.begin(), names_.end(), [](const std::string& name) {
      uint64_t number = 0;
      return ParseManifestName(name, &number) || ParseSegmentName(name, &number) ||
             name.starts_with("ring-");
    });
  }

  Status CollectRuns() {
    std::vector<ExtentRef> runs;
    for (const auto& [key, chunk] : salvaged_.state.chunks) {
      if (!chunk.table.empty()) runs.push_back(chunk.table);
      runs.insert(runs.end(), chunk.log.begin(), chunk.log.end());
    }
    if (!salvaged_.exact) FindAllRuns(&runs);
    const auto place = [](const ExtentRef& run) { return std::make_pair(run.segment, run.offset); };
    std::sort(runs.begin(), runs.end(),
              [&](const ExtentRef& a, const ExtentRef& b) { return place(a) < place(b); });
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    for (const ExtentRef& extent : runs) CollectRun(extent);
    std::sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
      return a.first_key > b.first_key;  // taken from the back
    });
    return Status::Ok();
  }

  void CollectRun(const ExtentRef& extent) {
    std::unique_ptr<SortedRunFile> run;
    const Status status = SortedRunFile::Open(&segments_, extent, &run);
    if (!status.ok()) {
      const Status found = SortedRunFile::OpenByBlocks(&segments_, extent, &run);
      uint64_t entries = 0;
      if (found.ok()) {
        for (const BlockRef& block : run->index().blocks) entries += block.entries;
      }
      report_->problems.push_back(Line(status) + "; found " + std::to_string(entries) + " of the " +
                                  std::to_string(extent.entries) +
                                  " entries of the run at offset " + std::to_string(extent.offset) +
                                  " without it");
      if (!found.ok()) return;
    }
    waiting_.push_back({std::string(run->index().first_key(0)), extent, status.ok()});
  }

  void FindAllRuns(std::vector<ExtentRef>* runs) {
    report_->problems.push_back("manifest in " + directory_ +
                                ": expected the list of runs, got none that is whole; taking all "
                                "runs found in segments, so that deleted rows may come back");
    for (const std::string& name : names_) {
      uint64_t segment = 0;
      if (!ParseSegmentName(name, &segment)) continue;
      std::vector<ExtentRef> found;
      const Status status = FindRuns(&segments_, segment, &found);
      ++report_->files;
      if (!status.ok()) report_->problems.push_back(Line(status));
      runs->insert(runs->end(), found.begin(), found.end());
    }
  }

  Status CollectRing() {
    RingOptions options;
    options.files = files_;
    options.directory = directory_;
    options.read_only = true;
    for (int i = 0; i < Ring::kStages; ++i) {
      uint64_t size = 0;
      if (!files_->Size(directory_ + "/ring-" + std::to_string(i), &size).ok()) continue;
      options.stage_size = std::max<size_t>(options.stage_size, size);
      ++report_->files;
    }
    const ManifestState& state = salvaged_.state;
    Status status;
    if (options.stage_size > 0) {
      status = Ring::Open(options, salvaged_.exact ? state.flushed_sequence : 0, state.epochs, true,
                          &ring_recovery_, &ring_);
    }
    if (status.ok() && salvaged_.exact) {
      const Status whole =
          ring_recovery_.Follows(state.flushed_version, state.begun_sequence(), directory_);
      if (!whole.ok()) report_->problems.push_back(Line(whole) + "; lost what it held");
    }
    if (!status.ok()) {
      report_->problems.push_back(Line(status) + "; lost what was not flushed");
    } else if (!ring_recovery_.dropped_reason.empty()) {
      report_->problems.push_back("ring in " + directory_ + ": " + ring_recovery_.dropped_reason);
    }
    return Status::Ok();
  }

  bool IsValidVersion(Version version) const {
    const auto& epochs = salvaged_.state.epochs;
    return std::none_of(epochs.begin(), epochs.end(), [&](const EpochEnd& end) {
      return end.epoch == EpochOf(version) && version > end.last;
    });
  }

  void OpenWaiting() {
    while (!waiting_.empty() &&
           (heap_.empty() || waiting_.back().first_key <= heap_.top()->entry().key)) {
      const ExtentRef& extent = waiting_.back().extent;
      std::unique_ptr<SortedRunFile> run;
      const Status status = waiting_.back().indexed
                                ? SortedRunFile::Open(&segments_, extent, &run)
                                : SortedRunFile::OpenByBlocks(&segments_, extent, &run);
      if (status.ok()) {
        auto source = std::make_unique<Source>();
        source->run = std::make_unique<SalvageCursor>(std::move(run), report_);
        Push(std::move(source));
      } else {
        report_->problems.push_back(Line(status));
      }
      waiting_.pop_back();
    }
  }

  void Push(std::unique_ptr<Source> source) {
    if (!source->Valid()) return;
    heap_.push(source.get());
    sources_.emplace(source.get(), std::move(source));
  }

  Status Merge() {
    for (const auto& stage : ring_recovery_.stages) {
      auto source = std::make_unique<Source>();
      source->stage = std::make_unique<StageIndex::Cursor>(stage->NewCursor());
      source->stage->Seek("");
      Push(std::move(source));
    }
    std::string last_key;
    bool has_last = false;
    for (OpenWaiting(); !heap_.empty(); OpenWaiting()) {
      Source* source = heap_.top();
      heap_.pop();
      const Entry& entry = source->entry();
      if (IsValidVersion(entry.version) && (!has_last || last_key != entry.key)) {
        last_key = entry.key;
        has_last = true;
        newest_ = std::max(newest_, NumberOf(entry.version));
        ++report_->entries;
        if (entry.type == EntryType::kValue) {
          const Version version = MakeVersion(1, NumberOf(entry.version));
          Status status = writer_.Add({entry.key, entry.value, version, entry.type});
          if (!status.ok()) return status;
        }
      }
      source->Next();
      if (source->Valid()) {
        heap_.push(source);
      } else {
        sources_.erase(source);
      }
    }
    return Status::Ok();
  }

  // The count of unclean ends begins again, with all rows in the first epoch. Numbers go on, so
  // that nothing that was left in the ring can be taken for a later write.
  Status Install() {
    ManifestState state;
    Status status = writer_.Finish(&state);
    if (!status.ok()) return status;
    const ManifestState& before = salvaged_.state;
    state.flushed_sequence = std::max(before.flushed_sequence, ring_recovery_.sequence);
    state.flushed_version = MakeVersion(
        1, std::max({newest_, NumberOf(before.flushed_version), NumberOf(ring_recovery_.last)}));
    state.epoch = 1;
    std::unique_ptr<Manifest> manifest;
    status = Manifest::Replace(files_, directory_, std::move(state), &manifest);
    if (status.ok()) manifest_number_ = manifest->number();
    return status;
  }

  // The old files, but for CURRENT, which has been replaced.
  bool IsOld(const std::string& name) const {
    uint64_t number = 0;
    if (ParseManifestName(name, &number)) return number != manifest_number_;
    if (ParseSegmentName(name, &number)) return !writer_.Wrote(number);
    return name.starts_with("ring-") || name.starts_with("spill-") ||
           ParseWarmthName(name, &number);
  }

  Status MoveOldFiles() {
    std::string folder = directory_ + "/" + LostFolderName(1);
    for (int i = 2; files_->Exists(folder); ++i) folder = directory_ + "/" + LostFolderName(i);
    ring_.reset();
    ring_recovery_.stages.clear();
    Status status = files_->CreateDirectory(folder);
    for (const std::string& name : names_) {
      if (status.ok() && IsOld(name)) {
        status = files_->Rename(directory_ + "/" + name, folder + "/" + name);
      }
    }
    if (status.ok()) status = files_->SyncDirectory(folder);
    if (status.ok()) status = files_->SyncDirectory(directory_);
    report_->problems.push_back("repair " + directory_ + ": the old files are in " + folder);
    return status;
  }

  FileSystem* files_;
  const std::string& directory_;
  CheckReport* report_;
  SegmentFiles segments_;
  TableWriter writer_;
  std::vector<std::string> names_;
  SalvagedState salvaged_;
  RingRecovery ring_recovery_;
  std::unique_ptr<Ring> ring_;
  std::vector<Waiting> waiting_;
  std::map<const Source*, std::unique_ptr<Source>> sources_;
  std::priority_queue<Source*, std::vector<Source*>, Later> heap_;
  uint64_t newest_ = 0;  // number of a version
  uint64_t manifest_number_ = 0;
};

}  // namespace

std::string LostFolderName(int nth) { return nth == 1 ? "lost" : "lost-" + std::to_string(nth); }

bool IsLostFolderName(std::string_view name) {
  constexpr std::string_view kPrefix = "lost-";
  if (name == LostFolderName(1)) return true;
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

Status RepairStore(FileSystem* files, const std::string& directory, const RepairOptions& options,
                   CheckReport* report) {
  return Repair(files, directory, options, report).Run();
}

}  // namespace chunkstore
