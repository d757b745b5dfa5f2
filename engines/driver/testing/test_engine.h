// TestEngine: an engine inside the test program, whose every call a test can see, delay or break.
// Owns its rows. `current` is what MakeAdapter of the test program drives.
// Safe from any thread, as far as the hook is.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/api/adapter.h"

namespace kvdyno {

struct TestEngine {
  TestEngine() { current = this; }
  ~TestEngine() { current = nullptr; }

  // Before every call: "open", "get", "put", "insert", "delete", "scan", "reversescan", "settle",
  // "close". What is not ok is returned instead of an answer.
  std::function<Status(std::string_view call, std::string_view key)> hook;
  bool can_settle = true;
  bool can_scan_reverse = true;
  bool can_skip_log = true;
  bool log = true;  // as it was opened last
  // What the engine owes; grows with each value that is put (not inserted). A settle pays down to
  // its bound or, without one, to `debt_when_settled`.
  std::optional<uint64_t> debt;
  uint64_t debt_when_settled = 0;
  bool keeps_debt = false;                          // whatever it is asked for
  std::vector<std::optional<uint64_t>> settled_to;  // each settle's bound
  // Whether it promises to keep what it acknowledged when its process is killed.
  bool survives_process = true;
  // Latencies of its components, as a test counts them.
  std::vector<ComponentLatency> components;
  // Events of the engine; the driver takes them.
  EventLog events;
  // A key that scans leave out.
  std::string skipped;
  // Between store and caller: what a read returns instead of the value.
  std::function<std::string(const std::string& value)> distort;

  std::mutex mutex;
  std::map<std::string, std::string> rows;  // guarded by mutex, as the rest
  std::vector<std::string> inserted;        // keys in the order of insertion
  std::map<std::string, uint64_t> calls;    // name to number

  static TestEngine* current;
};

}  // namespace kvdyno
