#include "posix_reads.h"

#include <sys/syscall.h>
#include <unistd.h>

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

// Sets `read` of those that were read whole. False after an error; the queue is then to be
// destroyed, for some may be on their way.
bool ReadRound(aio_context_t queue, std::vector<iocb>* round) {
  std::vector<iocb*> blocks;
  for (iocb& block : *round) blocks.push_back(&block);
  const long submitted = Uninterrupted([&] {
    return ::syscall(SYS_io_submit, queue, static_cast<long>(blocks.size()), blocks.data());
  });
  if (submitted <= 0) return false;
  std::vector<io_event> events(static_cast<size_t>(submitted));
  for (long done = 0; done < submitted;) {
    const long left = submitted - done;
    const long got = Uninterrupted([&] {
      return ::syscall(SYS_io_getevents, queue, left, left, events.data() + done, nullptr);
    });
    if (got <= 0) return false;
    done += got;
  }
  for (const io_event& event : events) {
    auto* read = reinterpret_cast<FileRead*>(event.data);
    if (event.res == static_cast<int64_t>(read->length)) read->read = read->length;
  }
  return true;
}

}  // namespace

void PosixReads::Together(std::vector<FileRead>* reads) {
  std::vector<iocb> round;
  aio_context_t queue = reads->size() > 1 ? Take() : 0;
  const auto read_round = [&] {
    if (queue != 0 && round.size() > 1 && !ReadRound(queue, &round)) {
      ::syscall(SYS_io_destroy, queue);  // waits for what is on its way
      queue = 0;
    }
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
    const MutexLock lock(mutex_);
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
  const MutexLock lock(mutex_);
  idle_.push_back(queue);
}

}  // namespace kvdyno
