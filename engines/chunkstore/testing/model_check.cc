// CheckModel: random operations against the model, one thread.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chunkstore/store.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "testing/checkers.h"
#include "testing/data.h"
#include "testing/model.h"

namespace chunkstore::testing {
namespace {

using Moment = Model::Moment;

constexpr uint64_t kOperationsPerRound = 20'000;
constexpr size_t kViews = 3;

// One store's life with one seed.
class Round {
 public:
  Round(uint64_t seed, const CheckOptions& check, kvdyno::FileSystem* files, std::string directory,
        Verdict* verdict)
      : seed_(seed),
        check_(check),
        files_(files),
        directory_(std::move(directory)),
        verdict_(verdict),
        rng_(seed),
        keys_(&rng_, rng_.Pick({20, 300, 2000})),
        model_(keys_.size()) {}

  void Run(uint64_t operations) {
    if (!Open()) return;
    for (uint64_t i = 0; i < operations && verdict_->ok(); ++i) {
      if (i % 1000 == 0) ChangeHabit();
      Step();
      ++verdict_->done;
    }
    if (verdict_->ok()) CompareAll();
    if (verdict_->ok() && Reopen()) CompareAll();
    views_.clear();
  }

 private:
  // A moment that is looked at later: a snapshot, and perhaps an iterator at the same moment.
  struct View {
    Moment moment;
    std::unique_ptr<Snapshot> snapshot;
    std::unique_ptr<Iterator> iterator;
  };

  // --- reporting
  void Fail(const std::string& what) {
    verdict_->Add(
        Violation("model", seed_, "operation " + std::to_string(verdict_->done) + ": " + what));
  }
  bool Ok(const Status& status, const char* call) {
    if (!status.ok()) Fail(std::string(call) + ": expected ok, got " + status.ToString());
    return status.ok();
  }
  bool Same(const std::string& call, size_t rank, Moment moment, const Status& status,
            std::string_view value) {
    const ValueId expected = model_.At(rank, moment);
    if (expected == kAbsent ? status.not_found() : status.ok() && IsValue(expected, value)) {
      return true;
    }
    const std::string got =
        status.ok() ? std::to_string(value.size()) + " bytes that are " + Describe(IdOf(value))
                    : status.ToString();
    Fail(call + " " + Printable(keys_[rank]) + ": expected " + Describe(expected) + ", got " + got);
    return false;
  }

  // --- life
  bool Open() {
    if (!options_ || rng_.OneIn(3)) {
      options_ = RandomOptions(&rng_);
      // Real syncs cost milliseconds.
      if (!check_.directory.empty() && options_->durability == Durability::kSync) {
        options_->durability = Durability::kAsync;
      }
      options_->background_threads = check_.background_threads;
      options_->file_system = files_;
    }
    return Ok(Store::Open(*options_, directory_, &store_), "open");
  }
  bool Reopen() {
    while (!views_.empty()) DropView(0);
    // Without files, only a proper end keeps what is in memory.
    if (options_->durability == Durability::kNone || rng_.OneIn(2)) {
      if (!Ok(store_->Close(), "close")) return false;
    }
    store_.reset();
    return Open();
  }
  // Phases, so that chunks grow, shrink, and are written in order.
  void ChangeHabit() {
    hot_width_ = std::max<uint64_t>(1, rng_.Pick({keys_.size(), keys_.size() / 10, size_t{10}}));
    hot_start_ = rng_.Below(keys_.size());
    ascending_ = rng_.OneIn(4);
    deletes_ = rng_.Pick({5, 5, 20, 80});
    writes_ = rng_.Pick({5, 40, 40, 80});
  }
  size_t RandomRank() {
    if (rng_.OneIn(10)) return rng_.Below(keys_.size());
    return (hot_start_ + rng_.Below(hot_width_)) % keys_.size();
  }
  size_t WriteRank() { return ascending_ ? next_ascending_++ % keys_.size() : RandomRank(); }
  ValueId NewId() { return MakeId(++last_number_, RandomLength(&rng_, 0)); }

  void Step() {
    const uint64_t rare = rng_.Below(100'000);
    if (rare < 500) return RareStep(rare);
    if (rng_.Below(100) < writes_) return WriteStep();
    const uint64_t dice = rng_.Below(100);
    if (dice < 78) return GetStep();
    if (dice < 86) return MultiGetStep();
    if (dice < 92) return ScanStep();
    if (dice < 96) return IterateStep(nullptr);
    ViewStep();
  }
  void RareStep(uint64_t dice) {
    if (dice < 200) {
      (void)Ok(store_->Checkpoint(), "checkpoint");
    } else if (dice < 450) {
      (void)Ok(store_->Flush(), "flush");
    } else if (dice < 470) {
      (void)Ok(store_->Compact(), "compact");
    } else if (dice < 490) {
      (void)Reopen();
    } else {
      CheckReport report;
      if (!Ok(store_->VerifyChecksums(&report), "verify checksums")) return;
      if (!report.problems.empty()) Fail("verify checksums: " + report.problems.front());
    }
  }

  // --- writes
  void WriteStep() {
    if (rng_.OneIn(12)) return BatchStep();
    const size_t rank = WriteRank();
    if (rng_.Below(100) < deletes_) {
      model_.Write(rank, kAbsent);
      (void)Ok(store_->Delete(keys_[rank]), "delete");
      return;
    }
    const ValueId id = NewId();
    MakeValue(id, &value_);
    model_.Write(rank, id);
    (void)Ok(store_->Put(keys_[rank], value_), "put");
  }
  void BatchStep() {
    WriteBatch batch;
    const uint64_t count = rng_.Skewed(100);
    for (uint64_t i = 0; i < count; ++i) {
      const size_t rank = WriteRank();
      if (rng_.Below(100) < deletes_) {
        model_.Write(rank, kAbsent);
        batch.Delete(keys_[rank]);
      } else {
        const ValueId id = NewId();
        MakeValue(id, &value_);
        model_.Write(rank, id);
        batch.Put(keys_[rank], value_);
      }
    }
    (void)Ok(store_->Write(batch), "write batch");
  }

  // --- reads
  const View* RandomView() {
    return views_.empty() || !rng_.OneIn(4) ? nullptr : &views_[rng_.Below(views_.size())];
  }
  Moment MomentOf(const View* view) const { return view == nullptr ? model_.now() : view->moment; }
  ReadOptions ReadAt(const View* view) {
    return {view == nullptr ? nullptr : view->snapshot.get(), !rng_.OneIn(8)};
  }

  void GetStep() {
    const View* view = RandomView();
    const size_t rank = RandomRank();
    const Status status = store_->Get(ReadAt(view), keys_[rank], &value_);
    (void)Same(view == nullptr ? "get" : "get at snapshot", rank, MomentOf(view), status, value_);
  }
  void MultiGetStep() {
    const View* view = RandomView();
    std::vector<size_t> ranks(rng_.Skewed(40));
    std::vector<std::string_view> wanted;
    for (size_t& rank : ranks) {
      rank = RandomRank();
      wanted.push_back(keys_[rank]);
    }
    store_->MultiGet(ReadAt(view), wanted, &values_, &statuses_);
    if (values_.size() != wanted.size() || statuses_.size() != wanted.size()) {
      return Fail("multi-get: expected " + std::to_string(wanted.size()) + " answers, got " +
                  std::to_string(statuses_.size()));
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (!Same("multi-get", ranks[i], MomentOf(view), statuses_[i], values_[i])) return;
    }
  }
  // A bound is a key, or something beside one.
  std::string RandomBound() {
    std::string bound = keys_[RandomRank()];
    if (rng_.OneIn(3)) bound += rng_.Pick({'\0', 'x', '\xff'});
    if (rng_.OneIn(5) && !bound.empty()) bound.pop_back();
    return bound;
  }
  void ScanStep() {
    const View* view = RandomView();
    std::string start = rng_.OneIn(4) ? "" : RandomBound(),
                end = rng_.OneIn(3) ? "" : RandomBound();
    if (!end.empty() && end < start && !rng_.OneIn(10)) std::swap(start, end);
    Scan(view, start, end, rng_.OneIn(50) ? 0 : rng_.Skewed(60), rng_.OneIn(2));
  }
  void Scan(const View* view, const std::string& start, const std::string& end, uint64_t limit,
            bool reverse) {
    ScanOptions scan;
    scan.start = start;
    scan.end = end;
    scan.limit = limit;
    scan.reverse = reverse;
    scan.snapshot = ReadAt(view).snapshot;
    scan.fill_cache = !rng_.OneIn(4);
    const Moment moment = MomentOf(view);
    const size_t from = keys_.LowerBound(start);
    const size_t to = end.empty() ? keys_.size() : std::max(from, keys_.LowerBound(end));
    const uint64_t stop_after = rng_.OneIn(10) ? rng_.Skewed(10) : UINT64_MAX;
    size_t at = reverse ? (to == from ? model_.size() : model_.Backward(to - 1, moment))
                        : model_.Forward(from, moment);
    uint64_t rows = 0;
    const auto inside = [&] { return at < model_.size() && at >= from && at < to; };
    const Status status = store_->Scan(scan, [&](std::string_view key, std::string_view value) {
      ++rows;
      if (!inside() || key != keys_[at] || !IsValue(model_.At(at, moment), value)) {
        Fail("scan" + std::string(reverse ? " down" : "") + ": expected " +
             (inside() ? Printable(keys_[at]) + " " + Describe(model_.At(at, moment)) : "no row") +
             ", got " + Printable(key) + " " + Describe(IdOf(value)));
        return false;
      }
      if (reverse) {
        at = at == 0 ? model_.size() : model_.Backward(at - 1, moment);
      } else {
        at = model_.Forward(at + 1, moment);
      }
      return rows < stop_after;
    });
    if (!verdict_->ok() || !Ok(status, "scan")) return;
    const bool cut = rows == stop_after || (limit != 0 && rows == limit);
    if (limit != 0 && rows > limit) Fail("scan: rows beyond the limit");
    if (!cut && inside()) Fail("scan: expected " + Printable(keys_[at]) + ", got no row");
  }
  void CompareAll() {
    Scan(nullptr, "", "", 0, false);
    if (verdict_->ok()) Scan(nullptr, "", "", 0, true);
    for (size_t rank = 0; rank < keys_.size() && verdict_->ok(); ++rank) {
      const Status status = store_->Get(keys_[rank], &value_);
      (void)Same("final get", rank, model_.now(), status, value_);
    }
  }

  // --- iterators and held moments
  void IterateStep(Iterator* iterator, Moment moment = 0) {
    std::unique_ptr<Iterator> own;
    if (iterator == nullptr) {
      const View* view = RandomView();
      moment = MomentOf(view);
      own = store_->NewIterator(ReadAt(view));
      iterator = own.get();
    }
    size_t at = SomeSeek(iterator, moment);
    for (uint64_t moves = rng_.Skewed(30); moves > 0 && SamePlace(*iterator, at, moment); --moves) {
      if (at >= model_.size()) return;
      if (rng_.OneIn(20)) {
        at = SomeSeek(iterator, moment);
      } else if (rng_.OneIn(3)) {
        iterator->Prev();
        at = at == 0 ? model_.size() : model_.Backward(at - 1, moment);
      } else {
        iterator->Next();
        at = model_.Forward(at + 1, moment);
      }
    }
  }
  // The place where the iterator must be now.
  size_t SomeSeek(Iterator* iterator, Moment moment) {
    const std::string bound = RandomBound();
    switch (rng_.Below(8)) {
      case 0:
        iterator->SeekToFirst();
        return model_.Forward(0, moment);
      case 1:
        iterator->SeekToLast();
        return model_.Backward(model_.size() - 1, moment);
      case 2:
      case 3: {
        iterator->SeekForPrev(bound);
        size_t at = keys_.LowerBound(bound);
        if (at == keys_.size() || keys_[at] != bound) {
          if (at-- == 0) return model_.size();
        }
        return model_.Backward(at, moment);
      }
      default:
        iterator->Seek(bound);
        return model_.Forward(keys_.LowerBound(bound), moment);
    }
  }
  bool SamePlace(const Iterator& iterator, size_t at, Moment moment) {
    if (!Ok(iterator.status(), "iterator")) return false;
    if (at >= model_.size()) {
      if (iterator.Valid()) Fail("iterator: expected the end, got " + Printable(iterator.key()));
      return !iterator.Valid();
    }
    if (iterator.Valid() && iterator.key() == keys_[at] &&
        IsValue(model_.At(at, moment), iterator.value())) {
      return true;
    }
    Fail("iterator: expected " + Printable(keys_[at]) + " " + Describe(model_.At(at, moment)) +
         ", got " +
         (iterator.Valid() ? Printable(iterator.key()) + " " + Describe(IdOf(iterator.value()))
                           : "the end"));
    return false;
  }
  void ViewStep() {
    if (views_.size() < kViews && rng_.OneIn(3)) {
      View view{model_.now(), store_->GetSnapshot(), nullptr};
      if (rng_.OneIn(2)) view.iterator = store_->NewIterator({});
      model_.Hold(view.moment);
      views_.push_back(std::move(view));
    } else if (!views_.empty() && rng_.OneIn(6)) {
      DropView(rng_.Below(views_.size()));
    } else if (!views_.empty()) {
      const View& view = views_[rng_.Below(views_.size())];
      if (view.iterator != nullptr) IterateStep(view.iterator.get(), view.moment);
    }
  }
  void DropView(size_t i) {
    model_.Release(views_[i].moment);
    views_.erase(views_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const uint64_t seed_;
  const CheckOptions& check_;
  kvdyno::FileSystem* const files_;
  const std::string directory_;
  Verdict* const verdict_;
  Rng rng_;
  const KeySpace keys_;
  Model model_;
  std::optional<Options> options_;
  std::unique_ptr<Store> store_;
  std::vector<View> views_;  // gone before the store
  uint64_t hot_width_ = 1, hot_start_ = 0, deletes_ = 5, writes_ = 40;
  bool ascending_ = false;
  uint64_t next_ascending_ = 0, last_number_ = 0;
  std::string value_;
  std::vector<std::string> values_;
  std::vector<Status> statuses_;
};

}  // namespace

Verdict CheckModel(const CheckOptions& options) {
  return RunRounds(options, "model", "operations", [&](uint64_t seed, Verdict* verdict) {
    if (options.directory.empty()) {
      kvdyno::testing::SimulatedFileSystem files(seed);
      Round(seed, options, &files, "/store", verdict).Run(kOperationsPerRound);
    } else {
      const ScratchDirectory scratch(options.directory);
      Round(seed, options, kvdyno::FileSystem::Posix(), scratch.path() + "/store", verdict)
          .Run(kOperationsPerRound);
    }
  });
}

}  // namespace chunkstore::testing
