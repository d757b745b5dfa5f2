// The background writer's thread. Its pace is an open loop: after a stall it catches up.
#include "load/background_writer.h"

#include <string_view>
#include <utility>

#include "kvdyno/base/clock.h"
#include "load/client.h"
#include "load/pacer.h"
#include "load/sleep.h"

namespace kvdyno {
namespace {

// It draws like one more client.
uint64_t NumberOf(const Workload& workload) {
  return static_cast<uint64_t>(workload.settings().thread_count);
}

}  // namespace

Status BackgroundWriter::Make(const Workload& workload, std::unique_ptr<Session> session,
                              const KeySequence& keys, StopSignal* stop,
                              std::unique_ptr<BackgroundWriter>* writer) {
  writer->reset(new BackgroundWriter(workload, std::move(session), stop));
  return workload.MakeChooser(NumberOf(workload), keys.stored(), &(*writer)->chooser_);
}

BackgroundWriter::BackgroundWriter(const Workload& workload, std::unique_ptr<Session> session,
                                   StopSignal* stop)
    : workload_(workload),
      session_(std::move(session)),
      stop_(stop),
      random_(workload.MakeRandom(Stream::kMix, NumberOf(workload))),
      sequence_(FirstSequence(NumberOf(workload))),
      key_buffer_(workload.keys().max_size()) {}

void BackgroundWriter::Begin() {
  writes_ = std::make_shared<BackgroundWrites>();
  thread_ = std::jthread([this](const std::stop_token& stopped) { Work(stopped); });
}

std::shared_ptr<const BackgroundWrites> BackgroundWriter::End() {
  thread_.request_stop();
  thread_.join();
  return std::move(writes_);
}

void BackgroundWriter::Work(const std::stop_token& stopped) {
  WakeUpPrecisely();
  const uint64_t start = NowNs();
  const double ns_per_byte = 1e9 / static_cast<double>(workload_.settings().background_write_rate);
  for (uint64_t intended = start; SleepUntil(intended, stopped);) {
    if (Status status = Write(); !status.ok()) return stop_->Fail({std::move(status)});
    writes_->latency.Record(NowNs() - intended);
    intended = start + static_cast<uint64_t>(static_cast<double>(writes_->bytes) * ns_per_byte);
  }
}

Status BackgroundWriter::Write() {
  const uint64_t index = chooser_->Next(random_);
  const std::string_view key = workload_.Key(index, key_buffer_.data());
  const std::string_view value = workload_.values().Make(index, sequence_++, &value_buffer_);
  const Status put = session_->Put(key, value);
  if (!put.ok()) {
    return {put.code(), "background write '" + std::string(key) + "': " + put.message()};
  }
  writes_->bytes += key.size() + value.size();
  return Status::Ok();
}

}  // namespace kvdyno
