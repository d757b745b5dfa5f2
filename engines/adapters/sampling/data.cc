// Drawing records, deletes and ranges. Pure functions of the settings.
#include "data.h"

#include <algorithm>
#include <cmath>

namespace kvdyno::sampler {
namespace {

constexpr size_t kQuantiles = 10'000;

uint64_t DrawKey(Random* random) {
  const double centre = static_cast<double>(random->Below(12)) * 10 - 40;
  double spread = -6;  // the sum of twelve uniform numbers is nearly normal
  for (int i = 0; i < 12; ++i) spread += random->Real();
  const double latitude = std::clamp(centre + 4 * spread, -90.0, 90.0);
  return static_cast<uint64_t>((latitude + 180) * 1e7);
}

// Record `number` of them all.
double DrawWeight(const Settings& settings, uint64_t number, Random* random) {
  if (settings.weights == "pareto-2.5") return std::pow(1 - random->Real(), -1 / 2.5);
  if (settings.weights == "pareto-1.2") return std::pow(1 - random->Real(), -1 / 1.2);
  const bool giant = settings.weights == "giant" && number == 0;
  return giant ? static_cast<double>(std::max<int64_t>(settings.records - 1, 1)) : 1;
}

uint64_t UpdatesOf(const Settings& settings) {
  const double loaded = settings.load_share * static_cast<double>(settings.records);
  const double rest = static_cast<double>(settings.records) - loaded;
  return static_cast<uint64_t>(loaded + rest / (1 - settings.delete_share));
}

}  // namespace

uint64_t LeastBytes(const Settings& settings) {
  const auto records = static_cast<uint64_t>(settings.records);
  const double left = 1 - settings.delete_share;
  return UpdatesOf(settings) * sizeof(sampling::Record) +
         static_cast<uint64_t>(static_cast<double>(records) * left) * sizeof(sampling::Record);
}

Data Data::Draw(const Settings& settings) {
  Data data;
  Random random(Mix(static_cast<uint64_t>(settings.seed)));
  data.DrawUpdates(settings, &random);
  data.DrawRanges(settings, &random);
  return data;
}

void Data::DrawUpdates(const Settings& settings, Random* random) {
  const auto records = static_cast<uint64_t>(settings.records);
  const double loaded = std::ceil(settings.load_share * static_cast<double>(records));
  loaded_ = std::min(records, static_cast<uint64_t>(loaded));
  updates_.reserve(UpdatesOf(settings));
  std::vector<uint32_t> live;  // places in updates_
  for (uint64_t inserted = 0; inserted < records;) {
    if (inserted >= loaded_ && !live.empty() && random->Real() < settings.delete_share) {
      const size_t at = random->Below(live.size());
      sampling::Record gone = updates_[live[at]];
      gone.weight = -1;
      updates_.push_back(gone);
      live[at] = live.back();
      live.pop_back();
      continue;
    }
    live.push_back(static_cast<uint32_t>(updates_.size()));
    const uint64_t key = DrawKey(random);
    updates_.push_back({key, inserted, DrawWeight(settings, inserted, random)});
    ++inserted;
  }
}

void Data::DrawRanges(const Settings& settings, Random* random) {
  if (settings.range_share >= 1) return;
  for (size_t i = 0; i <= kQuantiles; ++i) quantiles_.push_back(DrawKey(random));
  std::sort(quantiles_.begin(), quantiles_.end());
  range_quantiles_ = static_cast<size_t>(settings.range_share * kQuantiles);
}

sampling::Query Data::NextQuery(Random* random) const {
  if (quantiles_.empty()) return {};
  const size_t first = random->Below(quantiles_.size() - range_quantiles_);
  return {quantiles_[first], quantiles_[first + range_quantiles_], {}};
}

}  // namespace kvdyno::sampler
