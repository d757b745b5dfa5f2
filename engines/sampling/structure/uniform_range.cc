#include "sampling/structure.h"
#include "structure/key_range.h"

namespace sampling {
namespace {

class Positions final : public Selection {
 public:
  explicit Positions(std::pair<size_t, size_t> range)
      : begin_(range.first), count_(range.second - range.first) {}
  double mass() const override { return static_cast<double>(count_); }
  size_t Begin(Random* random) const override { return begin_ + random->Below(count_); }
  size_t Finish(size_t begun, Random*) const override { return begun; }

 private:
  size_t begin_;
  size_t count_;
};

// Tombstones count as entries here; the index rejects them when they are drawn.
class UniformRange final : public Structure {
 public:
  explicit UniformRange(std::span<const Entry> entries) : entries_(entries) {}
  std::unique_ptr<Selection> Select(uint64_t first, uint64_t last) const override {
    return std::make_unique<Positions>(PositionsOf(entries_, first, last));
  }
  size_t bytes() const override { return 0; }

 private:
  std::span<const Entry> entries_;
};

std::unique_ptr<Structure> Build(std::span<const Entry> entries, double,
                                 std::pmr::memory_resource*) {
  return std::make_unique<UniformRange>(entries);
}

}  // namespace

const Kind kUniformRange = {"uniform-range", false, Build};

}  // namespace sampling
