// What fails, fails with a status: no crash, no wrong data, no hang.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "fixture.h"

namespace kvdyno::conformance {

namespace {

namespace fs = std::filesystem;

// A failed Open must leave an adapter that can be closed, which is what the driver does next.
Status OpenAndClose(const std::string& directory) {
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  const Status opened = adapter->Open({.directory = directory});
  const Status closed = adapter->Close();
  EXPECT_TRUE(closed.ok()) << closed.ToString();
  return opened;
}

void ExpectRefused(const Status& status) {
  EXPECT_TRUE(status.code() == Code::kIoError || status.code() == Code::kCorruption ||
              status.code() == Code::kBusy)
      << status.ToString();
  EXPECT_FALSE(status.message().empty());
}

TEST(ConformanceErrors, DirectoryIsAFile) {
  const TemporaryDirectory parent;
  const std::string file = parent.path() + "/file";
  std::ofstream(file) << "not a directory";
  ExpectRefused(OpenAndClose(file));
}

// /proc refuses new files to everybody, root included.
TEST(ConformanceErrors, DirectoryCannotBeWritten) {
  ExpectRefused(OpenAndClose("/proc/self/task"));
}

TEST_F(Conformance, SecondOpenInThisProcessIsRefused) {
  ExpectPut("key", "value");
  ExpectRefused(OpenAndClose(directory()));
  ExpectGet("key", "value");
}

// This binary again, holding a store until its standard input is closed.
class Holder {
 public:
  explicit Holder(const std::string& directory) {
    std::array<int, 2> in{}, out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      execl("/proc/self/exe", "conformance", "--hold", directory.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    release_ = in[1];
    answer_ = out[0];
  }

  // The holder's first line; empty when it died.
  std::string Answer() {
    std::string line;
    for (char c = 0; read(answer_, &c, 1) == 1 && c != '\n';) line.push_back(c);
    return line;
  }

  // Lets the holder close its store and returns its exit status.
  int Release() {
    close(release_);
    close(answer_);
    int status = -1;
    waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
  int release_ = -1;
  int answer_ = -1;
};

TEST_F(Conformance, SecondProcessIsRefused) {
  ExpectPut("key", "value");
  Close();
  Holder holder(directory());
  EXPECT_EQ(holder.Answer(), "held");
  ExpectRefused(OpenAndClose(directory()));
  EXPECT_EQ(holder.Release(), 0);
  Reopen();
  ExpectGet("key", "value");
}

// Damages every file of a store, and expects that opening it, or else the first reads, say so.
class ConformanceDamage : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    for (uint64_t i = 0; i < 200; i++) ExpectPut(NumberedKey(i), RandomBytes(i, 800));
    Settle();
    Close();
  }

  template <typename Damage>
  void DamageEveryFile(Damage damage) {
    for (const auto& entry : fs::recursive_directory_iterator(directory())) {
      if (entry.is_regular_file() && entry.file_size() > 0) damage(entry.path());
    }
  }

  void ExpectNoticed() {
    const std::unique_ptr<Adapter> adapter = MakeAdapter();
    const Status opened = adapter->Open({.directory = directory()});
    if (opened.ok()) {
      ExpectReadsRefused(adapter.get());
    } else {
      ExpectRefused(opened);
    }
    // Closing may fail too: what it has to write back is damaged.
    const Status closed = adapter->Close();
    if (!closed.ok()) ExpectRefused(closed);
  }

 private:
  static void ExpectReadsRefused(Adapter* adapter) {
    const std::unique_ptr<Session> session = adapter->NewSession();
    std::string value;
    Status got;
    for (uint64_t i = 0; i < 200; i++) {
      got = session->Get(NumberedKey(i), &value);
      if (!got.ok()) break;
      EXPECT_TRUE(value == RandomBytes(i, 800)) << "wrong data of key " << i;
    }
    EXPECT_TRUE(got.code() == Code::kCorruption || got.code() == Code::kIoError) << got.ToString();
  }
};

TEST_F(ConformanceDamage, OverwrittenFilesAreNoticed) {
  DamageEveryFile([](const fs::path& path) {
    const uintmax_t size = fs::file_size(path);
    // Not an output stream, which would cut the file to nothing.
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << std::string(size, 'x');
    ASSERT_EQ(fs::file_size(path), size);
    ASSERT_EQ(std::ifstream(path, std::ios::binary).get(), 'x');
  });
  ExpectNoticed();
}

TEST_F(ConformanceDamage, TruncatedFilesAreNoticed) {
  DamageEveryFile([](const fs::path& path) { fs::resize_file(path, fs::file_size(path) / 2); });
  ExpectNoticed();
}

}  // namespace

}  // namespace kvdyno::conformance
