// CheckDamage: a stored directory is damaged in one place; the store must notice, or still be
// right.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "kvdyno/base/testing/simulated_file_system.h"
#include "testing/checkers.h"
#include "testing/history.h"

namespace chunkstore::testing {
namespace {

using kvdyno::testing::Loss;
using kvdyno::testing::SimulatedFileSystem;

const std::string kDirectory = "/store";
constexpr uint64_t kDamagesPerRound = 200;

using Files = std::map<std::string, std::string>;  // name to content

Status ReadFiles(SimulatedFileSystem* disk, Files* files) {
  std::vector<std::string> names;
  Status status = disk->List(kDirectory, &names);
  for (size_t i = 0; status.ok() && i < names.size(); ++i) {
    if (names[i] == "LOCK") continue;
    status = kvdyno::ReadWholeFile(disk, kDirectory + "/" + names[i], &(*files)[names[i]]);
  }
  return status;
}

Status WriteFiles(const Files& files, SimulatedFileSystem* disk) {
  Status status = disk->CreateDirectory(kDirectory);
  for (const auto& [name, content] : files) {
    std::unique_ptr<kvdyno::WritableFile> file;
    if (status.ok()) status = disk->Create(kDirectory + "/" + name, false, &file);
    if (status.ok()) status = file->Append(content);
    if (status.ok()) status = file->Sync();
  }
  if (status.ok()) status = disk->SyncDirectory(kDirectory);
  return status;
}

// "segment-000012.seg" has the kind "segment".
std::string KindOf(const std::string& name) { return name.substr(0, name.find_first_of("-.")); }

// Where damage shows is not always where it is: a manifest without its last edit names what is
// gone.
bool NamesAFile(const std::string& message) {
  for (const char* kind : {"CURRENT", "manifest-", "ring-", "segment-", "spill-"}) {
    if (message.find(kind) != std::string::npos) return true;
  }
  return false;
}

// One healthy directory, damaged many times.
class Round {
 public:
  Round(uint64_t seed, Verdict* verdict)
      : seed_(seed),
        verdict_(verdict),
        rng_(seed),
        keys_(&rng_, 120),
        history_(Content(keys_.size(), kAbsent)) {
    options_ = RandomOptions(&rng_);
    options_.background_threads = 0;
    options_.stage_size = 64 << 10;
    options_.verify_checksums = true;
    if (options_.durability == Durability::kNone) options_.durability = Durability::kAsync;
  }

  void Run(uint64_t damages) {
    if (!Build()) return;
    for (uint64_t i = 0; i < damages && verdict_->ok(); ++i, ++verdict_->done) {
      Files damaged = healthy_;
      Damage(&damaged);
      Judge(damaged);
      if (verdict_->ok() && (refused_ ? rng_.OneIn(2) : rng_.OneIn(20))) JudgeRepair(damaged);
    }
  }

 private:
  void Fail(const std::string& what) {
    verdict_->Add(Violation("damage", seed_, what_ + ": " + what));
  }
  bool Ok(const Status& status, const char* call) {
    if (!status.ok()) Fail(std::string(call) + ": expected ok, got " + status.ToString());
    return status.ok();
  }

  bool Build() {
    what_ = "undamaged";
    SimulatedFileSystem disk(seed_);
    options_.file_system = &disk;
    std::unique_ptr<Store> store;
    if (!Ok(Store::Open(options_, kDirectory, &store), "open")) return false;
    const uint64_t writes = rng_.Between(200, 1200);
    uint64_t last_number = 0;
    for (uint64_t i = 0; i < writes; ++i) {
      Operations write = RandomWrite(&rng_, keys_.size(), &last_number);
      for (const auto& [rank, id] : write) true_rows_.insert({rank, id});
      if (!Ok(WriteTo(store.get(), keys_, write), "write")) return false;
      history_.Add(std::move(write));
      if (rng_.OneIn(100) && !Ok(store->Checkpoint(), "checkpoint")) return false;
    }
    if (rng_.OneIn(4)) {
      if (!Ok(store->Close(), "close")) return false;
    } else {
      disk.LosePower(Loss::kKeepAll);  // as a kill leaves it
    }
    store.reset();
    disk.Restart();
    return Ok(ReadFiles(&disk, &healthy_), "read files");
  }

  void Damage(Files* files) {
    std::set<std::string> kinds;
    for (const auto& file : *files) kinds.insert(KindOf(file.first));
    const std::string kind = *std::next(kinds.begin(), static_cast<long>(rng_.Below(kinds.size())));
    std::vector<std::string> names;
    for (const auto& file : *files) {
      if (KindOf(file.first) == kind) names.push_back(file.first);
    }
    damaged_ = names[rng_.Below(names.size())];
    what_ = damaged_ + " " + DamageFile(files, &(*files)[damaged_]);
  }
  std::string DamageFile(Files* files, std::string* content) {
    const uint64_t dice = rng_.Below(100);
    if (dice < 4) {
      files->erase(damaged_);
      return "missing";
    }
    if (dice < 8) {
      content->append(rng_.Skewed(10'000), static_cast<char>(rng_.Next()));
      return "with garbage appended, " + std::to_string(content->size()) + " bytes now";
    }
    if (content->empty()) return "empty";
    const uint64_t at = rng_.OneIn(3) ? std::min(rng_.Skewed(content->size()), content->size() - 1)
                                      : rng_.Below(content->size());
    if (dice < 13) {
      content->resize(at);
      return "cut to " + std::to_string(at) + " bytes";
    }
    if (dice < 18) {
      const uint64_t end = std::min<uint64_t>(content->size(), at + rng_.Skewed(5000));
      std::fill(content->begin() + static_cast<long>(at), content->begin() + static_cast<long>(end),
                rng_.OneIn(2) ? '\0' : static_cast<char>(rng_.Next()));
      return "overwritten from " + std::to_string(at) + " to " + std::to_string(end);
    }
    const uint64_t bit = rng_.Below(8);
    (*content)[at] = static_cast<char>((*content)[at] ^ (1 << bit));
    return "with bit " + std::to_string(bit) + " of byte " + std::to_string(at) + " flipped";
  }

  void Judge(const Files& damaged) {
    SimulatedFileSystem disk(seed_);
    if (!Ok(WriteFiles(damaged, &disk), "write files")) return;
    Options options = options_;
    options.file_system = &disk;
    options.read_only = rng_.OneIn(2);
    std::unique_ptr<Store> store;
    const Status opened = Store::Open(options, kDirectory, &store);
    refused_ = !opened.ok();
    if (refused_) {
      if (opened.code() == kvdyno::Code::kInternal || opened.not_found() ||
          !NamesAFile(opened.ToString())) {
        Fail("open: expected an error that names a file, got " + opened.ToString());
      }
      return;
    }
    const RecoveryReport& recovery = store->recovery();
    // Whether a stage was ever begun in a file that is not there, is unknown.
    const auto file = damaged.find(damaged_);
    const bool gone = KindOf(damaged_) == "ring" && (file == damaged.end() || file->second.empty());
    const bool reported = gone || (recovery.dropped_bytes > 0 && !recovery.dropped_reason.empty());
    Content expected = history_.latest();
    if (reported && !Reduced(store.get(), &expected)) return;
    const bool scans =
        JudgeScan(store.get(), expected, false) && JudgeScan(store.get(), expected, true);
    const bool gets = verdict_->ok() && JudgeGets(store.get(), expected);
    if (verdict_->ok()) JudgeReport(store.get(), scans && gets);
    if (!verdict_->ok()) return;
    // Reorganising damaged chunks must not make wrong ones of them.
    if (!options.read_only && rng_.OneIn(8)) {
      (void)store->Compact();
      if (JudgeScan(store.get(), expected, false)) (void)JudgeGets(store.get(), expected);
    }
  }
  // By the report, something was dropped: what is left must be a prefix of all writes.
  bool Reduced(Store* store, Content* expected) {
    std::string wrong;
    Content content;
    const Status status = ReadContent(store, keys_, &content, &wrong);
    if (wrong.empty() && status.ok()) wrong = history_.Judge(content, 0);
    if (!wrong.empty()) Fail("after dropping: " + wrong);
    *expected = std::move(content);
    return status.ok() && wrong.empty();
  }
  // False after an error; a wrong row is a violation.
  bool JudgeScan(Store* store, const Content& expected, bool reverse) {
    ScanOptions scan;
    scan.reverse = reverse;
    size_t next = reverse ? keys_.size() : 0;  // ranks before (reverse: from) it are judged
    const auto skip = [&] {
      if (reverse) {
        while (next > 0 && expected[next - 1] == kAbsent) --next;
      } else {
        while (next < keys_.size() && expected[next] == kAbsent) ++next;
      }
    };
    const Status status = store->Scan(scan, [&](std::string_view key, std::string_view value) {
      skip();
      const size_t rank = reverse ? next - 1 : next;  // beyond the end when nothing is expected
      if (rank >= keys_.size() || key != keys_[rank] || IdOf(value) != expected[rank]) {
        Fail("scan: got a wrong row " + Printable(key) + " with " + Describe(IdOf(value)));
        return false;
      }
      next = reverse ? rank : rank + 1;
      return true;
    });
    if (!status.ok()) return JudgeError("scan", status);
    skip();
    if (verdict_->ok() && next != (reverse ? 0 : keys_.size())) Fail("scan: rows are missing");
    return true;
  }
  bool JudgeGets(Store* store, const Content& expected) {
    std::string value;
    bool all = true;
    for (size_t rank = 0; rank < keys_.size() && verdict_->ok(); ++rank) {
      const Status status = store->Get(keys_[rank], &value);
      if (!status.ok() && !status.not_found()) {
        all = JudgeError("get", status);
      } else if ((status.ok() ? IdOf(value) : kAbsent) != expected[rank] ||
                 (status.ok() && expected[rank] == kAbsent)) {
        Fail("get: expected " + Describe(expected[rank]) + ", got " +
             (status.ok() ? Describe(IdOf(value)) : "absent"));
      }
    }
    return all;
  }
  // Always false, for its callers.
  bool JudgeError(const char* call, const Status& status) {
    if (!NamesAFile(status.ToString())) {
      Fail(std::string(call) + ": expected an error that names a file, got " + status.ToString());
    }
    return false;
  }
  void JudgeReport(Store* store, bool all_read) {
    CheckReport report;
    const Status status = store->VerifyChecksums(&report);
    if (!status.ok()) return (void)JudgeError("verify checksums", status);
    if (!all_read && report.problems.empty()) {
      Fail("verify checksums: expected a problem where reads fail, got none");
    }
    for (const std::string& problem : report.problems) {
      if (!NamesAFile(problem)) {
        Fail("verify checksums: expected a problem that names a file, got " + problem);
      }
    }
  }

  void JudgeRepair(const Files& damaged) {
    SimulatedFileSystem disk(seed_);
    if (!Ok(WriteFiles(damaged, &disk), "write files")) return;
    Options options = options_;
    options.file_system = &disk;
    options.read_only = false;
    CheckReport report;
    if (!Ok(Store::Repair(options, kDirectory, &report), "repair")) return;
    std::unique_ptr<Store> store;
    options.create_if_missing = false;
    if (!Ok(Store::Open(options, kDirectory, &store), "open after repair")) return;
    Content content;
    std::string wrong;
    const Status status = ReadContent(store.get(), keys_, &content, &wrong);
    if (!wrong.empty()) return Fail("after repair: " + wrong);
    // A store that opened as it was is left as it was, damaged block included.
    if (!status.ok()) {
      if (refused_) Fail("scan after repair: expected ok, got " + status.ToString());
      return;
    }
    for (size_t rank = 0; rank < keys_.size(); ++rank) {
      if (content[rank] != kAbsent && !true_rows_.contains({rank, content[rank]})) {
        return Fail("after repair: key " + std::to_string(rank) + " never had " +
                    Describe(content[rank]));
      }
    }
    if (refused_ && report.problems.empty() && content != history_.latest()) {
      Fail("repair: expected the report to say what was lost, got nothing");
    }
  }

  const uint64_t seed_;
  Verdict* const verdict_;
  Rng rng_;
  const KeySpace keys_;
  History history_;
  std::set<std::pair<size_t, ValueId>> true_rows_;
  Options options_;
  Files healthy_;
  std::string damaged_;  // the file's name
  std::string what_;     // and what was done to it
  bool refused_ = false;
};

}  // namespace

Verdict CheckDamage(const CheckOptions& options) {
  return RunRounds(options, "damage", "damages", [](uint64_t seed, Verdict* verdict) {
    Round(seed, verdict).Run(kDamagesPerRound);
  });
}

}  // namespace chunkstore::testing
