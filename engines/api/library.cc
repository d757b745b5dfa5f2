#include "kvdyno/api/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <vector>

namespace kvdyno {

namespace {

// Views into an ELF file of this machine's class, mapped; everything is checked against its size.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : bytes_(Mapped(path)) {
    const auto* header = At<ElfW(Ehdr)>(0);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    for (size_t i = 0; i < header->e_shnum; ++i) {
      const auto* section = At<ElfW(Shdr)>(header->e_shoff + i * header->e_shentsize);
      if (section != nullptr) sections_.push_back(section);
    }
    if (header->e_shstrndx < sections_.size()) names_ = sections_[header->e_shstrndx];
  }

  ~ElfFile() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool readable() const { return names_ != nullptr; }

  // Whether the dynamic symbols name one that other files have to provide.
  bool Imports(std::string_view name) const {
    for (const ElfW(Shdr) * section : sections_) {
      if (section->sh_type != SHT_DYNSYM || section->sh_link >= sections_.size()) continue;
      const ElfW(Shdr)* texts = sections_[section->sh_link];
      for (size_t i = 0; i < section->sh_size / sizeof(ElfW(Sym)); ++i) {
        const auto* symbol = At<ElfW(Sym)>(section->sh_offset + i * sizeof(ElfW(Sym)));
        if (symbol == nullptr || symbol->st_shndx != SHN_UNDEF) continue;
        if (Text(texts->sh_offset + symbol->st_name) == name) return true;
      }
    }
    return false;
  }

  // The first text of a section; empty without one.
  std::string FirstTextOf(std::string_view name) const {
    for (const ElfW(Shdr) * section : sections_) {
      if (Text(names_->sh_offset + section->sh_name) == name) {
        return std::string(Text(section->sh_offset));
      }
    }
    return "";
  }

 private:
  template <typename T>
  const T* At(size_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(bytes_.data() + offset);
  }

  std::string_view Text(size_t offset) const {
    if (offset >= bytes_.size()) return {};
    const char* text = bytes_.data() + offset;
    return {text, strnlen(text, bytes_.size() - offset)};
  }

  static std::span<char> Mapped(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    struct stat status{};
    void* start = MAP_FAILED;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
      start = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    }
    close(file);
    if (start == MAP_FAILED) return {};
    return {static_cast<char*>(start), static_cast<size_t>(status.st_size)};
  }

  std::span<char> bytes_;
  std::vector<const ElfW(Shdr)*> sections_;
  const ElfW(Shdr) * names_ = nullptr;
};

// The file that holds the function, and whether that is the program itself.
struct Place {
  std::string file;
  bool is_program = false;
};

Place PlaceOf(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&ProbeAllocator), &own);
  const bool is_program = info.dli_fbase == own.dli_fbase;
  return {is_program ? "/proc/self/exe" : info.dli_fname, is_program};
}

double BestNanosecondsPerByte(const std::function<uint32_t(std::string_view)>& checksum) {
  constexpr size_t kRounds = 200;
  using Clock = std::chrono::steady_clock;
  const std::string block(4096, 'x');
  volatile uint32_t kept = 0;  // so that no call is left out
  double best = 1e9;
  for (size_t round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    kept = checksum(block);
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    best = std::min(best, took.count() / static_cast<double>(block.size()));
  }
  static_cast<void>(kept);
  return best;
}

}  // namespace

LibraryFacts ProbeLibrary(const void* function, bool linked_assertions) {
  LibraryFacts facts;
  facts.allocator = ProbeAllocator();
  const Place place = PlaceOf(function);
  const ElfFile file(place.file);
  if (!file.readable()) return facts;
  facts.assertions = place.is_program ? linked_assertions : file.Imports("__assert_fail");
  facts.compiler = file.FirstTextOf(".comment");
  return facts;
}

std::string ProbeChecksum(const std::function<uint32_t(std::string_view)>& checksum) {
  return BestNanosecondsPerByte(checksum) < 0.5 ? "hardware" : "software";
}

std::string ProbeAllocator() {
  constexpr std::array<std::array<const char*, 2>, 3> kKnown = {
      {{"mallctl", "jemalloc"}, {"tc_malloc", "tcmalloc"}, {"mi_malloc", "mimalloc"}}};
  for (const auto& [symbol, name] : kKnown) {
    if (dlsym(RTLD_DEFAULT, symbol) != nullptr) return name;
  }
  return std::string("glibc ") + gnu_get_libc_version();
}

}  // namespace kvdyno
