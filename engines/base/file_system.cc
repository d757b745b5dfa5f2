#include "kvdyno/base/file_system.h"

#include <filesystem>
#include <new>

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

AlignedBuffer::AlignedBuffer(size_t size) : size_(size) {
  if (size == 0) return;
  data_.reset(static_cast<char*>(::operator new(size, std::align_val_t{kDirectAlignment})));
}

void AlignedBuffer::Free::operator()(char* data) const {
  ::operator delete(data, std::align_val_t{kDirectAlignment});
}

}  // namespace kvdyno
