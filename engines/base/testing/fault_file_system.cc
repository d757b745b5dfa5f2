#include "kvdyno/base/testing/fault_file_system.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace kvdyno::testing {

struct FaultFileSystem::State {
  explicit State(FileSystem* files) : base(files) {}

  // Counts the call; Ok when it may go on to the base.
  Status Ask(const char* name, const std::string& path) {
    std::shared_ptr<const Plan> asked;
    Call call{name, path, 0};
    {
      const std::lock_guard lock(mutex);
      call.number = calls++;
      asked = plan;
    }
    return asked ? (*asked)(call) : Status::Ok();
  }

  FileSystem* const base;
  std::atomic<bool> partial = false;
  std::mutex mutex;
  uint64_t calls = 0;                // guarded by mutex
  std::shared_ptr<const Plan> plan;  // guarded by mutex; null: nothing fails

  class Reading;
  class Writing;
  class Mapping;
};

class FaultFileSystem::State::Reading final : public RandomAccessFile {
 public:
  Reading(std::shared_ptr<State> state, std::string path, std::unique_ptr<RandomAccessFile> base)
      : state_(std::move(state)), path_(std::move(path)), base_(std::move(base)) {}

  Status Read(uint64_t offset, size_t length, char* buffer, size_t* read) const override {
    *read = 0;
    Status status = state_->Ask("read", path_);
    return status.ok() ? base_->Read(offset, length, buffer, read) : status;
  }
  uint64_t size() const override { return base_->size(); }
  bool direct() const override { return base_->direct(); }
  size_t alignment() const override { return base_->alignment(); }

 private:
  const std::shared_ptr<State> state_;
  const std::string path_;
  const std::unique_ptr<RandomAccessFile> base_;
};

class FaultFileSystem::State::Writing final : public WritableFile {
 public:
  Writing(std::shared_ptr<State> state, std::string path, bool direct,
          std::unique_ptr<WritableFile> base)
      : state_(std::move(state)), path_(std::move(path)), direct_(direct), base_(std::move(base)) {}

  Status Append(std::string_view bytes) override {
    Status status = state_->Ask("append", path_);
    if (status.ok()) return base_->Append(bytes);
    if (state_->partial) {
      const size_t half = bytes.size() / 2;
      // The planned failure is what the caller learns, whatever becomes of the half.
      [[maybe_unused]] const Status written =
          base_->Append(bytes.substr(0, direct_ ? half - half % kDirectAlignment : half));
    }
    return status;
  }
  Status Sync() override {
    Status status = state_->Ask("sync", path_);
    return status.ok() ? base_->Sync() : status;
  }
  uint64_t size() const override { return base_->size(); }

 private:
  const std::shared_ptr<State> state_;
  const std::string path_;
  const bool direct_;
  const std::unique_ptr<WritableFile> base_;
};

class FaultFileSystem::State::Mapping final : public MappedFile {
 public:
  Mapping(std::shared_ptr<State> state, std::string path, std::unique_ptr<MappedFile> base)
      : state_(std::move(state)), path_(std::move(path)), base_(std::move(base)) {}

  char* data() override { return base_->data(); }
  size_t size() const override { return base_->size(); }
  Status Populate(size_t offset, size_t length) override {
    Status status = state_->Ask("populate mapping", path_);
    return status.ok() ? base_->Populate(offset, length) : status;
  }
  Status Sync(size_t offset, size_t length) override {
    Status status = state_->Ask("sync mapping", path_);
    return status.ok() ? base_->Sync(offset, length) : status;
  }
  void Forget(size_t offset, size_t length) override { base_->Forget(offset, length); }
  void ReadAhead(size_t offset, size_t length) override { base_->ReadAhead(offset, length); }
  size_t resident() const override { return base_->resident(); }

 private:
  const std::shared_ptr<State> state_;
  const std::string path_;
  const std::unique_ptr<MappedFile> base_;
};

FaultFileSystem::FaultFileSystem(FileSystem* base) : state_(std::make_shared<State>(base)) {}
FaultFileSystem::~FaultFileSystem() = default;

void FaultFileSystem::SetPlan(Plan plan) {
  auto shared = plan ? std::make_shared<const Plan>(std::move(plan)) : nullptr;
  const std::lock_guard lock(state_->mutex);
  state_->plan.swap(shared);
}

void FaultFileSystem::FailCall(uint64_t number, Status status) {
  SetPlan([number, failure = std::move(status)](const Call& call) {
    return call.number == number ? failure : Status::Ok();
  });
}

void FaultFileSystem::FailFrom(uint64_t number, Status status) {
  SetPlan([number, failure = std::move(status)](const Call& call) {
    return call.number >= number ? failure : Status::Ok();
  });
}

void FaultFileSystem::WritePartially(bool partial) { state_->partial = partial; }

uint64_t FaultFileSystem::calls() const {
  const std::lock_guard lock(state_->mutex);
  return state_->calls;
}

Status FaultFileSystem::OpenForRead(const std::string& path, bool direct,
                                    std::unique_ptr<RandomAccessFile>* file) {
  std::unique_ptr<RandomAccessFile> opened;
  Status status = state_->Ask("open", path);
  if (status.ok()) status = state_->base->OpenForRead(path, direct, &opened);
  if (status.ok()) *file = std::make_unique<State::Reading>(state_, path, std::move(opened));
  return status;
}

Status FaultFileSystem::Create(const std::string& path, bool direct,
                               std::unique_ptr<WritableFile>* file) {
  std::unique_ptr<WritableFile> created;
  Status status = state_->Ask("create", path);
  if (status.ok()) status = state_->base->Create(path, direct, &created);
  if (status.ok()) {
    *file = std::make_unique<State::Writing>(state_, path, direct, std::move(created));
  }
  return status;
}

Status FaultFileSystem::Map(const std::string& path, size_t size,
                            std::unique_ptr<MappedFile>* file) {
  std::unique_ptr<MappedFile> mapped;
  Status status = state_->Ask("map", path);
  if (status.ok()) status = state_->base->Map(path, size, &mapped);
  if (status.ok()) *file = std::make_unique<State::Mapping>(state_, path, std::move(mapped));
  return status;
}

Status FaultFileSystem::Rename(const std::string& from, const std::string& to) {
  Status status = state_->Ask("rename", from);
  return status.ok() ? state_->base->Rename(from, to) : status;
}

Status FaultFileSystem::Remove(const std::string& path) {
  Status status = state_->Ask("remove", path);
  return status.ok() ? state_->base->Remove(path) : status;
}

Status FaultFileSystem::Truncate(const std::string& path, uint64_t size) {
  Status status = state_->Ask("truncate", path);
  return status.ok() ? state_->base->Truncate(path, size) : status;
}

Status FaultFileSystem::PunchHole(const std::string& path, uint64_t offset, uint64_t length) {
  Status status = state_->Ask("punch", path);
  return status.ok() ? state_->base->PunchHole(path, offset, length) : status;
}

Status FaultFileSystem::CreateDirectory(const std::string& path) {
  Status status = state_->Ask("mkdir", path);
  return status.ok() ? state_->base->CreateDirectory(path) : status;
}

Status FaultFileSystem::SyncDirectory(const std::string& path) {
  Status status = state_->Ask("sync directory", path);
  return status.ok() ? state_->base->SyncDirectory(path) : status;
}

Status FaultFileSystem::List(const std::string& path, std::vector<std::string>* names) {
  Status status = state_->Ask("list", path);
  return status.ok() ? state_->base->List(path, names) : status;
}

Status FaultFileSystem::Size(const std::string& path, uint64_t* size) {
  Status status = state_->Ask("size", path);
  return status.ok() ? state_->base->Size(path, size) : status;
}

bool FaultFileSystem::Exists(const std::string& path) { return state_->base->Exists(path); }

Status FaultFileSystem::Lock(const std::string& path, std::unique_ptr<DirectoryLock>* lock) {
  Status status = state_->Ask("lock", path);
  return status.ok() ? state_->base->Lock(path, lock) : status;
}

Status FaultFileSystem::LockShared(const std::string& path, std::unique_ptr<DirectoryLock>* lock) {
  Status status = state_->Ask("lock", path);
  return status.ok() ? state_->base->LockShared(path, lock) : status;
}

}  // namespace kvdyno::testing
