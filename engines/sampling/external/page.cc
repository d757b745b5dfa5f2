#include "external/page.h"

#include <algorithm>
#include <string_view>

#include "kvdyno/base/crc32c.h"

namespace sampling {
namespace {

template <typename Block>
uint32_t ChecksumOf(const Block& block) {
  constexpr size_t kFrom = sizeof block.checksum;
  return kvdyno::Crc32c({reinterpret_cast<const char*>(&block) + kFrom, sizeof block - kFrom});
}

Status Expected(const char* what, uint64_t expected, uint64_t found) {
  return Status::Corruption(std::string(what) + ": expected " + std::to_string(expected) +
                            ", got " + std::to_string(found));
}

}  // namespace

void Page::Seal() { checksum = ChecksumOf(*this); }
void Footer::Seal() { checksum = ChecksumOf(*this); }

Status PageFile::Open(kvdyno::FileSystem* files, std::string path, uint32_t shard, uint32_t pages,
                      uint64_t entries, std::unique_ptr<PageFile>* file) {
  std::unique_ptr<PageFile> opened(new PageFile(files, std::move(path), shard));
  Status status = files->OpenForRead(opened->path_, /*direct=*/true, &opened->file_);
  if (!status.ok()) return status;
  const uint64_t at = uint64_t{pages} * sizeof(Page);
  if (opened->file_->size() != at + sizeof(Footer)) {
    return Expected("size of a shard's file", at + sizeof(Footer), opened->file_->size())
        .WithPlace(opened->path_, 0);
  }
  const auto footer = std::make_unique<Footer>();
  size_t read = 0;
  status = opened->file_->Read(at, sizeof(Footer), reinterpret_cast<char*>(footer.get()), &read);
  if (!status.ok()) return status;
  if (read != sizeof(Footer)) {
    status = Expected("footer's bytes", sizeof(Footer), read);
  } else if (footer->magic != Footer::kMagic) {
    status = Expected("footer's magic", Footer::kMagic, footer->magic);
  } else if (footer->version != Footer::kVersion) {
    status = Expected("footer's version", Footer::kVersion, footer->version);
  } else if (footer->checksum != ChecksumOf(*footer)) {
    status = Expected("footer's checksum", footer->checksum, ChecksumOf(*footer));
  } else if (footer->entries != entries) {
    status = Expected("footer's entries", entries, footer->entries);
  }
  if (!status.ok()) return status.WithPlace(opened->path_, at);
  *file = std::move(opened);
  return Status::Ok();
}

PageFile::~PageFile() {
  file_.reset();
  // What cannot be removed is removed when the directory is next opened.
  [[maybe_unused]] const Status removed = files_->Remove(path_);
}

Status PageFile::Check(const Page& page, uint32_t number, size_t read) const {
  Status status;
  if (read != sizeof(Page)) {
    status = Expected("page's bytes", sizeof(Page), read);
  } else if (page.checksum != ChecksumOf(page)) {
    status = Expected("page's checksum", page.checksum, ChecksumOf(page));
  } else if (page.shard != shard_) {
    status = Expected("page's shard", shard_, page.shard);
  } else if (page.number != number) {
    status = Expected("page's number", number, page.number);
  }
  return status.ok() ? status : status.WithPlace(path_, uint64_t{number} * sizeof(Page));
}

Status PageFile::Read(uint32_t number, std::span<Page> pages) const {
  size_t read = 0;
  Status status = file_->Read(uint64_t{number} * sizeof(Page), pages.size_bytes(),
                              reinterpret_cast<char*>(pages.data()), &read);
  for (size_t i = 0; status.ok() && i < pages.size(); ++i) {
    const size_t rest = read - std::min(read, i * sizeof(Page));
    status = Check(pages[i], number + static_cast<uint32_t>(i), std::min(rest, sizeof(Page)));
  }
  return status;
}

}  // namespace sampling
