// Metrics from tallies and samples. Pure functions on values.
#include "report/phase_result.h"

#include <utility>

#include "measure/sampler.h"

namespace kvdyno {
namespace {

using Metrics = std::map<std::string, Metric>;

void AddQuantiles(const std::string& prefix, const Histogram& histogram, Metrics* metrics) {
  if (histogram.count() == 0) return;
  const auto add = [&](const char* name, double ns) { (*metrics)[prefix + name] = {ns, "ns"}; };
  constexpr std::pair<const char*, double> kPercentiles[] = {
      {"p50", 50}, {"p75", 75},     {"p90", 90},      {"p95", 95},
      {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}};
  add("min", static_cast<double>(histogram.min()));
  add("mean", histogram.mean());
  for (const auto& [name, percentile] : kPercentiles) {
    add(name, static_cast<double>(histogram.Percentile(percentile)));
  }
  add("max", static_cast<double>(histogram.max()));
}

void AddOperations(const Tally& tally, double seconds, Metrics* metrics) {
  const double operations = static_cast<double>(tally.operations());
  (*metrics)["operations"] = {operations, "op"};
  if (seconds > 0) (*metrics)["throughput"] = {operations / seconds, "op/s"};
  if (tally.paced()) {
    (*metrics)["arrivals.missed"] = {static_cast<double>(tally.unstarted()), "op"};
  }
  (*metrics)["bytes.written"] = {static_cast<double>(tally.bytes_written), "byte"};
  (*metrics)["bytes.read"] = {static_cast<double>(tally.bytes_read), "byte"};
  for (size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    const OperationTally* mine = tally.of(operation);
    if (mine == nullptr || mine->latency.count() + mine->failed == 0) continue;
    const std::string name(OperationName(operation));
    (*metrics)[name + ".operations"] = {static_cast<double>(mine->completed()), "op"};
    (*metrics)[name + ".not_found"] = {static_cast<double>(mine->not_found), "op"};
    (*metrics)[name + ".failed"] = {static_cast<double>(mine->failed), "op"};
    const bool batch = operation == Operation::kMultiRead || operation == Operation::kSample;
    if (batch || IsScan(operation)) {
      (*metrics)[name + ".rows"] = {static_cast<double>(mine->rows), "row"};
    }
    AddQuantiles(name + ".latency.", mine->latency, metrics);
    if (mine->service != nullptr) AddQuantiles(name + ".service.", *mine->service, metrics);
  }
}

// The clients' and those beside them.
uint64_t Writes(const Tally& tally, const BackgroundWrites* background) {
  uint64_t writes = background == nullptr ? 0 : background->latency.count();
  for (const Operation operation :
       {Operation::kUpdate, Operation::kInsert, Operation::kReadModifyWrite, Operation::kDelete}) {
    const OperationTally* mine = tally.of(operation);
    if (mine != nullptr) writes += mine->completed();
  }
  return writes;
}

// Ratios whose parts exist and whose divisor is not zero.
// The engine's bytes and stalls are those of all writes, so background writes count here.
void AddRatios(const Tally& tally, const BackgroundWrites* background, Metrics* metrics) {
  const auto value = [&](const char* name) {
    const auto found = metrics->find(name);
    return found == metrics->end() ? 0 : found->second.value;
  };
  const auto ratio = [&](const char* name, const char* part, double subtract, double whole,
                         const char* unit) {
    if (whole <= 0 || !metrics->contains(part)) return;
    (*metrics)[name] = {(value(part) - subtract) / whole, unit};
  };
  const uint64_t beside = background == nullptr ? 0 : background->bytes;
  const double written = static_cast<double>(tally.bytes_written + beside);
  const double read = static_cast<double>(tally.bytes_read);
  ratio("write_amplification.gross", "io.write_bytes", 0, written, "ratio");
  ratio("write_amplification.net", "io.write_bytes", value("io.cancelled_write_bytes"), written,
        "ratio");
  ratio("write_amplification.calls", "io.wchar", 0, written, "ratio");
  ratio("read_amplification.disk", "io.read_bytes", 0, read, "ratio");
  ratio("read_amplification.bytes", "io.rchar", 0, read, "ratio");
  ratio("read_amplification.calls", "io.syscr", 0, static_cast<double>(tally.retrievals),
        "call/op");
  ratio("stall.per_write", "engine.stall_micros", 0, static_cast<double>(Writes(tally, background)),
        "us/op");

  const double operations = static_cast<double>(tally.operations());
  if (operations > 0 && metrics->contains("cpu.user") && metrics->contains("cpu.system")) {
    const double seconds = value("cpu.user") + value("cpu.system");
    (*metrics)["cpu.per_operation"] = {seconds * 1e9 / operations, "ns/op"};
  }
}

void AddBackground(const BackgroundWrites& writes, double seconds, Metrics* metrics) {
  const double bytes = static_cast<double>(writes.bytes);
  (*metrics)["background.operations"] = {static_cast<double>(writes.latency.count()), "op"};
  (*metrics)["background.bytes.written"] = {bytes, "byte"};
  if (seconds > 0) (*metrics)["background.write_rate"] = {bytes / seconds, "byte/s"};
  AddQuantiles("background.latency.", writes.latency, metrics);
}

void AddDebt(const PhaseResult& phase, Metrics* metrics) {
  const Counter* begin = Find(phase.before, kDebt);
  const Counter* end = Find(phase.after, kDebt);
  if (begin == nullptr || end == nullptr) return;
  (*metrics)["debt.begin"] = {begin->value, "byte"};
  (*metrics)["debt.change"] = {end->value - begin->value, "byte"};
}

}  // namespace

PhaseResult MakeSpan(std::string name, std::span<const PhaseResult> phases) {
  PhaseResult span = phases.front();
  span.name = std::move(name);
  const PhaseResult& last = phases.back();
  span.seconds = static_cast<double>(last.start_ns - span.start_ns) * 1e-9 + last.seconds;
  span.after = last.after;
  span.curve = nullptr;
  span.open_seconds = std::nullopt;
  for (const PhaseResult& phase : phases) span.covers.push_back(phase.name);
  return span;
}

std::map<std::string, Metric> MetricsOf(const PhaseResult& phase) {
  Metrics metrics;
  for (const Counter& change : Changes(phase.before, phase.after)) {
    metrics[change.name] = {change.value, change.unit};
  }
  if (phase.tally != nullptr) {
    AddOperations(*phase.tally, phase.seconds, &metrics);
    AddRatios(*phase.tally, phase.background.get(), &metrics);
  }
  AddDebt(phase, &metrics);
  if (phase.open_seconds) metrics["open.seconds"] = {*phase.open_seconds, "s"};
  if (phase.curve != nullptr) {
    if (const auto seconds = phase.curve->SecondsTo90(phase.seconds)) {
      metrics["throughput.time_to_90"] = {*seconds, "s"};
    }
  }
  if (phase.probe != nullptr) AddQuantiles("probe.latency.", *phase.probe, &metrics);
  if (phase.background != nullptr) AddBackground(*phase.background, phase.seconds, &metrics);
  return metrics;
}

}  // namespace kvdyno
