#include "store/backup.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace chunkstore {

namespace {

using kvdyno::FileSystem;

constexpr uint64_t kSegmentBytes = uint64_t{64} << 20;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
constexpr size_t kOpenFiles = 16;

// Runs in the order in which they lie on disk, so that those of one flush stay neighbours.
std::vector<ExtentRef*> RunsInOrder(ManifestState* state) {
  std::vector<ExtentRef*> runs;
  for (auto& [min_key, chunk] : state->chunks) {
    if (!chunk.table.empty()) runs.push_back(&chunk.table);
    for (ExtentRef& run : chunk.log) runs.push_back(&run);
  }
  std::sort(runs.begin(), runs.end(), [](const ExtentRef* a, const ExtentRef* b) {
    return std::pair(a->segment, a->offset) < std::pair(b->segment, b->offset);
  });
  return runs;
}

// A run holds offsets from its own begin alone, so it may lie anywhere.
class SortedRunCopier {
 public:
  SortedRunCopier(const BackupSource& source, FileSystem* files, const std::string& directory)
      : source_(source), target_(files, directory, true, kOpenFiles) {}

  // *run is where the copy lies.
  Status Copy(ExtentRef* run) {
    Status status;
    if (writer_ == nullptr) status = target_.Create(&writer_);
    if (!status.ok()) return status;
    ExtentRef copy = *run;
    copy.segment = writer_->number();
    copy.offset = writer_->offset();
    for (uint64_t at = 0; at < run->length; at += kPieceBytes) {
      const uint64_t length = std::min(kPieceBytes, run->length - at);
      std::string_view bytes;
      status = source_.segments->ReadInto(*run, at, length, &buffer_, &bytes);
      if (status.ok()) status = writer_->Append(bytes);
      if (status.ok()) status = source_.check();
      if (!status.ok()) return status;
    }
    *run = copy;
    return writer_->offset() < kSegmentBytes ? status : Finish();
  }

  Status Finish() {
    if (writer_ == nullptr) return Status::Ok();
    const Status status = writer_->Finish(true);
    if (status.ok()) writer_.reset();
    return status;
  }

 private:
  const BackupSource& source_;
  Segments target_;
  std::unique_ptr<SegmentWriter> writer_;
  kvdyno::AlignedBuffer buffer_;
};

Status CopyRuns(BackupSource* source, FileSystem* files, const std::string& directory) {
  SortedRunCopier copier(*source, files, directory);
  for (ExtentRef* run : RunsInOrder(&source->state)) {
    if (Status status = copier.Copy(run); !status.ok()) return status;
  }
  return copier.Finish();
}

Status DemandEmpty(FileSystem* files, const std::string& directory) {
  std::vector<std::string> names;
  if (Status status = files->List(directory, &names); !status.ok()) return status;
  if (names.empty()) return Status::Ok();
  return Status::InvalidArgument("back up to " + directory + ": expected an empty directory, got " +
                                 names.front() + " in it");
}

void RemoveAll(FileSystem* files, const std::string& directory) {
  std::vector<std::string> names;
  static_cast<void>(files->List(directory, &names));
  for (const std::string& name : names) static_cast<void>(files->Remove(directory + "/" + name));
}

// Locked, so that nothing else opens or fills it meanwhile. The manifest comes last: before it, there
// is no store to be opened.
Status Fill(BackupSource* source, FileSystem* files, const std::string& directory) {
  std::unique_ptr<kvdyno::DirectoryLock> lock;
  if (Status status = files->Lock(directory, &lock); !status.ok()) return status;
  if (Status status = CopyRuns(source, files, directory); !status.ok()) return status;
  std::unique_ptr<Manifest> manifest;
  const Status status = Manifest::Replace(files, directory, std::move(source->state), &manifest);
  return status.ok() ? kvdyno::SyncParent(files, directory) : status;
}

}  // namespace

Status WriteBackup(BackupSource source, FileSystem* files, const std::string& directory) {
  const bool existed = files->Exists(directory);
  if (Status status = files->CreateDirectory(directory); !status.ok()) return status;
  Status status = DemandEmpty(files, directory);
  if (status.code() == Code::kInvalidArgument) return status;
  source.state.clean = true;
  source.state.ring_sequence = 0;
  source.state.warmth = 0;
  if (status.ok()) status = Fill(&source, files, directory);
  if (status.ok()) return status;
  RemoveAll(files, directory);
  if (!existed) static_cast<void>(files->Remove(directory));
  return status;
}

}  // namespace chunkstore
