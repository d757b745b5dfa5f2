// Progress lines. The process ignores SIGPIPE, so that a reader who left is an error, not a death.
#include "report/progress.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace kvdyno {

std::string ProgressJson(const ProgressLine& line) {
  nlohmann::ordered_json json;
  json["phase"] = line.phase;
  json["elapsed"] = line.elapsed;
  json["fraction"] = nullptr;
  if (line.fraction) json["fraction"] = *line.fraction;
  json["operations"] = line.operations;
  json["rate"] = line.rate;
  json["unit"] = "op/s";
  return json.dump();
}

void Progress::Write(const ProgressLine& line) {
  if (fd_ < 0) return;
  // A pipe that polls as writable takes PIPE_BUF bytes, more than a line, without blocking.
  pollfd poller{fd_, POLLOUT, 0};
  if (poll(&poller, 1, 0) != 1 || (poller.revents & POLLOUT) == 0) return;
  const std::string text = ProgressJson(line) + "\n";
  if (write(fd_, text.data(), text.size()) < 0 && errno != EINTR) fd_ = -1;
}

}  // namespace kvdyno
