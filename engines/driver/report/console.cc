// Spelling YCSB-cpp's lines. Pure functions.
#include "report/console.h"

#include <iomanip>
#include <sstream>

namespace kvdyno {
namespace {

void AppendLatencies(Operation operation, const OperationTally& tally, std::ostream* out) {
  const Histogram& latency = tally.latency;
  const auto us = [](double ns) { return ns / 1000; };
  const auto percentile = [&](double p) { return us(static_cast<double>(latency.Percentile(p))); };
  *out << " [" << OperationYcsbName(operation) << ": Count=" << tally.completed()
       << " Max=" << us(static_cast<double>(latency.max()))
       << " Min=" << us(static_cast<double>(latency.min())) << " Avg=" << us(latency.mean())
       << " 90=" << percentile(90) << " 99=" << percentile(99) << " 99.9=" << percentile(99.9)
       << " 99.99=" << percentile(99.99) << "]";
}

}  // namespace

std::string StatusLine(std::time_t now, double elapsed_seconds, const Tally& tally) {
  std::tm parts;
  localtime_r(&now, &parts);
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << std::put_time(&parts, "%F %T") << ' '
      << static_cast<long long>(elapsed_seconds) << " sec: " << tally.operations()
      << " operations;";
  for (size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    const OperationTally* mine = tally.of(operation);
    if (mine == nullptr || mine->latency.count() == 0) continue;
    AppendLatencies(operation, *mine, &out);
  }
  return out.str();
}

std::string FinalLines(const std::string& what, double seconds, uint64_t operations) {
  std::ostringstream out;
  out << what << " runtime(sec): " << seconds << "\n"
      << what << " operations(ops): " << operations << "\n"
      << what
      << " throughput(ops/sec): " << (seconds > 0 ? static_cast<double>(operations) / seconds : 0)
      << "\n";
  return out.str();
}

}  // namespace kvdyno
