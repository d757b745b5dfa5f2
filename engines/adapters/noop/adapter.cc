// The noop engine: accepts every call and does nothing, so that what a run costs is the driver.
// It is no store: a get succeeds and leaves the value alone, a scan has no rows.
#include "kvdyno/api/adapter.h"

namespace kvdyno {

namespace {

class NoopSession final : public Session {
 public:
  Status Get(std::string_view, std::string*) override { return Status::Ok(); }
  Status Put(std::string_view, std::string_view) override { return Status::Ok(); }
  Status Delete(std::string_view) override { return Status::Ok(); }
  void MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values,
                std::vector<Status>* statuses) override {
    values->resize(keys.size());
    statuses->assign(keys.size(), Status::Ok());
  }
  Status Scan(const ScanRange&, RowVisitor*) override { return Status::Ok(); }
  Status ReverseScan(const ScanRange&, RowVisitor*) override { return Status::Ok(); }
};

class NoopAdapter final : public Adapter {
 public:
  std::string engine_name() const override { return "noop"; }
  std::string engine_version() const override { return "1"; }
  std::string summary() const override {
    return "Does nothing; part of kvdyno, to measure the driver's own cost.";
  }
  std::vector<std::string> caveats() const override {
    return {"stores nothing: what it measures is the driver"};
  }
  std::optional<Durability> durability(bool) const override {
    return Durability{.note = "nothing is stored"};
  }
  OptionTable& options() override { return table_; }
  bool can_scan_reverse() const override { return true; }
  bool can_skip_log() const override { return true; }
  Status Open(const OpenContext&) override { return Status::Ok(); }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<NoopSession>(); }
  Status Settle(std::optional<uint64_t>) override { return Status::Ok(); }
  std::optional<uint64_t> Debt() override { return 0; }
  void Sample(std::vector<Counter>*) override {}
  Status Close() override { return Status::Ok(); }

 private:
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<NoopAdapter>(); }

}  // namespace kvdyno
