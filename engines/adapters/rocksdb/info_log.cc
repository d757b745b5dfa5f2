#include "info_log.h"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace kvdyno::rocks {

namespace {

// As RocksDB begins its lines, which its tools read.
std::string Prefix() {
  timeval now;
  gettimeofday(&now, nullptr);
  tm parts;
  localtime_r(&now.tv_sec, &parts);
  std::array<char, 64> text;
  const size_t length = strftime(text.data(), text.size(), "%Y/%m/%d-%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%06ld %ld ",
                static_cast<long>(now.tv_usec), static_cast<long>(gettid()));
  return text.data();
}

std::string Printed(const char* format, va_list arguments) {
  va_list measured;
  va_copy(measured, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, measured);
  va_end(measured);
  if (length <= 0) return "";
  std::string text(static_cast<size_t>(length) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, arguments);
  text.pop_back();
  return text;
}

class InfoLog final : public rocksdb::Logger {
 public:
  InfoLog(int file, rocksdb::InfoLogLevel level) : Logger(level), file_(file) {}
  ~InfoLog() override { close(file_); }

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    std::string line = Prefix() + Printed(format, arguments);
    if (!line.ends_with('\n')) line += '\n';
    // One write a line: the file is open for appending, so that threads' lines stay whole.
    [[maybe_unused]] const ssize_t written = write(file_, line.data(), line.size());
  }

 private:
  int file_;
};

}  // namespace

Status OpenInfoLog(const std::string& directory, const rocksdb::DBOptions& options,
                   std::shared_ptr<rocksdb::Logger>* log) {
  const std::filesystem::path place = options.db_log_dir.empty() ? directory : options.db_log_dir;
  std::error_code error;
  std::filesystem::create_directories(place, error);
  const std::string path = place / "LOG";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) {
    return Status::IoError("open " + path + ": " + std::system_category().message(errno));
  }
  *log = std::make_shared<InfoLog>(file, options.info_log_level);
  return Status::Ok();
}

}  // namespace kvdyno::rocks
