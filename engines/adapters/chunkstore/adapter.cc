// The chunk store: options in options.h, here the store and its sessions. Statuses and rows are the
// project's own, so nothing is translated but names.
#include "kvdyno/api/adapter.h"

#include <chunkstore/store.h>

#include <memory>
#include <string>
#include <utility>

#include "kvdyno/base/crc32c.h"
#include "options.h"

namespace kvdyno {

namespace {

class ChunkSession final : public Session {
 public:
  explicit ChunkSession(chunkstore::Store* store) : store_(*store) {}

  Status Get(std::string_view key, std::string* value) override { return store_.Get(key, value); }

  void MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values,
                std::vector<Status>* statuses) override {
    store_.MultiGet({}, keys, values, statuses);
  }

  Status Put(std::string_view key, std::string_view value) override {
    return store_.Put(key, value);
  }

  Status Delete(std::string_view key) override { return store_.Delete(key); }

  Status Scan(const ScanRange& range, RowVisitor* visitor) override {
    return store_.Scan({.start = range.start, .end = range.end, .limit = range.limit},
                       [visitor](std::string_view key, std::string_view value) {
                         return visitor->Row(key, value);
                       });
  }

  Status ReverseScan(const ScanRange& range, RowVisitor* visitor) override {
    const std::unique_ptr<chunkstore::Iterator> row = store_.NewIterator({});
    range.start.empty() ? row->SeekToLast() : row->SeekForPrev(range.start);
    for (uint64_t rows = 0; row->Valid(); row->Prev()) {
      if (!range.end.empty() && row->key() <= range.end) break;
      if (!visitor->Row(row->key(), row->value())) break;
      if (++rows == range.limit) break;
    }
    return row->status();
  }

 private:
  chunkstore::Store& store_;
};

// What the store counts of waiting writers, by the names that all engines share: it stops them for
// a stage, and delays them for log debt.
std::string CommonName(const std::string& name) {
  if (name == "stalls") return "stops";
  if (name == "stall_micros") return "stop_micros";
  if (name == "slowdown_micros") return "delay_micros";
  return name;
}

// What an opening does not find in tables: logs, and what waits to become logs.
bool IsLog(const chunkstore::Statistic& statistic) {
  return statistic.name == "log_debt" || statistic.name == "unflushed_bytes";
}

class ChunkAdapter final : public Adapter {
 public:
  ChunkAdapter() { options_.Describe(&table_); }

  std::string engine_name() const override { return "chunkstore"; }
  std::string engine_version() const override { return std::string(chunkstore::LibraryVersion()); }
  std::string summary() const override {
    return "This project's store partitioned by key range, after the design published as EvenDB "
           "(Gilad et al., EuroSys 2020, https://doi.org/10.1145/3342195.3387523).";
  }

  std::optional<LibraryFacts> library() const override {
    LibraryFacts facts = ProbeLibrary(reinterpret_cast<const void*>(&MakeAdapter), kAssertions);
    facts.origin = "project";
    facts.flags = KVDYNO_LIBRARY_FLAGS;
    facts.checksum = ProbeChecksum([](std::string_view bytes) { return Crc32c(bytes); });
    return facts;
  }

  std::vector<std::string> caveats() const override {
    std::vector<std::string> caveats = {
        "reads verify checksums, in hardware where the processor can"};
    if (!options_.store.verify_checksums) caveats = {"reads do not verify checksums"};
    caveats.emplace_back(
        options_.store.direct_io
            ? "tables and logs pass the page cache by; the caches are the store's own"
            : "tables and logs go through the page cache, which the memory budget does not count");
    return caveats;
  }

  std::optional<Durability> durability(bool sync) const override {
    switch (options_.Resolved(sync, 0).durability) {
      case chunkstore::Durability::kNone:
        return Durability{.note = "a flush makes writes durable, nothing else does"};
      case chunkstore::Durability::kAsync:
        return Durability{.survives_process = true,
                          .power_loss_seconds = options_.store.checkpoint_interval_s,
                          .consistent_prefix = true,
                          .note =
                              "a put writes to a mapped file; a checkpoint syncs it once per "
                              "checkpoint_interval, which the time that the sync takes adds to"};
      case chunkstore::Durability::kSync:
        break;
    }
    return Durability{.survives_process = true,
                      .survives_power = true,
                      .power_loss_seconds = 0,
                      .consistent_prefix = true,
                      .note = "a put syncs the mapped file that it writes to before it returns"};
  }

  OptionTable& options() override { return table_; }
  bool can_scan_reverse() const override { return true; }
  bool can_skip_log() const override { return true; }

  Status Open(const OpenContext& context) override {
    chunkstore::Options options = options_.Resolved(context.sync, context.memory_cap_bytes);
    if (!context.log) options.durability = chunkstore::Durability::kNone;
    return chunkstore::Store::Open(options, context.directory, &store_);
  }

  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<ChunkSession>(store_.get());
  }

  Status Settle(std::optional<uint64_t> debt_max) override {
    return debt_max ? store_->PayDebt(*debt_max) : store_->Flush();
  }

  // Logs, which wait to be merged with their tables, and what waits to become logs.
  std::optional<uint64_t> Debt() override {
    double debt = 0;
    for (const chunkstore::Statistic& statistic : store_->GetStatistics()) {
      if (IsLog(statistic)) debt += statistic.value;
    }
    return static_cast<uint64_t>(debt);
  }

  void Sample(std::vector<Counter>* counters) override {
    double stalled = 0;
    double logs = 0;
    for (chunkstore::Statistic& statistic : store_->GetStatistics()) {
      if (IsLog(statistic)) logs += statistic.value;
      std::string name = CommonName(statistic.name);
      if (name == "stop_micros" || name == "delay_micros") stalled += statistic.value;
      counters->push_back(
          {std::move(name), statistic.value, std::move(statistic.unit), statistic.cumulative});
    }
    counters->push_back({"stall_micros", stalled, "us", true});
    counters->push_back({"log_length", logs, "byte", false});
  }

  void SampleComponents(std::vector<ComponentLatency>* components) override {
    for (chunkstore::ComponentLatency& each : store_->GetLatencies()) {
      ComponentLatency& component = components->emplace_back();
      component.component = std::move(each.component);
      for (const auto& bucket : each.buckets) {
        component.buckets.push_back({bucket.ns_max, bucket.count});
      }
    }
  }

  Status Close() override {
    if (!store_) return Status::Ok();
    Status closed = store_->Close();
    store_.reset();
    return closed;
  }

 private:
  chunks::Options options_;
  OptionTable table_;
  std::unique_ptr<chunkstore::Store> store_;
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<ChunkAdapter>(); }

}  // namespace kvdyno
