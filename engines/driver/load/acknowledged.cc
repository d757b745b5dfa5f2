// The mapped rings. A slot is written before the count that covers it; a kill can tear one slot at
// most, the one that the count does not cover yet.
#include "load/acknowledged.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace kvdyno {
namespace {

constexpr uint64_t kMagic = 0x31306b63616b766bu;  // "kvkack01"
constexpr uint64_t kHeaderBytes = 64;             // magic, clients
constexpr uint64_t kCountBytes = 64;              // before each ring
constexpr uint64_t kRingBytes = kCountBytes + AcknowledgedWrites::kKept * sizeof(AcknowledgedWrite);

uint64_t LoadWord(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

Status SystemError(const std::string& action, const std::string& path) {
  return Status::IoError(action + " " + path + ": " + std::strerror(errno));
}

// The slot after the last one may be torn, and is the oldest of a full ring: it is left out.
ClientWrites ReadRing(const char* ring) {
  constexpr uint64_t kept = AcknowledgedWrites::kKept;
  const uint64_t count = LoadWord(ring);
  ClientWrites client;
  client.complete = count < kept;
  const uint64_t first = client.complete ? 0 : count - kept + 1;
  for (uint64_t i = first; i < count; ++i) {
    AcknowledgedWrite& write = client.writes.emplace_back();
    std::memcpy(&write, ring + kCountBytes + i % kept * sizeof write, sizeof write);
  }
  return client;
}

}  // namespace

Status AcknowledgedWrites::Create(const std::string& path, uint64_t clients,
                                  std::unique_ptr<AcknowledgedWrites>* writes) {
  const uint64_t bytes = kHeaderBytes + clients * kRingBytes;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return SystemError("create", path);
  // Blocks are allocated now: a full disk must not end a client by SIGBUS later.
  const int refused = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  void* memory = MAP_FAILED;
  errno = refused;
  if (refused == 0) memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const Status status = memory == MAP_FAILED ? SystemError("map", path) : Status::Ok();
  close(fd);
  if (!status.ok()) return status;
  const uint64_t header[] = {kMagic, clients};
  std::memcpy(memory, header, sizeof header);
  writes->reset(new AcknowledgedWrites(static_cast<char*>(memory), bytes));
  return Status::Ok();
}

AcknowledgedWrites::~AcknowledgedWrites() { munmap(memory_, bytes_); }

void AcknowledgedWrites::Book(uint64_t client, const AcknowledgedWrite& write) {
  char* const ring = memory_ + kHeaderBytes + client * kRingBytes;
  std::atomic_ref<uint64_t> count(*reinterpret_cast<uint64_t*>(ring));
  const uint64_t number = count.load(std::memory_order_relaxed);
  std::memcpy(ring + kCountBytes + number % kKept * sizeof write, &write, sizeof write);
  count.store(number + 1, std::memory_order_release);
}

Status ReadAcknowledged(const std::string& path, std::vector<ClientWrites>* clients) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream content;
  content << stream.rdbuf();
  if (!stream) return SystemError("read", path);
  const std::string bytes = content.str();
  const bool known = bytes.size() >= kHeaderBytes && LoadWord(bytes.data()) == kMagic;
  const uint64_t count = known ? LoadWord(bytes.data() + sizeof kMagic) : 0;
  if (!known || bytes.size() != kHeaderBytes + count * kRingBytes) {
    return Status::Corruption("read " + path + ": expected acknowledged writes of a killed run");
  }
  clients->clear();
  for (uint64_t i = 0; i < count; ++i) {
    clients->push_back(ReadRing(bytes.data() + kHeaderBytes + i * kRingBytes));
  }
  return Status::Ok();
}

}  // namespace kvdyno
