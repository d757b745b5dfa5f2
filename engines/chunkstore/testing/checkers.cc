#include "testing/checkers.h"

#include "kvdyno/base/clock.h"

namespace chunkstore::testing {

std::string Verdict::ToString() const {
  std::string text = std::to_string(done) + " done in " + std::to_string(rounds) + " rounds";
  if (!note.empty()) text += "; " + note;
  for (const std::string& violation : violations) text += "\n  violation: " + violation;
  return text;
}

Verdict RunRounds(const CheckOptions& options, const char* test, const char* unit,
                  const std::function<void(uint64_t seed, Verdict*)>& round) {
  Verdict verdict;
  const uint64_t end_ns = options.seconds > 0
                              ? kvdyno::NowNs() + static_cast<uint64_t>(options.seconds * 1e9)
                              : UINT64_MAX;
  for (uint64_t seed = options.seed;
       verdict.ok() && verdict.done < options.count && kvdyno::NowNs() < end_ns; ++seed) {
    round(seed, &verdict);
    ++verdict.rounds;
    if (options.log) {
      options.log(std::string(test) + ": " + std::to_string(verdict.done) + " " + unit);
    }
  }
  return verdict;
}

std::string Violation(const char* test, uint64_t seed, const std::string& what, uint64_t count) {
  return std::string(test) + " with seed " + std::to_string(seed) + ": " + what +
         " (repeat: chunkstore_stress " + test + " --seed " + std::to_string(seed) +
         " --operations " + std::to_string(count) + ")";
}

}  // namespace chunkstore::testing
