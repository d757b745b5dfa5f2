// The adapter of TestEngine: an ordered map behind a mutex.
#include "testing/test_engine.h"

#include <algorithm>
#include <memory>

namespace kvdyno {

TestEngine* TestEngine::current = nullptr;

namespace {

// Counts the call; the hook runs outside of the lock, so that delays overlap.
Status Enter(TestEngine* engine, const char* call, std::string_view key) {
  {
    const std::lock_guard lock(engine->mutex);
    ++engine->calls[call];
  }
  return engine->hook ? engine->hook(call, key) : Status::Ok();
}

class TestSession final : public Session {
 public:
  explicit TestSession(TestEngine* engine) : engine_(engine) {}

  Status Get(std::string_view key, std::string* value) override {
    if (Status s = Enter(engine_, "get", key); !s.ok()) return s;
    const std::lock_guard lock(engine_->mutex);
    const auto row = engine_->rows.find(std::string(key));
    if (row == engine_->rows.end()) return Status::NotFound();
    *value = engine_->distort ? engine_->distort(row->second) : row->second;
    return Status::Ok();
  }

  Status Put(std::string_view key, std::string_view value) override {
    if (Status s = Enter(engine_, "put", key); !s.ok()) return s;
    const std::lock_guard lock(engine_->mutex);
    engine_->rows[std::string(key)] = value;
    if (engine_->debt) *engine_->debt += value.size();
    return Status::Ok();
  }

  Status Insert(std::string_view key, std::string_view value) override {
    if (Status s = Enter(engine_, "insert", key); !s.ok()) return s;
    const std::lock_guard lock(engine_->mutex);
    engine_->rows[std::string(key)] = value;
    engine_->inserted.emplace_back(key);
    return Status::Ok();
  }

  Status Delete(std::string_view key) override {
    if (Status s = Enter(engine_, "delete", key); !s.ok()) return s;
    const std::lock_guard lock(engine_->mutex);
    engine_->rows.erase(std::string(key));
    return Status::Ok();
  }

  Status Scan(const ScanRange& range, RowVisitor* visitor) override {
    if (Status s = Enter(engine_, "scan", range.start); !s.ok()) return s;
    const std::lock_guard lock(engine_->mutex);
    uint64_t left = range.limit;
    for (auto row = engine_->rows.lower_bound(std::string(range.start));
         row != engine_->rows.end() && left > 0; ++row, --left) {
      if (row->first == engine_->skipped) continue;
      visitor->Row(row->first, engine_->distort ? engine_->distort(row->second) : row->second);
    }
    return Status::Ok();
  }

  Status ReverseScan(const ScanRange& range, RowVisitor* visitor) override {
    if (Status s = Enter(engine_, "reversescan", range.start); !s.ok()) return s;
    const std::lock_guard lock(engine_->mutex);
    uint64_t left = range.limit;
    for (auto row = engine_->rows.upper_bound(std::string(range.start));
         row != engine_->rows.begin() && left > 0; --left) {
      --row;
      if (row->first <= range.end) break;
      if (row->first == engine_->skipped) continue;
      visitor->Row(row->first, engine_->distort ? engine_->distort(row->second) : row->second);
    }
    return Status::Ok();
  }

 private:
  TestEngine* const engine_;
};

class TestAdapter final : public Adapter {
 public:
  explicit TestAdapter(TestEngine* engine) : engine_(engine) {
    options_.Bytes("cache", &cache_, {.effect = "Does nothing.", .scales = true});
    options_.Choice("mode", &mode_, {"fast", "safe"}, {.effect = "Neither.", .shapes_data = true});
  }

  std::string engine_name() const override { return "toy"; }
  std::string engine_version() const override { return "1.2"; }
  std::string summary() const override { return "An engine for tests."; }
  std::vector<std::string> caveats() const override { return {"forgets everything"}; }
  OptionTable& options() override { return options_; }

  bool can_scan_reverse() const override { return engine_->can_scan_reverse; }
  bool can_skip_log() const override { return engine_->can_skip_log; }
  Status Open(const OpenContext& context) override {
    engine_->log = context.log;
    return Enter(engine_, "open", "");
  }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<TestSession>(engine_); }
  bool can_settle() const override { return engine_->can_settle; }
  // Pays what is above the bound, or above what it pays without one.
  Status Settle(std::optional<uint64_t> debt_max) override {
    if (Status s = Enter(engine_, "settle", ""); !s.ok()) return s;
    const std::lock_guard lock(engine_->mutex);
    engine_->settled_to.push_back(debt_max);
    if (engine_->debt && !engine_->keeps_debt) {
      *engine_->debt = std::min(*engine_->debt, debt_max.value_or(engine_->debt_when_settled));
    }
    return Status::Ok();
  }
  std::optional<uint64_t> Debt() override {
    const std::lock_guard lock(engine_->mutex);
    return engine_->debt;
  }
  std::optional<Durability> durability(bool sync) const override {
    return Durability{.survives_process = engine_->survives_process,
                      .survives_power = sync,
                      .power_loss_seconds = sync ? std::optional(0.0) : std::nullopt,
                      .note = "so it claims"};
  }
  void SampleComponents(std::vector<ComponentLatency>* components) override {
    const std::lock_guard lock(engine_->mutex);
    *components = engine_->components;
  }
  void TakeEvents(std::vector<Event>* events) override { engine_->events.Take(events); }
  Status Close() override { return Enter(engine_, "close", ""); }

  void Sample(std::vector<Counter>* counters) override {
    const std::lock_guard lock(engine_->mutex);
    counters->push_back({"puts", static_cast<double>(engine_->calls["put"]), "op", true});
    counters->push_back({"rows", static_cast<double>(engine_->rows.size()), "count", false});
  }

 private:
  TestEngine* const engine_;
  OptionTable options_;
  uint64_t cache_ = 1 << 20;
  std::string mode_ = "fast";
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() {
  return std::make_unique<TestAdapter>(TestEngine::current);
}

}  // namespace kvdyno
