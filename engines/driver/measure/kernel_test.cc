// What is read from the kernel, against files made by hand.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "measure/disk.h"
#include "measure/kernel.h"
#include "measure/text_file.h"

namespace kvdyno {
namespace {

class KernelFiles : public testing::Test {
 protected:
  KernelFiles() {
    std::string pattern = testing::TempDir() + "/kvdyno_kernel_XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~KernelFiles() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  static std::map<std::string, double> ByName(const std::vector<Counter>& counters) {
    std::map<std::string, double> values;
    for (const Counter& counter : counters) values[counter.name] = counter.value;
    return values;
  }

  std::map<std::string, double> SampleCgroup(const std::string& memberships,
                                             const std::string& mounts) const {
    std::vector<Counter> counters;
    Cgroup(memberships, mounts).Sample(&counters);
    return ByName(counters);
  }

  std::string root_;
};

TEST_F(KernelFiles, NumbersAreFoundByTheWholeKey) {
  EXPECT_EQ(NumberAfter("anon_thp 1\nanon 2\n", "anon"), 2u);
  EXPECT_EQ(NumberAfter("VmHWM:\t  12 kB\n", "VmHWM"), 12u);
  EXPECT_EQ(NumberAfter("rchar: 18446744073709551615", "rchar"), UINT64_MAX);
  EXPECT_EQ(NumberAfter("wchar: 1", "rchar"), std::nullopt);
  EXPECT_EQ(ParseNumber("max"), std::nullopt);
}

TEST_F(KernelFiles, ProcessFiguresAreRead) {
  Write("io",
        "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
        "cancelled_write_bytes: 7\n");
  Write("status", "Name:\tx\nVmHWM:\t     200 kB\nVmRSS:\t     100 kB\n");
  std::vector<Counter> counters;
  SampleProcess(root_, &counters);
  const auto values = ByName(counters);
  EXPECT_EQ(values.at("io.rchar"), 1);
  EXPECT_EQ(values.at("io.wchar"), 2);
  EXPECT_EQ(values.at("io.syscr"), 3);
  EXPECT_EQ(values.at("io.syscw"), 4);
  EXPECT_EQ(values.at("io.read_bytes"), 5);
  EXPECT_EQ(values.at("io.write_bytes"), 6);
  EXPECT_EQ(values.at("io.cancelled_write_bytes"), 7);
  EXPECT_EQ(values.at("memory.rss"), 100 * 1024);
  EXPECT_EQ(values.at("memory.peak_rss"), 200 * 1024);
  EXPECT_GT(values.at("cpu.user") + values.at("cpu.system"), 0);
}

TEST_F(KernelFiles, MissingProcessFilesAreLeftOut) {
  std::vector<Counter> counters;
  SampleProcess(root_, &counters);
  const auto values = ByName(counters);
  EXPECT_FALSE(values.contains("io.rchar"));
  EXPECT_FALSE(values.contains("memory.rss"));
  EXPECT_TRUE(values.contains("faults.minor"));
}

TEST_F(KernelFiles, CgroupVersion1) {
  Write("memory/a/b/memory.usage_in_bytes", "100\n");
  Write("memory/a/b/memory.max_usage_in_bytes", "200\n");
  Write("memory/a/b/memory.stat", "cache 1\nrss 2\ntotal_cache 30\ntotal_rss 40\n");
  Write("blkio/a/blkio.throttle.io_service_bytes_recursive",
        "8:0 Read 5\n8:0 Write 6\n8:0 Total 11\n8:16 Read 10\n8:16 Write 20\nTotal 41\n");
  const auto values = SampleCgroup(
      "5:blkio:/a\n4:memory:/a/b\n0::/x\n",
      "35 31 0:32 / " + root_ + "/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n" +
          "37 31 0:34 / " + root_ + "/blkio rw,relatime - cgroup cgroup rw,blkio\n");
  EXPECT_EQ(values.at("cgroup.memory.usage"), 100);
  EXPECT_EQ(values.at("cgroup.memory.peak"), 200);
  EXPECT_EQ(values.at("cgroup.memory.anonymous"), 40);
  EXPECT_EQ(values.at("cgroup.memory.page_cache"), 30);
  EXPECT_EQ(values.at("cgroup.io.read_bytes"), 15);
  EXPECT_EQ(values.at("cgroup.io.write_bytes"), 26);
}

TEST_F(KernelFiles, CgroupVersion2) {
  Write("user.slice/run/memory.current", "100\n");
  Write("user.slice/run/memory.stat", "anon 40\nfile 30\nanon_thp 1\n");
  Write("user.slice/run/io.stat", "8:0 rbytes=5 wbytes=6 rios=1\n8:16 rbytes=10 wbytes=20\n");
  const auto values =
      SampleCgroup("0::/user.slice/run\n", "31 23 0:28 / " + root_ + " rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(values.at("cgroup.memory.usage"), 100);
  EXPECT_FALSE(values.contains("cgroup.memory.peak"));  // kernels before 5.19
  EXPECT_EQ(values.at("cgroup.memory.anonymous"), 40);
  EXPECT_EQ(values.at("cgroup.memory.page_cache"), 30);
  EXPECT_EQ(values.at("cgroup.io.read_bytes"), 15);
  EXPECT_EQ(values.at("cgroup.io.write_bytes"), 26);
}

TEST_F(KernelFiles, CgroupOfAContainerIsMountedFromItsOwnRoot) {
  Write("inner/memory.current", "7\n");
  const auto values = SampleCgroup("0::/docker/1234/inner\n",
                                   "31 23 0:28 /docker/1234 " + root_ + " ro - cgroup2 none rw\n");
  EXPECT_EQ(values.at("cgroup.memory.usage"), 7);
}

TEST_F(KernelFiles, WithoutCgroupsNothingIsSampled) {
  EXPECT_TRUE(SampleCgroup("", "").empty());
  EXPECT_TRUE(SampleCgroup("4:memory:/a\n", "22 1 8:1 / / rw - ext4 /dev/sda rw\n").empty());
}

TEST_F(KernelFiles, DiskCountsAllocatedBytesNotLengths) {
  Write("sub/full", std::string(100'000, 'x'));
  const uint64_t full = AllocatedBytes(root_);
  EXPECT_GE(full, 100'000u);
  Write("hole", "");
  std::filesystem::resize_file(root_ + "/hole", uint64_t{1} << 30);
  EXPECT_LT(AllocatedBytes(root_), full + (1 << 20));
  EXPECT_EQ(AllocatedBytes(root_ + "/missing"), 0u);
}

}  // namespace
}  // namespace kvdyno
