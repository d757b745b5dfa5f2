// Mutex, its guard and condition variable: those of the C++ library, with the attributes by which
// clang checks that what a lock guards is used under it (`make locks`). Other compilers see none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define KVDYNO_LOCKS(attribute) __attribute__((attribute))
#else
#define KVDYNO_LOCKS(attribute)
#endif
// For a member: only under this mutex; of what a pointer leads to.
#define KVDYNO_GUARDED_BY(mutex) KVDYNO_LOCKS(guarded_by(mutex))
#define KVDYNO_POINTEE_GUARDED_BY(mutex) KVDYNO_LOCKS(pt_guarded_by(mutex))
// For a function: the caller holds it; must not hold it; the call takes it; the call releases it.
#define KVDYNO_REQUIRES(...) KVDYNO_LOCKS(requires_capability(__VA_ARGS__))
#define KVDYNO_EXCLUDES(...) KVDYNO_LOCKS(locks_excluded(__VA_ARGS__))
#define KVDYNO_ACQUIRES(...) KVDYNO_LOCKS(acquire_capability(__VA_ARGS__))
#define KVDYNO_RELEASES(...) KVDYNO_LOCKS(release_capability(__VA_ARGS__))
// Not checked: the object is not shared yet, or no longer.
#define KVDYNO_UNSHARED KVDYNO_LOCKS(no_thread_safety_analysis)

namespace kvdyno {

// A hint to the processor that this thread is in a spin loop.
inline void SpinPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class KVDYNO_LOCKS(capability("mutex")) Mutex {
 public:
  void Lock() KVDYNO_ACQUIRES() { mutex_.lock(); }
  void Unlock() KVDYNO_RELEASES() { mutex_.unlock(); }
  // For locks that are held for less than a microsecond: trying a few times is cheaper than going
  // to sleep.
  void LockSoon() KVDYNO_ACQUIRES() {
    for (int i = 0; i < 64; ++i) {
      if (mutex_.try_lock()) return;
      SpinPause();
    }
    mutex_.lock();
  }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class KVDYNO_LOCKS(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KVDYNO_ACQUIRES(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() KVDYNO_RELEASES() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  void NotifyAll() { condition_.notify_all(); }
  // May return early: ask again what was waited for.
  void WaitFor(Mutex* mutex, std::chrono::duration<double> most) KVDYNO_REQUIRES(mutex) {
    std::unique_lock lock(mutex->mutex_, std::adopt_lock);
    condition_.wait_for(lock, most);
    lock.release();
  }

 private:
  std::condition_variable condition_;
};

}  // namespace kvdyno
