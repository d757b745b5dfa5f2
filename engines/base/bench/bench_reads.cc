// Reads with direct input: a whole file by one thread, in order, and 4 KiB at random places, one after the other and
// together: rate and CPU time. Prints CSV. Usage: bench_reads FILE, which is large and on a disk.
#include <sys/resource.h>

#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kvdyno/base/clock.h"
#include "kvdyno/base/file_system.h"

namespace kvdyno {
namespace {

constexpr uint64_t kReads = 20'000;  // of all threads
constexpr size_t kBlock = kDirectAlignment;
constexpr size_t kLargeRead = 1 << 20;

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// `together` 0: with RandomAccessFile::Read. False after an error.
bool ReadSome(const RandomAccessFile& file, uint64_t reads, size_t together, uint64_t seed) {
  std::mt19937_64 random(seed);
  const size_t batch = together == 0 ? 1 : together;
  AlignedBuffer buffer(batch * kBlock);
  std::vector<FileRead> asked(batch);
  for (uint64_t done = 0; done < reads; done += batch) {
    for (size_t i = 0; i < batch; ++i) {
      const uint64_t offset = random() % (file.size() / kBlock) * kBlock;
      asked[i] = {&file, offset, kBlock, buffer.data() + i * kBlock, 0, {}};
    }
    if (together == 0) {
      FileRead& read = asked[0];
      read.status = file.Read(read.offset, read.length, read.buffer, &read.read);
    } else {
      FileSystem::Posix()->ReadTogether(&asked);
    }
    for (const FileRead& read : asked) {
      if (!read.status.ok()) return false;
    }
  }
  return true;
}

// The whole file but for a part of a large read at its end. False after an error.
bool ReadThrough(const RandomAccessFile& file) {
  AlignedBuffer buffer(kLargeRead);
  size_t read = 0;
  for (uint64_t offset = 0; offset + kLargeRead <= file.size(); offset += kLargeRead) {
    if (!file.Read(offset, kLargeRead, buffer.data(), &read).ok()) return false;
  }
  return true;
}

// Prints how many reads a second `work` did, and the CPU time of one.
void Measure(const std::string& point, uint64_t reads, const std::function<void()>& work) {
  const uint64_t begin = NowNs();
  const double cpu = CpuSeconds();
  work();
  const double seconds = static_cast<double>(NowNs() - begin) * 1e-9;
  const auto count = static_cast<double>(reads);
  std::printf("%s,%.0f,%.2f\n", point.c_str(), count / seconds, (CpuSeconds() - cpu) / count * 1e6);
}

int Main(const char* path) {
  std::unique_ptr<RandomAccessFile> file;
  if (const Status status = FileSystem::Posix()->OpenForRead(path, true, &file); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("order,bytes,threads,together,rate,cpu_us\n");
  const std::string large = "sequential," + std::to_string(kLargeRead) + ",1,0";
  Measure(large, file->size() / kLargeRead, [&] {
    if (!ReadThrough(*file)) std::abort();
  });
  for (const size_t threads : {1, 2}) {
    for (const size_t together : {0, 2, 4, 8, 12, 32}) {
      const std::string point = "random," + std::to_string(kBlock) + "," + std::to_string(threads) +
                                "," + std::to_string(together);
      Measure(point, kReads, [&] {
        std::vector<std::thread> readers;
        for (size_t i = 0; i < threads; ++i) {
          readers.emplace_back([&, i] {
            if (!ReadSome(*file, kReads / threads, together, i + 1)) std::abort();
          });
        }
        for (std::thread& reader : readers) reader.join();
      });
    }
  }
  return 0;
}

}  // namespace
}  // namespace kvdyno

int main(int argc, char** argv) {
  if (argc == 2) return kvdyno::Main(argv[1]);
  std::fprintf(stderr, "usage: bench_reads FILE\n");
  return 2;
}
