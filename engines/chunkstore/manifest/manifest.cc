#include "manifest/manifest.h"

#include <algorithm>
#include <utility>

#include "manifest/edit_plan.h"
#include "manifest/file.h"

namespace chunkstore {

using kvdyno::FileSystem;
using kvdyno::WritableFile;

namespace {

constexpr uint64_t kRewriteFactor = 4;
constexpr uint64_t kRewriteBytes = uint64_t{4} << 20;

Status WithRemedy(const Status& status) {
  if (status.code() != Code::kCorruption) return status;
  return Status::Corruption(status.message() + "; Store::Repair may rebuild it")
      .WithPlace(status.file(), status.offset());
}

std::string PathOf(const std::string& directory, std::string_view name) {
  return directory + "/" + std::string(name);
}

// What a directory without CURRENT holds.
struct Remains {
  bool manifests = false;
  bool beyond_creation = false;  // something that only a store that has been opened has
  uint64_t largest = 0;          // manifest
};

Status Survey(FileSystem* files, const std::string& directory, Remains* remains) {
  std::vector<std::string> names;
  Status status = files->List(directory, &names);
  if (!status.ok()) return status;
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (ParseManifestName(name, &number)) {
      remains->manifests = true;
      remains->largest = std::max(remains->largest, number);
      remains->beyond_creation |= number > 1;
    }
    remains->beyond_creation |= name.starts_with("segment-") || name.starts_with("ring-");
  }
  return Status::Ok();
}

// NotFound: no store, or one whose creation was cut short before CURRENT was there.
Status ReadCurrent(FileSystem* files, const std::string& directory, uint64_t* number) {
  const std::string path = PathOf(directory, kCurrentName);
  std::string content;
  Status status = kvdyno::ReadWholeFile(files, path, &content);
  if (status.ok()) return WithRemedy(DecodeCurrent(content, number).WithPlace(path, 0));
  if (!status.not_found()) return status;
  if (!files->Exists(directory)) return Status::NotFound();
  Remains remains;
  status = Survey(files, directory, &remains);
  if (!status.ok()) return status;
  if (!remains.manifests || !remains.beyond_creation) return Status::NotFound();
  return WithRemedy(
      Status::Corruption("expected a file that names the manifest, got none beside manifests")
          .WithPlace(path, 0));
}

Status ReadState(FileSystem* files, const std::string& path, ManifestState* state) {
  std::string content;
  Status status = kvdyno::ReadWholeFile(files, path, &content);
  if (status.not_found()) {
    return WithRemedy(Status::Corruption("expected the manifest that CURRENT names, got no file")
                          .WithPlace(path, 0));
  }
  if (!status.ok()) return status;
  Replay replay = ReplayManifest(content, path);
  std::vector<std::string> problems;
  if (replay.status.ok()) CheckState(replay.state, &problems);
  if (!problems.empty()) replay.status = Status::Corruption(problems.front()).WithPlace(path, 0);
  *state = std::move(replay.state);
  return WithRemedy(replay.status);
}

}  // namespace

Manifest::Manifest(FileSystem* files, std::string directory)
    : files_(files), directory_(std::move(directory)) {}
Manifest::~Manifest() = default;

Status Manifest::Create(FileSystem* files, const std::string& directory,
                        std::unique_ptr<Manifest>* manifest) {
  uint64_t number = 0;
  Status status = ReadCurrent(files, directory, &number);
  if (!status.not_found()) {
    return Status::InvalidArgument("create manifest in " + directory +
                                   ": expected a directory without one, got " +
                                   (status.ok() ? ManifestName(number) : status.message()));
  }
  ManifestState state;
  state.chunks.emplace("", ChunkRecord{.id = 1, .min_key = {}, .table = {}, .log = {}});
  state.next_chunk_id = 2;
  std::unique_ptr<Manifest> made(new Manifest(files, directory));
  made->state_ = std::move(state);
  status = made->BeginFile();
  if (status.ok()) *manifest = std::move(made);
  return status;
}

Status Manifest::Replace(FileSystem* files, const std::string& directory, ManifestState state,
                         std::unique_ptr<Manifest>* manifest) {
  Remains remains;
  Status status = Survey(files, directory, &remains);
  if (!status.ok()) return status;
  std::unique_ptr<Manifest> made(new Manifest(files, directory));
  made->state_ = std::move(state);
  made->number_ = remains.largest;
  status = made->BeginFile();
  if (status.ok()) *manifest = std::move(made);
  return status;
}

Status Manifest::Open(FileSystem* files, const std::string& directory, bool read_only,
                      std::unique_ptr<Manifest>* manifest) {
  std::unique_ptr<Manifest> opened(new Manifest(files, directory));
  Status status = ReadCurrent(files, directory, &opened->number_);
  if (!status.ok()) return status;
  const std::string path = PathOf(directory, ManifestName(opened->number_));
  status = ReadState(files, path, &opened->state_);
  if (!status.ok()) return status;
  opened->read_only_ = read_only;
  if (!read_only) {
    status = opened->BeginFile();
    if (!status.ok() && status.code() != Code::kNoSpace) return status;
    if (status.ok()) opened->RemoveOlder();
  }
  *manifest = std::move(opened);
  return Status::Ok();
}

Status Manifest::WriteSnapshot(uint64_t number, std::unique_ptr<WritableFile>* file,
                               uint64_t* bytes) {
  const std::string content = EncodeManifest(state_);
  *bytes = content.size();
  Status status = files_->Create(PathOf(directory_, ManifestName(number)), false, file);
  if (status.ok()) status = (*file)->Append(content);
  if (status.ok()) status = (*file)->Sync();
  // The entry first, so that CURRENT never names a file that a power loss takes away.
  if (status.ok()) status = files_->SyncDirectory(directory_);
  return status;
}

// Begins the next file with the whole state. Until CURRENT names it, failure leaves everything as
// it was.
Status Manifest::BeginFile() {
  const uint64_t number = number_ + 1;
  std::unique_ptr<WritableFile> file;
  uint64_t bytes = 0;
  Status status = WriteSnapshot(number, &file, &bytes);
  if (status.ok()) {
    status = ReplaceFile(files_, directory_, kCurrentName, EncodeCurrent(number));
    if (!status.ok()) {
      // Did the rename happen? If so, or if that is unknown, either file may be the one that the
      // next Open reads, and going on with one of them could lose edits.
      uint64_t named = 0;
      const Status read = ReadCurrent(files_, directory_, &named);
      const bool unchanged = number_ == 0 ? read.not_found() : read.ok() && named == number_;
      if (!unchanged) failure_ = status;
    }
  }
  if (!status.ok()) {
    file.reset();
    // A file that CURRENT may name has to stay; a stray one goes now or at the next Open.
    if (failure_.ok()) (void)files_->Remove(PathOf(directory_, ManifestName(number)));
    return status;
  }
  number_ = number;
  file_ = std::move(file);
  bytes_ = bytes;
  rewrite_at_bytes_ = kRewriteFactor * bytes + kRewriteBytes;
  return Status::Ok();
}

// What cannot be removed now is removed by the next Open; it is never read.
void Manifest::RemoveOlder() {
  std::vector<std::string> names;
  if (!files_->List(directory_, &names).ok()) return;
  for (const std::string& name : names) {
    uint64_t number = 0;
    const bool stray = ParseManifestName(name, &number)
                           ? number != number_
                           : name == std::string(kCurrentName) + ".new";
    if (stray) (void)files_->Remove(PathOf(directory_, name));
  }
}

Status Manifest::Apply(const Edit& edit, bool sync) {
  if (!failure_.ok()) return failure_;
  if (read_only_) {
    return {Code::kReadOnly, "write manifest in " + directory_ +
                                 ": expected a store open for writing, got one open for reading"};
  }
  EditPlan plan;
  Status status = EditPlan::Make(edit, &state_, &plan);
  if (!status.ok()) return status;
  const std::string bytes = EncodeEdit(edit);
  if (bytes.size() > UINT32_MAX) {
    return Status::InvalidArgument("write manifest in " + directory_ +
                                   ": expected an edit of at most 4 GiB, got " +
                                   std::to_string(bytes.size()) + " bytes");
  }
  status = MakeRoom();
  if (status.ok() && !bytes.empty()) status = AppendFrame(bytes, sync);
  if (status.ok()) plan.Execute();
  return status;
}

// Begins a new file where the old one cannot be used any more, or has grown too long.
Status Manifest::MakeRoom() {
  if (file_ != nullptr && bytes_ < rewrite_at_bytes_) return Status::Ok();
  Status status = BeginFile();
  if (status.ok()) {
    RemoveOlder();
  } else if (!failed() && file_ != nullptr) {
    rewrite_at_bytes_ = bytes_ + kRewriteBytes;  // the old file still serves; again later
    return Status::Ok();
  }
  return status;
}

Status Manifest::AppendFrame(std::string_view edit, bool sync) {
  std::string frame;
  AppendManifestFrame(&frame, edit);
  Status status = file_->Append(frame);
  if (!status.ok()) {
    CutTail();
    return status;
  }
  if (sync) status = file_->Sync();
  if (!status.ok()) {
    failure_ = status;
    return status;
  }
  bytes_ += frame.size();
  if (!sync) return status;
  std::string mark;
  AppendManifestMark(&mark, bytes_);
  if (file_->Append(mark).ok()) {
    bytes_ += mark.size();
  } else {
    CutTail();  // the edit itself is durable
  }
  return status;
}

// After a failed append it is unknown what the file's end holds. It is cut off, and the next Apply
// begins a new file.
void Manifest::CutTail() {
  file_.reset();
  const std::string path = PathOf(directory_, ManifestName(number_));
  const Status status = files_->Truncate(path, bytes_);
  if (!status.ok()) failure_ = status;
}

}  // namespace chunkstore
