#include "funk/warmth.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "funk/format.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"

namespace chunkstore {

namespace {

constexpr std::string_view kPrefix = "warmth-";
constexpr uint32_t kMagic = 0x4d524157;  // "WARM"
constexpr uint32_t kFormat = 1;
constexpr size_t kWarmthFooterBytes = 32;

Status ReadExactly(const kvdyno::RandomAccessFile& file, uint64_t offset, uint64_t length,
                   std::string* bytes) {
  bytes->resize(length);
  size_t read = 0;
  Status status = file.Read(offset, length, bytes->data(), &read);
  if (status.ok() && read != length) {
    status = Status::Corruption("expected " + std::to_string(length) + " bytes, got " +
                                std::to_string(read));
  }
  return status;
}

bool ReadChunk(kvdyno::Reader* reader, ChunkWarmth* chunk) {
  uint64_t reads = 0, scans = 0;
  if (!reader->Varint(&chunk->id) || !reader->Varint(&reads) || !reader->Varint(&scans) ||
      !reader->Varint(&chunk->runs) || !reader->Varint(&chunk->offset) ||
      !reader->Varint(&chunk->length) || !reader->Fixed(&chunk->checksum)) {
    return false;
  }
  chunk->reads = static_cast<uint32_t>(std::min<uint64_t>(reads, UINT32_MAX));
  chunk->scans = static_cast<uint32_t>(std::min<uint64_t>(scans, UINT32_MAX));
  return true;
}

}  // namespace

std::string WarmthName(uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "warmth-%06llu", static_cast<unsigned long long>(number));
  return name;
}

bool ParseWarmthName(std::string_view name, uint64_t* number) {
  uint64_t value = 0;
  if (!ParseNumberIn(name, kPrefix, "", &value)) return false;
  *number = value;
  return WarmthName(value) == name;
}

void RemoveWarmth(kvdyno::FileSystem* files, const std::string& directory, uint64_t kept) {
  std::vector<std::string> names;
  if (!files->List(directory, &names).ok()) return;
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (!ParseWarmthName(name, &number) || number == kept) continue;
    static_cast<void>(files->Remove(directory + "/" + name));
  }
}

Status Warmth::Open(kvdyno::FileSystem* files, const std::string& path,
                    std::shared_ptr<const Warmth>* warmth) {
  std::shared_ptr<Warmth> opened(new Warmth);
  opened->path_ = path;
  Status status = files->OpenForRead(path, false, &opened->file_);
  if (status.ok()) status = opened->ReadTable();
  if (status.ok()) *warmth = std::move(opened);
  return status;
}

Status Warmth::ReadTable() {
  const uint64_t size = file_->size();
  const auto damaged = [&](uint64_t offset, const char* text) {
    return Status::Corruption(std::string("warmth: ") + text).WithPlace(path_, offset);
  };
  if (size < kWarmthFooterBytes) return damaged(0, "expected a footer, got a shorter file");
  const uint64_t footer_offset = size - kWarmthFooterBytes;
  std::string bytes;
  if (Status status = ReadExactly(*file_, footer_offset, kWarmthFooterBytes, &bytes);
      !status.ok()) {
    return status;
  }
  kvdyno::Reader footer(bytes);
  uint64_t table_offset = 0, chunks = 0;
  uint32_t table_checksum = 0, format = 0, checksum = 0, magic = 0;
  (void)(footer.Fixed(&table_offset) && footer.Fixed(&chunks) && footer.Fixed(&table_checksum) &&
         footer.Fixed(&format) && footer.Fixed(&checksum) && footer.Fixed(&magic));
  const size_t covered = kWarmthFooterBytes - 2 * sizeof(uint32_t);
  if (magic != kMagic || format != kFormat ||
      checksum != kvdyno::Crc32c(std::string_view(bytes).substr(0, covered)) ||
      table_offset > footer_offset) {
    return damaged(footer_offset, "expected a footer with its checksum, got other bytes");
  }
  if (Status status = ReadExactly(*file_, table_offset, footer_offset - table_offset, &bytes);
      !status.ok()) {
    return status;
  }
  kvdyno::Reader table(bytes);
  bool fine = kvdyno::Crc32c(bytes) == table_checksum && chunks <= bytes.size();
  for (uint64_t i = 0; fine && i < chunks; ++i) {
    ChunkWarmth chunk;
    fine = ReadChunk(&table, &chunk) && chunk.offset <= table_offset &&
           chunk.length <= table_offset - chunk.offset &&
           (chunks_.empty() || chunks_.back().id < chunk.id);
    chunks_.push_back(chunk);
  }
  if (!fine || !table.rest().empty()) {
    return damaged(table_offset, "expected a table with its checksum, got other bytes");
  }
  return Status::Ok();
}

const ChunkWarmth* Warmth::Find(uint64_t id) const {
  const auto at =
      std::lower_bound(chunks_.begin(), chunks_.end(), id,
                       [](const ChunkWarmth& chunk, uint64_t wanted) { return chunk.id < wanted; });
  return at != chunks_.end() && at->id == id ? &*at : nullptr;
}

Status Warmth::Read(const ChunkWarmth& chunk, std::string* index) const {
  if (Status status = ReadExactly(*file_, chunk.offset, chunk.length, index); !status.ok()) {
    return status;
  }
  if (kvdyno::Crc32c(*index) == chunk.checksum) return Status::Ok();
  return Status::Corruption("warmth: expected the log index of chunk " + std::to_string(chunk.id) +
                            " with its checksum, got other bytes")
      .WithPlace(path_, chunk.offset);
}

Status WarmthWriter::Create(kvdyno::FileSystem* files, const std::string& directory,
                            uint64_t number, std::unique_ptr<WarmthWriter>* writer) {
  auto made = std::make_unique<WarmthWriter>();
  made->files_ = files;
  made->directory_ = directory;
  Status status = files->Create(directory + "/" + WarmthName(number), false, &made->file_);
  if (status.ok()) *writer = std::move(made);
  return status;
}

Status WarmthWriter::Add(ChunkWarmth chunk, std::string_view index) {
  chunk.offset = file_->size();
  chunk.length = index.size();
  chunk.checksum = kvdyno::Crc32c(index);
  chunks_.push_back(chunk);
  return index.empty() ? Status::Ok() : file_->Append(index);
}

Status WarmthWriter::Finish() {
  std::sort(chunks_.begin(), chunks_.end(),
            [](const ChunkWarmth& a, const ChunkWarmth& b) { return a.id < b.id; });
  std::string table;
  for (const ChunkWarmth& chunk : chunks_) {
    for (const uint64_t field : {chunk.id, uint64_t{chunk.reads}, uint64_t{chunk.scans}, chunk.runs,
                                 chunk.offset, chunk.length}) {
      kvdyno::AppendVarint(&table, field);
    }
    kvdyno::AppendFixed(&table, chunk.checksum);
  }
  std::string footer;
  kvdyno::AppendFixed(&footer, file_->size());
  kvdyno::AppendFixed(&footer, uint64_t{chunks_.size()});
  kvdyno::AppendFixed(&footer, kvdyno::Crc32c(table));
  kvdyno::AppendFixed(&footer, kFormat);
  kvdyno::AppendFixed(&footer, kvdyno::Crc32c(footer));
  kvdyno::AppendFixed(&footer, kMagic);
  Status status = file_->Append(table + footer);
  if (status.ok()) status = file_->Sync();
  if (status.ok()) status = files_->SyncDirectory(directory_);
  return status;
}

}  // namespace chunkstore
