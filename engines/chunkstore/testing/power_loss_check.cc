// CheckPowerLoss: one writer, whose order of writes is the store's order of versions, on a
// simulated file system that loses its power.
#include <memory>
#include <optional>
#include <string>

#include "kvdyno/base/testing/simulated_file_system.h"
#include "testing/checkers.h"
#include "testing/history.h"

namespace chunkstore::testing {
namespace {

using kvdyno::testing::Loss;
using kvdyno::testing::SimulatedFileSystem;

constexpr const char* kDirectory = "/store";

// One store on one disk through several losses.
class Round {
 public:
  Round(uint64_t seed, Verdict* verdict)
      : seed_(seed),
        verdict_(verdict),
        rng_(seed),
        files_(seed),
        keys_(&rng_, rng_.Pick({10, 100, 600})),
        history_(Content(keys_.size(), kAbsent)) {}

  void Run() {
    const uint64_t losses = rng_.Between(2, 6);
    for (loss_ = 0; loss_ < losses && verdict_->ok(); ++loss_) {
      if (!Recover()) return;
      WriteUntilLoss();
    }
    if (verdict_->ok()) (void)Recover();
  }

 private:
  void Fail(const std::string& what) {
    verdict_->Add(Violation("power", seed_,
                            "after loss " + std::to_string(loss_) + ", written " + written_mode_ +
                                ", promised by " + promise_ + ": " + what));
  }
  Loss RandomLoss() {
    return rng_.Pick({Loss::kDropAll, Loss::kKeepAll, Loss::kRandom, Loss::kRandom, Loss::kTorn});
  }

  // Opens, with the power going meanwhile now and then, until it is open and its content judged.
  bool Recover() {
    for (int attempt = 0;; ++attempt) {
      if (attempt < 3 && rng_.OneIn(3)) files_.LosePowerAfter(rng_.Skewed(30), RandomLoss());
      ChooseOptions();
      const Status status = Store::Open(options_, kDirectory, &store_);
      std::string wrong;
      Content content;
      const Status read = status.ok() ? ReadContent(store_.get(), keys_, &content, &wrong) : status;
      if (wrong.empty() && read.ok()) wrong = history_.Judge(content, promised_);
      if (!wrong.empty()) {
        Fail((files_.power_lost() ? "while the power goes: " : "recovered: ") + wrong);
        return false;
      }
      if (read.ok() && !files_.power_lost()) {
        // What was read came from the disk, so it stays.
        history_ = History(std::move(content));
        Promise("recovery");
        written_mode_ = mode_;
        return true;
      }
      if (!files_.power_lost()) {
        Fail((status.ok() ? "scan: expected ok, got " : "open: expected ok, got ") +
             read.ToString());
        return false;
      }
      store_.reset();
      files_.Restart();
    }
  }
  void ChooseOptions() {
    if (loss_ != 0 && !rng_.OneIn(3)) return;
    options_ = RandomOptions(&rng_);
    options_.file_system = &files_;
    options_.background_threads = rng_.OneIn(4) ? 1 : 0;
    munks_ahead_ = rng_.OneIn(4);
    if (munks_ahead_) KeepMunksAheadOfTheDisk();
    constexpr const char* kModes[] = {"none", "async", "sync"};
    mode_ = kModes[static_cast<int>(options_.durability)];
  }

  // Munks that are written out often while little of the ring is durable, and writes go on
  // meanwhile.
  void KeepMunksAheadOfTheDisk() {
    options_.background_threads = 1;
    options_.durability = Durability::kAsync;
    options_.munk_cache_size = Options::kAdaptive;
    options_.block_cache_size = options_.row_cache_size = 0;
    options_.chunk_size = options_.munk_log_limit = 4 << 10;
    options_.checkpoint_interval_s = 3600;
  }

  // What is read often gets a munk, in the next round of background work.
  bool WarmUp() {
    for (int i = 0; i < 3; ++i) {
      Content content;
      std::string wrong;
      if (Status status = ReadContent(store_.get(), keys_, &content, &wrong); !status.ok()) {
        return Expected(status, "scan");
      }
    }
    return Done(store_->Flush(), "flush");
  }

  void WriteUntilLoss() {
    if (munks_ahead_ && !WarmUp()) return;
    if (!rng_.OneIn(4)) files_.LosePowerAfter(rng_.Skewed(400), RandomLoss());
    const uint64_t writes = munks_ahead_ ? rng_.Between(500, 2000) : rng_.Skewed(2000);
    for (uint64_t i = 0; i < writes && verdict_->ok() && Step(); ++i) continue;
    if (!verdict_->ok()) return;
    if (rng_.OneIn(4)) Done(store_->Close(), "close");
    if (!files_.power_lost()) files_.LosePower(RandomLoss());
    store_.reset();
    files_.Restart();
  }

  // False once the power is gone.
  bool Step() {
    const uint64_t dice = rng_.Below(1000);
    if (dice < 10) return Done(store_->Checkpoint(), "checkpoint");
    if (dice < 15) return Done(store_->Flush(), "flush");
    if (dice < 18) return Done(store_->Compact(), "compact");
    if (dice < 100) return Read();
    Operations write = RandomWrite(&rng_, keys_.size(), &last_number_);
    const Status status = WriteTo(store_.get(), keys_, write);
    history_.Add(std::move(write));  // a failed one may or may not be there
    if (!status.ok()) return Expected(status, "write");
    if (options_.durability == Durability::kSync) Promise("sync");
    return true;
  }
  // After these everything so far is promised.
  bool Done(const Status& status, const char* call) {
    if (!status.ok()) return Expected(status, call);
    Promise(call);
    return true;
  }
  void Promise(const char* reason) {
    promised_ = history_.size();
    promise_ = reason;
  }
  bool Expected(const Status& error, const char* call) {
    if (!files_.power_lost()) {
      Fail(std::string(call) + " with power on: expected ok, got " + error.ToString());
    }
    return false;
  }
  bool Read() {
    const size_t rank = rng_.Below(keys_.size());
    std::string value;
    const Status status = store_->Get(keys_[rank], &value);
    if (!status.ok() && !status.not_found()) return Expected(status, "get");
    const ValueId expected = history_.latest()[rank];
    const ValueId got = status.ok() ? IdOf(value) : kAbsent;
    if (got != expected) {
      Fail("get: expected " + Describe(expected) + ", got " + Describe(got));
    }
    return true;
  }

  const uint64_t seed_;
  Verdict* const verdict_;
  Rng rng_;
  SimulatedFileSystem files_;
  const KeySpace keys_;
  History history_;
  size_t promised_ = 0;  // writes of history_ that must be there
  uint64_t last_number_ = 0;
  uint64_t loss_ = 0;
  Options options_;
  bool munks_ahead_ = false;
  std::string mode_, written_mode_;  // durability, and that of the writes before the loss
  std::string promise_ = "nothing";  // what raised promised_ last
  std::unique_ptr<Store> store_;
};

}  // namespace

Verdict CheckPowerLoss(const CheckOptions& options) {
  return RunRounds(options, "power", "seeds", [](uint64_t seed, Verdict* verdict) {
    Round(seed, verdict).Run();
    ++verdict->done;
  });
}

}  // namespace chunkstore::testing
