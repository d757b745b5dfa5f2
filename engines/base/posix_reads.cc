#include "posix_reads.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "posix_error.h"
#include "posix_files.h"

namespace kvdyno {
namespace {

// The file's descriptor where it is read directly, else -1.
int DirectDescriptor(const RandomAccessFile* file) {
  const auto* posix = dynamic_cast<const PosixRandomAccessFile*>(file);
  return posix != nullptr && posix->direct() ? posix->descriptor() : -1;
}

iocb BlockOf(FileRead* read, int descriptor) {
  iocb block{};
  block.aio_data = reinterpret_cast<uintptr_t>(read);
  block.aio_lio_opcode = IOCB_CMD_PREAD;
  block.aio_fildes = static_cast<uint32_t>(descriptor);
  block.aio_buf = reinterpret_cast<uintptr_t>(read->buffer);
  block.aio_nbytes = read->length;
  block.aio_offset = static_cast<int64_t>(read->offset);
  return block;
}

// Sets `read` of those that were read whole. False if the queue is of no use any more; then nothing
// is on its way.
bool ReadRound(aio_context_t queue, std::vector<iocb>* round) {
  std::vector<iocb*> blocks;
  for (iocb& block : *round) blocks.push_back(&block);
  const long submitted = Uninterrupted([&] {
    return ::syscall(SYS_io_submit, queue, static_cast<long>(blocks.size()), blocks.data());
  });
  if (submitted <= 0) return false;
  std::array<io_event, 32> events;
  for (long done = 0; done < submitted;) {
    const long left = std::min<long>(submitted - done, static_cast<long>(events.size()));
    const long got = Uninterrupted(
        [&] { return ::syscall(SYS_io_getevents, queue, left, left, events.data(), nullptr); });
    if (got <= 0) {  // destroying it waits for what is on its way
      ::syscall(SYS_io_destroy, queue);
      return false;
    }
    for (long i = 0; i < got; ++i) {
      auto* read = reinterpret_cast<FileRead*>(events[static_cast<size_t>(i)].data);
      if (events[static_cast<size_t>(i)].res == static_cast<int64_t>(read->length)) {
        read->read = read->length;
      }
    }
    done += got;
  }
  return true;
}

}  // namespace

void PosixReads::Together(std::vector<FileRead>* reads) {
  std::vector<iocb> round;
  aio_context_t queue = reads->size() > 1 ? Take() : 0;
  const auto read_round = [&] {
    if (queue != 0 && round.size() > 1 && !ReadRound(queue, &round)) queue = 0;
    round.clear();
  };
  for (FileRead& read : *reads) {
    read.read = 0;
    const int descriptor = queue == 0 ? -1 : DirectDescriptor(read.file);
    if (descriptor < 0) continue;
    round.push_back(BlockOf(&read, descriptor));
    if (round.size() == kDepth) read_round();
  }
  read_round();
  if (queue != 0) GiveBack(queue);
  for (FileRead& read : *reads) {
    if (read.length == 0 || read.read < read.length) {
      read.status = read.file->Read(read.offset, read.length, read.buffer, &read.read);
    } else {
      read.status = Status::Ok();
    }
  }
}

aio_context_t PosixReads::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const aio_context_t queue = idle_.back();
      idle_.pop_back();
      return queue;
    }
  }
  aio_context_t queue = 0;
  return ::syscall(SYS_io_setup, static_cast<long>(kDepth), &queue) == 0 ? queue : 0;
}

void PosixReads::GiveBack(aio_context_t queue) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(queue);
}

}  // namespace kvdyno
