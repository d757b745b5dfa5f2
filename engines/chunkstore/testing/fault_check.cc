// CheckFaults: one script of operations, run again and again, each time with another call of the
// file system failing. CheckFullDisk: the disk fills up and is emptied again.
#include <functional>
#include <memory>

#include "kvdyno/base/testing/fault_file_system.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "testing/checkers.h"
#include "testing/possible.h"

namespace chunkstore::testing {
namespace {

using kvdyno::Code;
using kvdyno::testing::Call;
using kvdyno::testing::FaultFileSystem;
using kvdyno::testing::Loss;
using kvdyno::testing::SimulatedFileSystem;

constexpr const char* kDirectory = "/store";
constexpr size_t kKeys = 60;

// Which calls fail, and how.
struct Fault {
  uint64_t call = UINT64_MAX;
  bool persistent = false;
  Code code = Code::kIoError;
  bool partial = false;

  std::string ToString() const {
    return std::string(code == Code::kNoSpace ? "ENOSPC" : "EIO") +
           (persistent ? " from call " : " at call ") + std::to_string(call) +
           (partial ? ", written in part" : "");
  }
};

enum class End : uint8_t { kClose, kDeath, kPowerLoss };

class Script {
 public:
  Script(uint64_t seed, const Fault& fault, End end, Verdict* verdict)
      : seed_(seed),
        fault_(fault),
        end_(end),
        verdict_(verdict),
        rng_(seed),
        disk_(seed),
        files_(&disk_),
        keys_(&rng_, kKeys),
        possible_(kKeys) {
    options_ = RandomOptions(&rng_);
    options_.stage_size = 64 << 10;
    options_.durability =
        std::initializer_list<Durability>{Durability::kAsync, Durability::kSync, Durability::kNone}
            .begin()[seed % 3];
    options_.background_threads = 0;
    options_.file_system = &files_;
    files_.WritePartially(fault.partial);
    files_.SetPlan([this](const Call& call) { return Decide(call); });
  }

  // The number of calls made.
  uint64_t Run() {
    if (Open()) Live();
    if (verdict_->ok()) Finish();
    return files_.calls();
  }

 private:
  void Fail(const std::string& what) {
    verdict_->Add(Violation("faults", seed_, fault_.ToString() + " (" + hit_ + "): " + what, 0));
  }

  Status Decide(const Call& call) {
    if (call.name == "create") created_ = call.path;
    const bool fails =
        armed_ && (call.number == fault_.call || (fault_.persistent && call.number > fault_.call));
    if (!fails) return Status::Ok();
    if (hit_.empty()) hit_ = call.name + " " + call.path;
    fired_ = true;
    // A spill file that was not written is given up with its put.
    const bool given_up =
        (call.name == "sync directory" ? created_ : call.path).find("/spill-") != std::string::npos;
    if (call.name.starts_with("sync") && !given_up) sync_failed_ = true;
    return {fault_.code, call.name + " " + call.path + ": injected"};
  }
  // Whether a failure is no surprise: something failed during this very call, or goes on failing.
  bool Excused() const { return fired_ || (fault_.persistent && !hit_.empty() && armed_); }

  bool Open() {
    for (int attempt = 0; attempt < 3; ++attempt) {
      fired_ = sync_failed_ = false;
      const Status status = Store::Open(options_, kDirectory, &store_);
      if (status.ok()) {
        refuses_writes_ = false;
        return true;
      }
      if (!Excused()) {
        Fail("open: expected ok, got " + status.ToString());
        return false;
      }
    }
    if (!fault_.persistent) Fail("open: expected the fault to pass");
    return false;
  }

  void Live() {
    for (int i = 0; i < 330 && verdict_->ok(); ++i) {
      fired_ = false;
      Step(i);
      if (sync_failed_) refuses_writes_ = true;
      if (i == 200 && !Reopen()) return;
    }
  }
  void Step(int i) {
    if (i % 60 == 50) return Durable(store_->Checkpoint(), "checkpoint");
    if (i == 140 || i == 290) return Durable(store_->Flush(), "flush");
    if (i == 170 || i == 310) return Durable(store_->Compact(), "compact");
    if (i % 40 == 20) return ReadAll();
    if (i % 5 == 3) return ReadOne(rng_.Below(kKeys));
    Write(i);
  }
  void Write(int i) {
    Operations write(i % 11 == 0 ? 5 : 1);
    for (auto& [rank, id] : write) {
      rank = rng_.Below(kKeys);
      const uint64_t length = i % 97 == 60 ? 20'000 : rng_.Between(300, 1200);
      id = rng_.OneIn(8) ? kAbsent : MakeId(++last_number_, length);
    }
    const Status status = WriteTo(store_.get(), keys_, write);
    if (status.ok()) {
      possible_.Acknowledged(write, options_.durability == Durability::kSync);
      failures_in_a_row_ = 0;
      if (refuses_writes_ && fault_.code != Code::kNoSpace)
        Fail("write after a failed sync: expected a refusal, got ok");
      return;
    }
    possible_.Failed(write);
    JudgeRefusal(status);
  }
  void JudgeRefusal(const Status& status) {
    ++failures_in_a_row_;
    if (status.message().empty()) Fail("write: a failure without a message");
    if (status.code() == Code::kInternal) Fail("write: got " + status.ToString());
    if (sync_failed_) {
      if (refuses_writes_ && status.code() != Code::kReadOnly && fault_.code != Code::kNoSpace) {
        Fail("write after a failed sync: expected read only, got " + status.ToString());
      }
      return;
    }
    if (hit_.empty()) Fail("write without a fault: expected ok, got " + status.ToString());
    if (fault_.code == Code::kNoSpace && !hit_.starts_with("sync")) {
      // When a file cannot even be cut any more, nothing more is written.
      const bool refused = fault_.persistent && status.code() == Code::kReadOnly;
      if (status.code() != Code::kNoSpace && !refused) {
        Fail("write: expected no space, got " + status.ToString());
      }
      // One refusal may come late, when work put off fails; then there is space again.
      if (!fault_.persistent && failures_in_a_row_ > 3) {
        Fail("write with space again: expected ok, got " + status.ToString());
      }
    }
  }
  void Durable(const Status& status, const char* call) {
    if (status.ok()) return possible_.MadeDurable();
    if (hit_.empty()) Fail(std::string(call) + ": expected ok, got " + status.ToString());
  }
  void ReadOne(size_t rank) {
    std::string value;
    const Status status = store_->Get(keys_[rank], &value);
    if (!status.ok() && !status.not_found()) return ReadFailed(status, "get");
    const ValueId id = status.ok() ? IdOf(value) : kAbsent;
    if (!possible_.Allows(rank, id) || (status.ok() && id == kAbsent)) {
      Fail("get: expected " + possible_.Describe(rank) + ", got " + Describe(id));
    }
  }
  void ReadAll() {
    Content content;
    std::string wrong;
    const Status status = ReadContent(store_.get(), keys_, &content, &wrong);
    if (!wrong.empty()) return Fail("scan: " + wrong);
    if (!status.ok()) return ReadFailed(status, "scan");
    wrong = possible_.Judge(content);
    if (!wrong.empty()) Fail("scan: " + wrong);
  }
  void ReadFailed(const Status& status, const char* call) {
    if (!Excused()) Fail(std::string(call) + ": expected ok, got " + status.ToString());
  }

  bool Reopen() {
    const Status status = store_->Close();
    if (status.ok()) {
      possible_.MadeDurable();
    } else {
      if (hit_.empty()) Fail("close: expected ok, got " + status.ToString());
      if (options_.durability == Durability::kNone) possible_.LostMemory();
    }
    store_.reset();
    return verdict_->ok() && Open();
  }

  // The process or the machine ends; without faults, everything promised is there.
  void Finish() {
    const bool closed = end_ == End::kClose && store_ != nullptr && store_->Close().ok();
    if (closed) possible_.MadeDurable();
    armed_ = false;
    if (end_ != End::kClose) {
      disk_.LosePower(end_ == End::kPowerLoss ? Loss::kDropAll : Loss::kKeepAll);
    }
    store_.reset();
    disk_.Restart();
    if (end_ == End::kPowerLoss || (!closed && options_.durability == Durability::kNone)) {
      possible_.LostMemory();
    }
    if (!Open()) return;
    ReadAll();
    for (int i = 0; i < 10 && verdict_->ok(); ++i) {
      fired_ = false;
      Operations write = {{rng_.Below(kKeys), MakeId(++last_number_, 100)}};
      const Status status = WriteTo(store_.get(), keys_, write);
      if (!status.ok()) Fail("write after reopening: expected ok, got " + status.ToString());
      possible_.Acknowledged(write, false);
    }
    if (verdict_->ok()) ReadAll();
  }

  const uint64_t seed_;
  const Fault fault_;
  const End end_;
  Verdict* const verdict_;
  Rng rng_;
  SimulatedFileSystem disk_;
  FaultFileSystem files_;
  const KeySpace keys_;
  Possible possible_;
  Options options_;
  uint64_t last_number_ = 0;
  uint64_t failures_in_a_row_ = 0;
  bool armed_ = true;
  bool fired_ = false;            // during the current operation
  bool sync_failed_ = false;      // since the store was opened
  bool refuses_writes_ = false;   // from a failed sync on
  std::string created_;           // the last file
  std::string hit_;               // the first call that failed
  std::unique_ptr<Store> store_;  // its end still makes calls
};

// The disk fills up several times.
class FullDiskRound {
 public:
  FullDiskRound(uint64_t seed, Verdict* verdict)
      : seed_(seed), verdict_(verdict), rng_(seed), disk_(seed), keys_(&rng_, 200), possible_(200) {
    options_ = RandomOptions(&rng_);
    if (options_.durability == Durability::kNone) options_.durability = Durability::kAsync;
    options_.file_system = &disk_;
    options_.background_threads = rng_.OneIn(2) ? 1 : 0;
  }

  void Run() {
    if (!Ok(Store::Open(options_, kDirectory, &store_), "open")) return;
    for (int filling = 0; filling < 3 && verdict_->ok(); ++filling) {
      disk_.SetCapacity(rng_.Between(0, 4 << 20));
      FillUp();
      if (verdict_->ok()) ReadAll("while the disk is full");
      disk_.SetCapacity(UINT64_MAX);
      if (verdict_->ok()) Resume();
    }
    store_.reset();
    if (!verdict_->ok() || !Ok(Store::Open(options_, kDirectory, &store_), "reopen")) return;
    ReadAll("reopened");
  }

 private:
  void Fail(const std::string& what) { verdict_->Add(Violation("full-disk", seed_, what)); }
  bool Ok(const Status& status, const char* call) {
    if (!status.ok()) Fail(std::string(call) + ": expected ok, got " + status.ToString());
    return status.ok();
  }
  Status Write() {
    const Operations write = RandomWrite(&rng_, keys_.size(), &last_number_);
    Status status = WriteTo(store_.get(), keys_, write);
    status.ok() ? possible_.Acknowledged(write, false) : possible_.Failed(write);
    return status;
  }
  void FillUp() {
    int refused = 0;
    for (int i = 0; i < 20'000 && refused < 20 && verdict_->ok(); ++i) {
      const Status status = Write();
      if (status.ok()) continue;
      ++refused;
      if (status.code() != Code::kNoSpace) {
        Fail("write to a full disk: expected no space, got " + status.ToString());
      }
    }
  }
  void ReadAll(const char* when) {
    Content content;
    std::string wrong;
    if (!Ok(ReadContent(store_.get(), keys_, &content, &wrong), when)) return;
    if (wrong.empty()) wrong = possible_.Judge(content);
    if (!wrong.empty()) Fail(std::string(when) + ": " + wrong);
  }
  void Resume() {
    // What was put off before the space came may answer once more.
    (void)store_->Flush();
    if (!Ok(store_->Flush(), "flush with space again")) return;
    for (int i = 0; i < 300 && verdict_->ok(); ++i) (void)Ok(Write(), "write with space again");
  }

  const uint64_t seed_;
  Verdict* const verdict_;
  Rng rng_;
  SimulatedFileSystem disk_;
  const KeySpace keys_;
  Possible possible_;
  Options options_;
  std::unique_ptr<Store> store_;
  uint64_t last_number_ = 0;
};

}  // namespace

Verdict CheckFaults(const CheckOptions& options) {
  Verdict verdict;
  uint64_t seed = options.seed;
  do {
    const uint64_t calls = Script(seed, {}, End::kClose, &verdict).Run();
    const uint64_t stride =
        options.count == 0 ? 1 : std::max<uint64_t>(1, 4 * calls / options.count);
    for (uint64_t call = 0; call < calls && verdict.ok(); call += stride) {
      for (int kind = 0; kind < 4 && verdict.ok(); ++kind, ++verdict.done) {
        const bool no_space = (kind & 1) != 0, persistent = (kind & 2) != 0;
        const Fault fault{call, persistent, no_space ? Code::kNoSpace : Code::kIoError,
                          (call & 1) != 0};
        const uint64_t dice = Mix(call * 4 + static_cast<uint64_t>(kind)) % 3;
        (void)Script(seed, fault, static_cast<End>(dice), &verdict).Run();
      }
      if (options.log && call % 100 == 0) options.log("faults: call " + std::to_string(call));
    }
    verdict.note = std::to_string(calls) + " calls in the script of seed " + std::to_string(seed);
    ++verdict.rounds;
    ++seed;
  } while (verdict.ok() && options.count != 0 && verdict.done < options.count);
  return verdict;
}

Verdict CheckFullDisk(const CheckOptions& options) {
  return RunRounds(options, "full-disk", "seeds", [](uint64_t seed, Verdict* verdict) {
    FullDiskRound(seed, verdict).Run();
    ++verdict->done;
  });
}

}  // namespace chunkstore::testing
