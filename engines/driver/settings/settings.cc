// Checks across settings. Settings are a value; nothing here is shared.
#include "settings/settings.h"

namespace kvdyno {
namespace {

Status Wrong(const std::string& message) { return Status::InvalidArgument(message); }

constexpr uint64_t kValueBytesMax = uint64_t{256} << 20;

// 10^digits, as far as 64 bits go.
uint64_t IndicesOf(int64_t digits) {
  uint64_t count = 1;
  for (int64_t i = 0; i < digits; ++i) count *= 10;
  return count;
}

}  // namespace

Status Settings::Check(const std::string& engine_name) const {
  if (!do_load && !do_transaction) return Wrong("nothing to do: expected -load, -run or both");
  if (Status checked = CheckCommon(engine_name); !checked.ok()) return checked;
  if (destroy_data && !do_load) {
    return Wrong("data.destroy: expected -load, which fills the emptied store, got -run alone");
  }
  if (do_transaction && operation_count == 0 && measure_seconds == 0 && measure_bytes == 0) {
    return Wrong("-run: expected an end: operationcount, measure.seconds or measure.bytes");
  }
  if (min_scan_length > max_scan_length) {
    return Wrong("minscanlength: expected at most maxscanlength (" +
                 std::to_string(max_scan_length) + "), got " + std::to_string(min_scan_length));
  }
  const uint64_t last = static_cast<uint64_t>(insert_start) + static_cast<uint64_t>(record_count);
  if (zero_padding < 19 && last > IndicesOf(zero_padding)) {
    return Wrong("zeropadding: expected digits for keys up to " + std::to_string(last - 1) +
                 ", got " + std::to_string(zero_padding) +
                 "; keys would not sort by their numbers");
  }
  if (value_bytes() > kValueBytesMax) {
    return Wrong("fieldlength: expected fieldcount * fieldlength of at most " +
                 std::to_string(kValueBytesMax) + " bytes, got " + std::to_string(value_bytes()));
  }
  if (sync && !log) return Wrong("log: expected true with sync, whose writes it makes durable");
  // Deletes write keys.
  const bool writes =
      update_proportion + insert_proportion + read_modify_write_proportion + delete_proportion > 0;
  if (do_transaction && operation_count == 0 && measure_seconds == 0 && !writes) {
    return Wrong("measure.bytes: expected a mix that writes; this one would never end");
  }
  if (Status checked = CheckKill(); !checked.ok()) return checked;
  return CheckClients();
}

Status Settings::CheckKill() const {
  if (!kills() && !reopens()) return Status::Ok();
  const std::string name = reopens()          ? "reopen.from"
                           : kill_seconds > 0 ? "kill.seconds"
                                              : "kill.operations";
  if (kills() && reopens()) return Wrong("reopen.from: expected a run that is not killed itself");
  if (do_load || !do_transaction) {
    return Wrong(name + ": expected -run alone: a loaded store is killed and opened again");
  }
  if (kills() && output_dir.empty()) {
    return Wrong(name + ": expected output.dir, where acknowledged writes are kept, got nothing");
  }
  if (delete_proportion > 0) {
    return Wrong(name + ": expected a mix without deletes, which leave no value to check");
  }
  if (!log) return Wrong(name + ": expected log=true, got a run whose writes a kill takes");
  if (background_write_rate > 0) {
    return Wrong(name +
                 ": expected background.write_rate=0: its writes are not among those that a "
                 "reopening checks");
  }
  const bool late = (measure_seconds > 0 && kill_seconds >= measure_seconds) ||
                    (operation_count > 0 && kill_operations >= operation_count);
  if (late) return Wrong(name + ": expected a moment before the measured phase's end");
  return Status::Ok();
}

Status Settings::CheckClients() const {
  if (load_seconds > 0 && do_transaction) {
    return Wrong("load.seconds: expected -load alone, got -run too, which expects all records");
  }
  if (load_seconds > 0 && ages()) {
    return Wrong("age: expected a load of all records, got load.seconds, which may end before");
  }
  if (writer_threads >= thread_count) {
    return Wrong("writer.threads: expected fewer than threadcount (" +
                 std::to_string(thread_count) + "), got " + std::to_string(writer_threads));
  }
  // '!' is the first character of the probe's key.
  if (probe_interval > 0 && !key_prefix.empty() && key_prefix.front() <= '!') {
    return Wrong("probe.interval: expected a keyprefix that sorts above '!', got '" + key_prefix +
                 "'; the probe's key would lie among the workload's");
  }
  return Status::Ok();
}

}  // namespace kvdyno
