// CheckLinearizable: threads read and write a few hundred keys and note when; then each key's
// history is judged as that of a register.
#include <algorithm>
#include <vector>

#include "kvdyno/base/clock.h"
#include "testing/checkers.h"
#include "testing/crew.h"
#include "testing/linearizable.h"

namespace chunkstore::testing {
namespace {

constexpr uint64_t kOperationsPerRound = 80'000;

class Round {
 public:
  Round(uint64_t seed, const CheckOptions& check, Verdict* verdict)
      : seed_(seed),
        check_(check),
        verdict_(verdict),
        crew_("linearizable", seed, 8, check, verdict),
        keys_(crew_.rng(), crew_.rng()->Pick({30, 300, 1000})),
        hot_(crew_.rng()->Pick({1, 4, 30})) {}

  void Run() {
    if (!crew_.Open()) return;
    const auto threads = static_cast<size_t>(std::max(2, check_.threads));
    notes_.resize(threads);
    std::vector<std::function<void()>> work;
    for (size_t t = 0; t < threads; ++t) {
      work.emplace_back([this, t, threads] { Work(t, kOperationsPerRound / threads); });
    }
    crew_.Run(work);
    if (!crew_.stopped()) {
      ReadFinal();
      Judge();
    }
    for (const auto& notes : notes_) verdict_->done += notes.size();
  }

 private:
  struct Note {
    size_t rank;
    Event event;
  };

  void Work(size_t thread, uint64_t operations) {
    Rng rng(seed_ * 100 + thread);
    std::vector<Note>& notes = notes_[thread];
    notes.reserve(operations + 100);
    uint64_t last_number = 0;
    std::string value;
    while (notes.size() < operations && !crew_.stopped()) {
      const size_t rank = rng.OneIn(2) ? rng.Below(hot_) : rng.Below(keys_.size());
      const uint64_t dice = rng.Below(100);
      if (dice < 40) {
        const uint64_t number = (++last_number) * 64 + thread;
        const ValueId id = dice < 4 ? kAbsent : MakeId(number, RandomLength(&rng, sizeof(ValueId)));
        const bool replaced = id != kAbsent && rng.OneIn(8);
        if (!(replaced ? Replace(rank, id, &value, &notes) : Write(rank, id, &value, &notes))) {
          return;
        }
      } else if (dice < 94) {
        if (!Read(rank, !rng.OneIn(8), &value, &notes)) return;
      } else if (dice < 97) {
        if (!MultiRead(&rng, &notes)) return;
      } else if (!ScanSome(rank, rng.OneIn(2), &notes)) {
        return;
      }
    }
  }
  bool Write(size_t rank, ValueId id, std::string* value, std::vector<Note>* notes) {
    if (id != kAbsent) MakeValue(id, value);
    const uint64_t invoke = kvdyno::NowNs();
    const Status status = id == kAbsent ? crew_.store()->Delete(keys_[rank])
                                        : crew_.store()->Put(keys_[rank], *value);
    notes->push_back({rank, {invoke, kvdyno::NowNs(), id, true}});
    return crew_.Ok(status, id == kAbsent ? "delete" : "put");
  }
  // Deleted and put in one batch: no read may find the key absent.
  bool Replace(size_t rank, ValueId id, std::string* value, std::vector<Note>* notes) {
    MakeValue(id, value);
    WriteBatch batch;
    batch.Delete(keys_[rank]);
    batch.Put(keys_[rank], *value);
    const uint64_t invoke = kvdyno::NowNs();
    const Status status = crew_.store()->Write(batch);
    notes->push_back({rank, {invoke, kvdyno::NowNs(), id, true}});
    return crew_.Ok(status, "write batch");
  }
  bool Read(size_t rank, bool fill_cache, std::string* value, std::vector<Note>* notes) {
    const uint64_t invoke = kvdyno::NowNs();
    const Status status = crew_.store()->Get({nullptr, fill_cache}, keys_[rank], value);
    return Enter(rank, invoke, kvdyno::NowNs(), status, *value, notes);
  }
  bool Enter(size_t rank, uint64_t invoke, uint64_t response, const Status& status,
             std::string_view value, std::vector<Note>* notes) {
    if (!status.ok() && !status.not_found()) return crew_.Ok(status, "get");
    const ValueId id = status.ok() ? IdOf(value) : kAbsent;
    if (status.ok() && id == kAbsent) {
      crew_.Fail("get " + Printable(keys_[rank]) + ": a value that no client wrote");
      return false;
    }
    notes->push_back({rank, {invoke, response, id, false}});
    return true;
  }
  bool MultiRead(Rng* rng, std::vector<Note>* notes) {
    std::vector<size_t> ranks(rng->Between(1, 10));
    std::vector<std::string_view> keys;
    for (size_t& rank : ranks) keys.push_back(keys_[rank = rng->Below(keys_.size())]);
    std::vector<std::string> values;
    std::vector<Status> statuses;
    const uint64_t invoke = kvdyno::NowNs();
    crew_.store()->MultiGet({}, keys, &values, &statuses);
    const uint64_t response = kvdyno::NowNs();
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (!Enter(ranks[i], invoke, response, statuses[i], values[i], notes)) return false;
    }
    return true;
  }
  // Up to ten rows from a key on; keys passed over are reads of "absent".
  bool ScanSome(size_t rank, bool reverse, std::vector<Note>* notes) {
    const size_t from = reverse ? rank - std::min<size_t>(rank, 9) : rank;
    const size_t to = std::min(keys_.size(), from + 10);
    ScanOptions scan;
    scan.start = keys_[from];
    if (to < keys_.size()) scan.end = keys_[to];
    scan.reverse = reverse;
    std::vector<ValueId> found(to - from, kAbsent);
    bool known = true;
    const uint64_t invoke = kvdyno::NowNs();
    const Status status =
        crew_.store()->Scan(scan, [&](std::string_view key, std::string_view value) {
          const size_t at = keys_.Find(key);
          known = at >= from && at < to && IdOf(value) != kAbsent;
          if (known) found[at - from] = IdOf(value);
          return known;
        });
    const uint64_t response = kvdyno::NowNs();
    if (!known) crew_.Fail("scan: a row that no client wrote");
    if (!crew_.Ok(status, "scan") || !known) return false;
    for (size_t at = from; at < to; ++at) {
      notes->push_back({at, {invoke, response, found[at - from], false}});
    }
    return true;
  }

  void ReadFinal() {
    std::string value;
    for (size_t rank = 0; rank < keys_.size(); ++rank) {
      if (!Read(rank, true, &value, &notes_[0])) return;
    }
  }
  void Judge() {
    std::vector<std::vector<Event>> events(keys_.size());
    for (const auto& notes : notes_) {
      for (const Note& note : notes) events[note.rank].push_back(note.event);
    }
    for (size_t rank = 0; rank < keys_.size() && !crew_.stopped(); ++rank) {
      const std::string wrong = JudgeRegister(events[rank]);
      if (!wrong.empty()) crew_.Fail("key " + Printable(keys_[rank]) + ": " + wrong);
    }
  }

  const uint64_t seed_;
  const CheckOptions& check_;
  Verdict* const verdict_;
  Crew crew_;
  const KeySpace keys_;
  const uint64_t hot_;                    // the first so many keys get half of all operations
  std::vector<std::vector<Note>> notes_;  // one per thread
};

}  // namespace

Verdict CheckLinearizable(const CheckOptions& options) {
  return RunRounds(options, "linearizable", "operations",
                   [&](uint64_t seed, Verdict* verdict) { Round(seed, options, verdict).Run(); });
}

}  // namespace chunkstore::testing
