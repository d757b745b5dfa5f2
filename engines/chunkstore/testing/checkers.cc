#include "testing/checkers.h"

#include "kvdyno/base/clock.h"

namespace chunkstore::testing {

std::string Verdict::ToString() const {
  std::string text = std::to_string(done) + " done in " + std::to_string(rounds) + " rounds";
  if (!note.empty()) text += "; " + note;
  for (const std::string& violation : violations) text += "\n  violation: " + violation;
  return text;
}

Rounds::Rounds(const CheckOptions& options)
    : count_(options.count),
      end_ns_(options.seconds > 0 ? kvdyno::NowNs() + static_cast<uint64_t>(options.seconds * 1e9)
                                  : UINT64_MAX) {}

bool Rounds::More(const Verdict& verdict) const {
  return verdict.ok() && verdict.done < count_ && kvdyno::NowNs() < end_ns_;
}

std::string Violation(const char* test, uint64_t seed, const std::string& what, uint64_t count) {
  return std::string(test) + " with seed " + std::to_string(seed) + ": " + what +
         " (repeat: chunkstore_stress " + test + " --seed " + std::to_string(seed) +
         " --operations " + std::to_string(count) + ")";
}

}  // namespace chunkstore::testing
