// Counting draws, on the caller's thread.
#include "load/draw.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>

#include "kvdyno/base/random.h"
#include "kvdyno/generate/key_chooser.h"

namespace kvdyno {
namespace {

void AppendRow(const std::string& kind, const std::string& name, uint64_t times,
               std::string* table) {
  if (times == 0) return;
  *table += kind + "," + name + "," + std::to_string(times) + "\n";
}

}  // namespace

Status DrawTable(const Workload& workload, uint64_t count, std::string* table) {
  const Settings& settings = workload.settings();
  const std::atomic<uint64_t> key_count{static_cast<uint64_t>(settings.record_count)};
  std::unique_ptr<KeyChooser> chooser;
  if (Status s = workload.MakeChooser(0, key_count, &chooser); !s.ok()) return s;

  Random random(Mix(static_cast<uint64_t>(settings.seed)));
  std::array<uint64_t, kMixOperationCount> operations{};
  std::map<uint64_t, uint64_t> keys;
  for (uint64_t i = 0; i < count; ++i) {
    const Operation operation = workload.operations(0).Next(random);
    ++operations[static_cast<size_t>(operation)];
    if (operation == Operation::kInsert) continue;
    const int64_t drawn = operation == Operation::kMultiRead ? settings.multi_read_size : 1;
    for (int64_t key = 0; key < drawn; ++key) ++keys[chooser->Next(random)];
  }

  *table = "what,name,times\n";
  for (size_t i = 0; i < kMixOperationCount; ++i) {
    const auto name = OperationName(static_cast<Operation>(i));
    AppendRow("operation", std::string(name), operations[i], table);
  }
  for (const auto& [key, times] : keys) AppendRow("key", std::to_string(key), times, table);
  return Status::Ok();
}

}  // namespace kvdyno
