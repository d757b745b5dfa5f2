#include "kvdyno/base/file_system.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

namespace kvdyno {
namespace {

Status WriteSynced(FileSystem* files, const std::string& path, std::string_view content) {
  std::unique_ptr<WritableFile> file;
  Status status = files->Create(path, /*direct=*/false, &file);
  if (status.ok()) status = file->Append(content);
  if (status.ok()) status = file->Sync();
  return status;
}

}  // namespace

void FileSystem::ReadTogether(std::vector<FileRead>* reads) {
  for (FileRead& read : *reads) {
    read.status = read.file->Read(read.offset, read.length, read.buffer, &read.read);
  }
}

Status ReadWholeFile(FileSystem* files, const std::string& path, std::string* content) {
  content->clear();
  std::unique_ptr<RandomAccessFile> file;
  if (Status status = files->OpenForRead(path, /*direct=*/false, &file); !status.ok()) {
    return status;
  }
  content->resize(file->size());
  size_t read = 0;
  Status status = file->Read(0, content->size(), content->data(), &read);
  content->resize(status.ok() ? read : 0);
  return status;
}

Status SyncParent(FileSystem* files, const std::string& directory) {
  const std::string parent = std::filesystem::path(directory + "/.").parent_path().parent_path();
  return files->SyncDirectory(parent.empty() ? "." : parent);
}

Status ReplaceFile(FileSystem* files, const std::string& directory, const std::string& name,
                   std::string_view content) {
  const std::string path = directory + "/" + name;
  const std::string unfinished = path + ".new";
  Status status = WriteSynced(files, unfinished, content);
  if (status.ok()) status = files->Rename(unfinished, path);
  if (!status.ok()) {
    // Its failure would hide the reason; the next replacement overwrites what is left.
    [[maybe_unused]] const Status removed = files->Remove(unfinished);
    return status;
  }
  return files->SyncDirectory(directory);
}

namespace {

// From this size on buffers may be used again, and so have sizes that are likely to fit.
constexpr size_t kLarge = size_t{256} << 10, kLargeUnit = size_t{64} << 10;

struct SpareBuffer {
  char* data;
  size_t capacity;
};

struct SpareBuffers {
  std::vector<SpareBuffer> all;
  size_t bytes = 0;
};

thread_local SpareBuffers* spare_buffers = nullptr;  // of the thread's BufferReuse

void Delete(char* data) { ::operator delete(data, std::align_val_t{kDirectAlignment}); }

// The last one given up that is large enough, but not twice as large; null if there is none.
char* TakeSpare(size_t size, size_t* capacity) {
  if (size < kLarge || spare_buffers == nullptr) return nullptr;
  auto& all = spare_buffers->all;
  const auto fits = [size](const SpareBuffer& spare) {
    return spare.capacity >= size && spare.capacity / 2 < size;
  };
  const auto at = std::find_if(all.rbegin(), all.rend(), fits);
  if (at == all.rend()) return nullptr;
  const SpareBuffer taken = *at;
  all.erase(std::next(at).base());
  spare_buffers->bytes -= taken.capacity;
  *capacity = taken.capacity;
  return taken.data;
}

}  // namespace

AlignedBuffer::AlignedBuffer(size_t size) : size_(size) {
  if (size == 0) return;
  size_t capacity = size < kLarge ? size : (size + kLargeUnit - 1) / kLargeUnit * kLargeUnit;
  char* data = TakeSpare(size, &capacity);
  if (data == nullptr) {
    data = static_cast<char*>(::operator new(capacity, std::align_val_t{kDirectAlignment}));
  }
  data_ = {data, Free{capacity}};
}

void AlignedBuffer::Free::operator()(char* data) const {
  if (capacity < kLarge || spare_buffers == nullptr ||
      spare_buffers->bytes + capacity > BufferReuse::kMost) {
    return Delete(data);
  }
  spare_buffers->all.push_back({data, capacity});
  spare_buffers->bytes += capacity;
}

BufferReuse::BufferReuse() { spare_buffers = new SpareBuffers; }

BufferReuse::~BufferReuse() {
  for (const SpareBuffer& spare : spare_buffers->all) Delete(spare.data);
  delete std::exchange(spare_buffers, nullptr);
}

}  // namespace kvdyno
