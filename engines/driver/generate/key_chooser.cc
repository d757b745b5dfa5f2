#include "kvdyno/generate/key_chooser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "kvdyno/api/options.h"
#include "kvdyno/generate/permutation.h"
#include "kvdyno/generate/zipf.h"

namespace kvdyno {
namespace {

constexpr uint64_t kSlicesMax = uint64_t{1} << 14;

// How many keys exist now.
class KeyCount {
 public:
  explicit KeyCount(const KeyChooserSpec& spec)
      : count_(spec.key_count), fixed_(spec.record_count) {}
  uint64_t operator()() const { return count_ ? count_->load(std::memory_order_acquire) : fixed_; }

 private:
  const std::atomic<uint64_t>* count_;
  uint64_t fixed_;
};

// Where a popularity rank lies in the range.
class Placement {
 public:
  Placement(uint64_t count, const KeyChooserSpec& spec) {
    if (spec.scattered) permutation_.emplace(count, spec.seed);
  }
  uint64_t operator()(uint64_t rank) const { return permutation_ ? (*permutation_)(rank) : rank; }

 private:
  std::optional<Permutation> permutation_;
};

class UniformChooser : public KeyChooser {
 public:
  explicit UniformChooser(const KeyChooserSpec& spec) : key_count_(spec) {}
  uint64_t Next(Random& random) override { return random.Below(key_count_()); }

 private:
  KeyCount key_count_;
};

class SequentialChooser : public KeyChooser {
 public:
  explicit SequentialChooser(const KeyChooserSpec& spec)
      : key_count_(spec), thread_(spec.thread), thread_count_(spec.thread_count), next_(thread_) {}

  uint64_t Next(Random&) override {
    const uint64_t count = key_count_();
    if (next_ >= count) next_ = thread_ % count;
    const uint64_t index = next_;
    next_ += thread_count_;
    return index;
  }

 private:
  KeyCount key_count_;
  uint64_t thread_;
  uint64_t thread_count_;
  uint64_t next_;
};

class ZipfianChooser : public KeyChooser {
 public:
  explicit ZipfianChooser(const KeyChooserSpec& spec)
      : zipf_(spec.record_count, spec.theta), placement_(spec.record_count, spec) {}
  uint64_t Next(Random& random) override { return placement_(zipf_.Next(random)); }

 private:
  Zipf zipf_;
  Placement placement_;
};

enum class Remainder { kZipf, kUniform };

// A slice by its popularity, then a key inside it. When the slices do not divide the range, the
// first ones have one key more.
template <Remainder remainder>
class CompositeChooser : public KeyChooser {
 public:
  explicit CompositeChooser(const KeyChooserSpec& spec)
      : slice_count_(std::min(spec.record_count, kSlicesMax)),
        width_(spec.record_count / slice_count_),
        wider_slices_(spec.record_count % slice_count_),
        slices_(slice_count_, spec.theta),
        placement_(slice_count_, spec),
        offsets_(remainder == Remainder::kZipf ? width_ + (wider_slices_ > 0 ? 1 : 0) : 1,
                 spec.theta) {}

  uint64_t Next(Random& random) override {
    const uint64_t slice = placement_(slices_.Next(random));
    const uint64_t begin = slice * width_ + std::min(slice, wider_slices_);
    const uint64_t width = width_ + (slice < wider_slices_ ? 1 : 0);
    return begin + Offset(width, random);
  }

 private:
  uint64_t Offset(uint64_t width, Random& random) const {
    if constexpr (remainder == Remainder::kUniform) return random.Below(width);
    // Zipf over the wider slice, given that it falls into this one, is Zipf over this one.
    uint64_t offset = offsets_.Next(random);
    while (offset >= width) offset = offsets_.Next(random);
    return offset;
  }

  uint64_t slice_count_;
  uint64_t width_;
  uint64_t wider_slices_;
  Zipf slices_;
  Placement placement_;
  Zipf offsets_;
};

class LatestChooser : public KeyChooser {
 public:
  explicit LatestChooser(const KeyChooserSpec& spec)
      : key_count_(spec), distances_(Reach(key_count_()), spec.theta) {}

  uint64_t Next(Random& random) override {
    const uint64_t count = key_count_();
    if (count > distances_.n()) distances_ = Zipf(Reach(count), distances_.theta());
    // Zipf over the reach, given that it falls among the keys, is Zipf over the keys.
    uint64_t distance = distances_.Next(random);
    while (distance >= count) distance = distances_.Next(random);
    return count - 1 - distance;
  }

 private:
  // Distances to prepare, so that a growing store seldom makes them again.
  static uint64_t Reach(uint64_t count) { return count + count / 4 + 1; }

  KeyCount key_count_;
  Zipf distances_;
};

class ExponentialChooser : public KeyChooser {
 public:
  explicit ExponentialChooser(const KeyChooserSpec& spec)
      : key_count_(spec),
        rate_(-std::log1p(-spec.exponential_percentile / 100) /
              (spec.exponential_fraction * static_cast<double>(spec.record_count))) {}

  uint64_t Next(Random& random) override {
    const uint64_t count = key_count_();
    if (count != reach_) {
      reach_ = count;
      mass_ = -std::expm1(-rate_ * static_cast<double>(count));
    }
    const double distance = -std::log1p(-random.Real() * mass_) / rate_;
    return count - 1 - std::min(static_cast<uint64_t>(distance), count - 1);
  }

 private:
  KeyCount key_count_;
  double rate_;  // of the exponential, per key
  uint64_t reach_ = 0;
  double mass_ = 0;  // probability of a distance below the reach
};

class HotspotChooser : public KeyChooser {
 public:
  explicit HotspotChooser(const KeyChooserSpec& spec)
      : record_count_(spec.record_count),
        hot_count_(HotCount(spec)),
        hot_share_(spec.hotspot_operation_fraction),
        placement_(spec.record_count, spec) {}

  uint64_t Next(Random& random) override {
    const uint64_t cold_count = record_count_ - hot_count_;
    const bool hot = random.Real() < hot_share_ || cold_count == 0;
    return placement_(hot ? random.Below(hot_count_) : hot_count_ + random.Below(cold_count));
  }

 private:
  // At least one: draws of the hot share need a key.
  static uint64_t HotCount(const KeyChooserSpec& spec) {
    const double keys =
        std::round(static_cast<double>(spec.record_count) * spec.hotspot_data_fraction);
    return std::clamp<uint64_t>(static_cast<uint64_t>(keys), 1, spec.record_count);
  }

  uint64_t record_count_;
  uint64_t hot_count_;
  double hot_share_;
  Placement placement_;
};

struct Distribution {
  std::string_view name;
  std::unique_ptr<KeyChooser> (*make)(const KeyChooserSpec&);
};

template <typename Chooser>
std::unique_ptr<KeyChooser> New(const KeyChooserSpec& spec) {
  return std::make_unique<Chooser>(spec);
}

constexpr std::array<Distribution, 9> kDistributions = {{
    {"uniform", New<UniformChooser>},
    {"sequential", New<SequentialChooser>},
    {"zipfian", New<ZipfianChooser>},
    {"zipf-simple", New<ZipfianChooser>},
    {"zipf-composite", New<CompositeChooser<Remainder::kZipf>>},
    {"zipf-composite-uniform", New<CompositeChooser<Remainder::kUniform>>},
    {"latest", New<LatestChooser>},
    {"hotspot", New<HotspotChooser>},
    {"exponential", New<ExponentialChooser>},
}};

Status Check(bool valid, std::string_view parameter, std::string_view expected, double got) {
  if (valid) return Status::Ok();
  return Status::InvalidArgument("distribution parameter " + std::string(parameter) +
                                 ": expected " + std::string(expected) + ", got " +
                                 std::to_string(got));
}

// All parameters are checked, whichever the distribution uses: a wrong one is a slip anyway.
Status CheckParameters(const KeyChooserSpec& spec) {
  const auto fraction = [](double value) { return value >= 0 && value <= 1; };
  const double percentile = spec.exponential_percentile;
  const double recent = spec.exponential_fraction;
  const std::array<Status, 6> checks = {
      Check(spec.record_count > 0, "record_count", "1 or more", 0),
      Check(spec.theta > 0 && std::isfinite(spec.theta), "theta", "more than 0", spec.theta),
      Check(fraction(spec.hotspot_data_fraction), "hotspot_data_fraction", "0 to 1",
            spec.hotspot_data_fraction),
      Check(fraction(spec.hotspot_operation_fraction), "hotspot_operation_fraction", "0 to 1",
            spec.hotspot_operation_fraction),
      Check(percentile > 0 && percentile < 100, "exponential_percentile",
            "more than 0 and less than 100", percentile),
      Check(recent > 0 && std::isfinite(recent), "exponential_fraction", "more than 0", recent)};
  for (const Status& status : checks) {
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace

std::vector<std::string> DistributionNames() {
  std::vector<std::string> names;
  names.reserve(std::size(kDistributions));
  for (const Distribution& distribution : kDistributions) names.emplace_back(distribution.name);
  return names;
}

Status MakeKeyChooser(const KeyChooserSpec& spec, std::unique_ptr<KeyChooser>* chooser) {
  if (Status status = CheckParameters(spec); !status.ok()) return status;
  for (const Distribution& distribution : kDistributions) {
    if (distribution.name != spec.distribution) continue;
    *chooser = distribution.make(spec);
    return Status::Ok();
  }
  std::string message = "distribution '" + spec.distribution + "': expected one of";
  for (const Distribution& distribution : kDistributions) {
    message.append(" ").append(distribution.name);
  }
  const std::string nearest = NearestWord(spec.distribution, DistributionNames());
  if (!nearest.empty()) message.append("; did you mean '").append(nearest).append("'?");
  return Status::InvalidArgument(std::move(message));
}

}  // namespace kvdyno
