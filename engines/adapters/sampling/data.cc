// Drawing records, deletes and ranges. Pure functions of the settings.
#include "data.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

uint64_t LeastBytes(const Settings& settings, uint64_t record_bytes) {
  const auto records = static_cast<uint64_t>(settings.records);
  const double left = 1 - settings.delete_share;
  return UpdatesOf(settings) * sizeof(sampling::Record) +
         static_cast<uint64_t>(static_cast<double>(records) * left) * record_bytes;
}

Status Data::Draw(const Settings& settings, Data* data) {
  Random random(Mix(static_cast<uint64_t>(settings.seed)));
  if (Status s = data->DrawUpdates(settings, &random); !s.ok()) return s;
  if (!settings.records_file.empty()) {
    if (Status s = data->CheckPairs(settings.records_file); !s.ok()) return s;
  }
  data->DrawRanges(settings, &random);
  return Status::Ok();
}

Status Data::AddRecord(const Settings& settings, uint64_t number, RecordsFile* file,
                       Random* random) {
  sampling::Record& record = updates_.emplace_back();
  if (settings.records_file.empty()) {
    record.key = DrawKey(random);
    record.value = number;
    record.weight = DrawWeight(settings, number, random);
    return Status::Ok();
  }
  bool ended = false;
  if (Status s = file->Next(&record, &ended); !s.ok()) return s;
  if (!ended) return Status::Ok();
  return Status::InvalidArgument("records: expected at most the rows of " + settings.records_file +
                                 ", " + std::to_string(number) + ", got " +
                                 std::to_string(settings.records));
}

Status Data::DrawUpdates(const Settings& settings, Random* random) {
  RecordsFile file;
  if (!settings.records_file.empty()) {
    if (Status s = RecordsFile::Open(settings.records_file, &file); !s.ok()) return s;
  }
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
    if (Status s = AddRecord(settings, inserted, &file, random); !s.ok()) return s;
    ++inserted;
  }
  return Status::Ok();
}

Status Data::CheckPairs(const std::string& path) const {
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  for (const sampling::Record& update : updates_) {
    if (!Deletes(update)) pairs.emplace_back(update.key, update.value);
  }
  std::sort(pairs.begin(), pairs.end());
  const auto twice = std::adjacent_find(pairs.begin(), pairs.end());
  if (twice == pairs.end()) return Status::Ok();
  return Status::InvalidArgument(path + ": expected each pair of key and value once, got " +
                                 std::to_string(twice->first) + ", " +
                                 std::to_string(twice->second) + " twice");
}

// Quantiles of the keys that are inserted.
void Data::DrawRanges(const Settings& settings, Random* random) {
  if (settings.range_share >= 1) return;
  while (quantiles_.size() <= kQuantiles) {
    const sampling::Record& update = updates_[random->Below(updates_.size())];
    if (!Deletes(update)) quantiles_.push_back(update.key);
  }
  std::sort(quantiles_.begin(), quantiles_.end());
  range_quantiles_ = static_cast<size_t>(settings.range_share * kQuantiles);
}

sampling::Query Data::NextQuery(Random* random) const {
  if (quantiles_.empty()) return {};
  const size_t first = random->Below(quantiles_.size() - range_quantiles_);
  return {quantiles_[first], quantiles_[first + range_quantiles_], {}};
}

}  // namespace kvdyno::sampler
