// CheckSnapshots: writers raise the counters of groups of keys; readers of every kind must see
// cuts. A batch group is written by batches: at every moment its members are equal. A chain group
// is written by single puts, member after member: at every moment its counters fall by at most one,
// once.
#include <algorithm>
#include <atomic>
#include <vector>

#include "testing/checkers.h"
#include "testing/crew.h"

namespace chunkstore::testing {
namespace {

constexpr size_t kGroups = 40;
constexpr size_t kMembers = 8;
constexpr uint64_t kOperationsPerRound = 40'000;

class Round {
 public:
  Round(uint64_t seed, const CheckOptions& check, Verdict* verdict)
      : seed_(seed),
        check_(check),
        verdict_(verdict),
        crew_("snapshots", seed, 512, check, verdict) {
    scattered_ = crew_.rng()->OneIn(2);
    length_ = crew_.rng()->Pick({8, 60, 400});
  }

  void Run() {
    if (!crew_.Open()) return;
    const auto threads = static_cast<size_t>(std::max(2, check_.threads));
    std::vector<std::function<void()>> work;
    for (size_t t = 0; t < threads; ++t) {
      const uint64_t share = kOperationsPerRound / threads;
      if (t % 2 == 0) {
        work.emplace_back([this, t, threads, share] { Write(t / 2, (threads + 1) / 2, share); });
      } else {
        work.emplace_back([this, t, share] { Read(t, share); });
      }
    }
    crew_.Run(work);
    verdict_->done += done_.load();
  }

 private:
  struct alignas(64) Group {
    std::atomic<uint64_t> issued{0}, acknowledged{0};
  };
  // What one cut shows of a group.
  struct Cut {
    uint64_t counters[kMembers] = {};  // 0: absent
  };
  struct Bounds {
    uint64_t least[kGroups];  // acknowledged before the cut
  };

  bool IsChain(size_t group) const { return group % 2 == 1; }
  // Two places in key order: members side by side, or as far apart as can be.
  std::string KeyOf(size_t group, size_t member) const {
    const std::string g = std::to_string(100 + group), m = std::to_string(member);
    return scattered_ ? m + "/" + g : g + "/" + m;
  }
  bool Parse(std::string_view key, size_t* group, size_t* member) const {
    const size_t g = scattered_ ? 2 : 0, m = scattered_ ? 0 : 4;
    if (key.size() != 5) return false;
    *group = static_cast<size_t>((key[g] - '1') * 100 + (key[g + 1] - '0') * 10 + key[g + 2] - '0');
    *member = static_cast<size_t>(key[m] - '0');
    return *group < kGroups && *member < kMembers;
  }

  void Write(size_t writer, size_t writers, uint64_t operations) {
    Rng rng(seed_ * 100 + writer);
    std::string value;
    for (uint64_t i = 0; i < operations && !crew_.stopped(); ++i) {
      const size_t group = rng.Below(kGroups) / writers * writers + writer;
      if (group >= kGroups) continue;
      const uint64_t counter = groups_[group].issued.load() + 1;
      groups_[group].issued.store(counter);
      MakeValue(MakeId(counter, length_), &value);
      WriteBatch batch;
      for (size_t member = 0; member < kMembers; ++member) {
        if (IsChain(group)) {
          if (!crew_.Ok(crew_.store()->Put(KeyOf(group, member), value), "put")) return;
        } else if (counter % 5 == 0) {
          batch.Delete(KeyOf(group, member));
        } else {
          batch.Put(KeyOf(group, member), value);
        }
      }
      if (!IsChain(group) && !crew_.Ok(crew_.store()->Write(batch), "write batch")) return;
      groups_[group].acknowledged.store(counter);
      done_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void Read(size_t reader, uint64_t operations) {
    Rng rng(seed_ * 100 + 50 + reader);
    for (uint64_t i = 0; i < operations && !crew_.stopped();) {
      switch (rng.Below(16)) {
        case 0:
          i += ReadAllByScan(rng.OneIn(2), nullptr, Before());
          break;
        case 1:
          i += ReadAllByIterator();
          break;
        case 2:
          i += ReadSnapshot(&rng);
          break;
        default:
          i += ReadGroup(rng.Below(kGroups), nullptr, Before());
      }
    }
  }
  Bounds Before() const {
    Bounds bounds;
    for (size_t g = 0; g < kGroups; ++g) bounds.least[g] = groups_[g].acknowledged.load();
    return bounds;
  }
  uint64_t Count() {
    done_.fetch_add(1, std::memory_order_relaxed);
    return 1;
  }

  uint64_t ReadGroup(size_t group, const Snapshot* snapshot, const Bounds& bounds) {
    std::vector<std::string> names, values;
    std::vector<std::string_view> keys;
    std::vector<Status> statuses;
    for (size_t member = 0; member < kMembers; ++member) names.push_back(KeyOf(group, member));
    // Out of order, so that a group read at two moments shows.
    std::reverse(names.begin(), names.end());
    keys.assign(names.begin(), names.end());
    crew_.store()->MultiGet({snapshot, true}, keys, &values, &statuses);
    Cut cut;
    for (size_t i = 0; i < kMembers; ++i) {
      if (statuses[i].not_found()) continue;
      if (!crew_.Ok(statuses[i], "multi-get")) return 1;
      cut.counters[kMembers - 1 - i] = CounterOf(values[i]);
    }
    Judge("multi-get", group, cut, bounds);
    return Count();
  }
  uint64_t ReadSnapshot(Rng* rng) {
    const Bounds bounds = Before();
    const std::unique_ptr<Snapshot> snapshot = crew_.store()->GetSnapshot();
    const size_t group = rng->Below(kGroups);
    Cut cut;
    std::string value;
    for (size_t member = 0; member < kMembers; ++member) {
      const Status status =
          crew_.store()->Get({snapshot.get(), rng->OneIn(2)}, KeyOf(group, member), &value);
      if (status.not_found()) continue;
      if (!crew_.Ok(status, "get at snapshot")) return 1;
      cut.counters[member] = CounterOf(value);
    }
    Judge("gets at snapshot", group, cut, bounds);
    (void)ReadGroup(rng->Below(kGroups), snapshot.get(), bounds);
    if (rng->OneIn(4)) (void)ReadAllByScan(rng->OneIn(2), snapshot.get(), bounds);
    return Count();
  }
  uint64_t ReadAllByScan(bool reverse, const Snapshot* snapshot, const Bounds& bounds) {
    ScanOptions scan;
    scan.reverse = reverse;
    scan.snapshot = snapshot;
    std::vector<Cut> cuts(kGroups);
    const Status status = crew_.store()->Scan(
        scan,
        [&](std::string_view key, std::string_view value) { return Enter(key, value, &cuts); });
    if (crew_.Ok(status, "scan")) JudgeAll("scan", cuts, bounds);
    return Count();
  }
  uint64_t ReadAllByIterator() {
    const Bounds bounds = Before();
    const std::unique_ptr<Iterator> iterator = crew_.store()->NewIterator({});
    std::vector<Cut> cuts(kGroups);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      if (!Enter(iterator->key(), iterator->value(), &cuts)) return 1;
    }
    if (crew_.Ok(iterator->status(), "iterator")) JudgeAll("iterator", cuts, bounds);
    return Count();
  }
  bool Enter(std::string_view key, std::string_view value, std::vector<Cut>* cuts) {
    size_t group, member;
    if (!Parse(key, &group, &member)) {
      crew_.Fail("row " + Printable(key) + " was never written");
      return false;
    }
    if ((*cuts)[group].counters[member] != 0) crew_.Fail("row " + Printable(key) + " came twice");
    (*cuts)[group].counters[member] = CounterOf(value);
    return true;
  }
  uint64_t CounterOf(std::string_view value) {
    const ValueId id = IdOf(value);
    if (id == kAbsent) crew_.Fail("a value that no client wrote");
    return NumberOfId(id);
  }

  void JudgeAll(const char* how, const std::vector<Cut>& cuts, const Bounds& bounds) {
    for (size_t group = 0; group < kGroups && !crew_.stopped(); ++group) {
      Judge(how, group, cuts[group], bounds);
    }
  }
  void Judge(const char* how, size_t group, const Cut& cut, const Bounds& bounds) {
    const uint64_t first = cut.counters[0], last = cut.counters[kMembers - 1];
    const uint64_t most = groups_[group].issued.load();
    bool right = std::is_sorted(std::begin(cut.counters), std::end(cut.counters), std::greater<>());
    if (IsChain(group)) {
      right = right && first - last <= 1;
    } else {
      right = right && first == last;
    }
    const bool unknown = !IsChain(group) && first == 0;  // deleted at some counter
    if (!unknown) right = right && last >= bounds.least[group] && first <= most;
    if (right || crew_.stopped()) return;
    std::string text = std::string(how) + ": " + (IsChain(group) ? "chain" : "batch") + " group " +
                       std::to_string(group) + ": expected one cut between " +
                       std::to_string(bounds.least[group]) + " and " + std::to_string(most) +
                       ", got";
    for (const uint64_t counter : cut.counters) text += " " + std::to_string(counter);
    crew_.Fail(text);
  }

  const uint64_t seed_;
  const CheckOptions& check_;
  Verdict* const verdict_;
  Crew crew_;
  bool scattered_ = false;
  uint64_t length_ = 8;
  Group groups_[kGroups];
  std::atomic<uint64_t> done_{0};
};

}  // namespace

Verdict CheckSnapshots(const CheckOptions& options) {
  return RunRounds(options, "snapshots", "operations",
                   [&](uint64_t seed, Verdict* verdict) { Round(seed, options, verdict).Run(); });
}

}  // namespace chunkstore::testing
