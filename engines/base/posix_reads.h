// Several reads on the way at once, by the kernel's asynchronous input (io_submit, io_getevents).
// Unlike io_uring it is allowed in containers as they come; it does not wait for files that are
// read directly, the only ones it is used for. Owns the kernel's queues. Safe from any thread.
#pragma once

#include <linux/aio_abi.h>

#include <vector>

#include "kvdyno/base/file_system.h"
#include "kvdyno/base/mutex.h"

namespace kvdyno {

class PosixReads {
 public:
  // As FileSystem::ReadTogether. What the kernel refuses, fails or cuts short is read once more by
  // the file itself, which knows what to do or say.
  void Together(std::vector<FileRead>* reads);

 private:
  static constexpr size_t kDepth = 32;  // reads on the way at once

  aio_context_t Take();  // 0 where there is none to be had
  void GiveBack(aio_context_t queue);

  Mutex mutex_;
  std::vector<aio_context_t> idle_ KVDYNO_GUARDED_BY(mutex_);
};

}  // namespace kvdyno
