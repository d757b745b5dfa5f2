#include "kvdyno/generate/arrivals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace kvdyno {
namespace {

constexpr double kNsPerSecond = 1e9;

Status BadLine(std::string_view source, size_t line, std::string_view expected,
               std::string_view got) {
  return Status::InvalidArgument("rate file " + std::string(source) + ":" + std::to_string(line) +
                                 ": expected " + std::string(expected) + ", got '" +
                                 std::string(got) + "'");
}

// Removes and returns what precedes the first of `separators`.
std::string_view Take(std::string_view* text, std::string_view separators) {
  const size_t length = std::min(text->find_first_of(separators), text->size());
  const std::string_view taken = text->substr(0, length);
  text->remove_prefix(std::min(length + 1, text->size()));
  return taken;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool ParseReal(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*value);
}

bool ParseStep(std::string_view line, RateStep* step) {
  const std::string_view seconds = Take(&line, " \t");
  return ParseReal(seconds, &step->at_seconds) &&
         ParseReal(Trimmed(line), &step->operations_per_second);
}

Status CheckRate(double rate) {
  if (rate > 0 && std::isfinite(rate)) return Status::Ok();
  return Status::InvalidArgument("arrival rate: expected more than 0 operations a second, got " +
                                 std::to_string(rate));
}

}  // namespace

Status ParseRateSteps(std::string_view text, std::string_view source,
                      std::vector<RateStep>* steps) {
  steps->clear();
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = Trimmed(Take(&text, "\n"));
    if (line.empty() || line.front() == '#') continue;
    RateStep step;
    if (!ParseStep(line, &step)) {
      return BadLine(source, number, "'timestamp_seconds new_ops_per_second'", line);
    }
    if (step.operations_per_second <= 0) {
      return BadLine(source, number, "more than 0 operations a second", line);
    }
    if (step.at_seconds < 0 || (!steps->empty() && step.at_seconds <= steps->back().at_seconds)) {
      return BadLine(source, number, "a timestamp later than the one before", line);
    }
    steps->push_back(step);
  }
  if (!steps->empty()) return Status::Ok();
  return Status::InvalidArgument(
      "rate file " + std::string(source) +
      ": expected lines 'timestamp_seconds new_ops_per_second', got none");
}

Status Arrivals::Make(const ArrivalSpec& spec, Arrivals* arrivals) {
  std::vector<RateStep> steps = spec.steps;
  if (steps.empty() || steps.front().at_seconds > 0) {
    steps.insert(steps.begin(), {0, spec.operations_per_second});
  }
  Arrivals made;
  made.poisson_ = spec.poisson;
  made.share_ = static_cast<double>(spec.thread_count);
  double operations = 0;
  for (const RateStep& step : steps) {
    if (Status status = CheckRate(step.operations_per_second); !status.ok()) return status;
    const double start_ns = step.at_seconds * kNsPerSecond;
    if (!made.stretches_.empty()) {
      const Stretch& last = made.stretches_.back();
      operations += (start_ns - last.start_ns) * last.operations_per_ns;
    }
    made.stretches_.push_back({start_ns, operations, step.operations_per_second / kNsPerSecond});
  }
  made.due_ = spec.poisson ? 0 : static_cast<double>(spec.thread) - made.share_;
  *arrivals = std::move(made);
  return Status::Ok();
}

uint64_t Arrivals::NextNs(Random& random) {
  // 1 - Real() is in (0, 1]: its logarithm is finite.
  due_ += poisson_ ? -std::log(1 - random.Real()) * share_ : share_;
  while (current_ + 1 < stretches_.size() && stretches_[current_ + 1].start_operations <= due_) {
    ++current_;
  }
  const Stretch& stretch = stretches_[current_];
  return static_cast<uint64_t>(stretch.start_ns +
                               (due_ - stretch.start_operations) / stretch.operations_per_ns);
}

uint64_t Arrivals::CountBefore(uint64_t ns) const {
  const double end_ns = static_cast<double>(ns);
  size_t i = 0;
  while (i + 1 < stretches_.size() && stretches_[i + 1].start_ns <= end_ns) ++i;
  const Stretch& stretch = stretches_[i];
  const double due_by_then =
      stretch.start_operations + (end_ns - stretch.start_ns) * stretch.operations_per_ns;
  const double mine = (due_by_then - due_) / share_;
  // Evenly spaced: one that is due at this very moment does not come before it.
  const double count = poisson_ ? std::round(mine) : std::ceil(mine) - 1;
  return static_cast<uint64_t>(std::max(count, 0.0));
}

}  // namespace kvdyno
