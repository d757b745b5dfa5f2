// BackgroundWriter: overwrites keys at a fixed rate of bytes, whatever the clients do: the writes
// beside which reads are measured.
// Owns its session and one thread while it works; reports an engine's error to the stop signal. It
// chooses keys as the mix does, by a generator of its own, and values that every check accepts.
//
// Threads: all methods are for the main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "load/key_sequence.h"
#include "load/stop_signal.h"
#include "load/workload.h"
#include "measure/background_writes.h"

namespace kvdyno {

class BackgroundWriter {
 public:
  static Status Make(const Workload& workload, std::unique_ptr<Session> session,
                     const KeySequence& keys, StopSignal* stop,
                     std::unique_ptr<BackgroundWriter>* writer);

  // Starts writing.
  void Begin();

  // Begins no further write; returns at once, though one may hang in a stall.
  void RequestEnd() { thread_.request_stop(); }

  // Waits for the last write: what was written in the phase.
  std::shared_ptr<const BackgroundWrites> End();

 private:
  BackgroundWriter(const Workload& workload, std::unique_ptr<Session> session, StopSignal* stop);

  void Work(const std::stop_token& stopped);
  Status Write();

  const Workload& workload_;
  const std::unique_ptr<Session> session_;
  StopSignal* const stop_;
  std::unique_ptr<KeyChooser> chooser_;
  Random random_;
  uint64_t sequence_;  // of the next value
  std::vector<char> key_buffer_;
  std::string value_buffer_;
  std::shared_ptr<BackgroundWrites> writes_;
  std::jthread thread_;
};

}  // namespace kvdyno
