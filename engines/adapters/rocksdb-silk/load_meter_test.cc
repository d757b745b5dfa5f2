// Every operation counts what it carries, and answers as the session beneath does.
#include "load_meter.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace kvdyno::silk {

namespace {

// Knows one key, "key", whose value has five bytes.
class OneKey final : public Session {
 public:
  Status Get(std::string_view key, std::string* value) override {
    if (key != "key") return Status::NotFound();
    *value = "value";
    return Status::Ok();
  }
  Status Put(std::string_view /*key*/, std::string_view value) override {
    return value.empty() ? Status::IoError("refused") : Status::Ok();
  }
  Status Insert(std::string_view /*key*/, std::string_view /*value*/) override {
    return Status::Busy("an insert");
  }
  Status Delete(std::string_view /*key*/) override { return Status::Ok(); }
  Status Scan(const ScanRange& /*range*/, RowVisitor* visitor) override {
    while (visitor->Row("key", "value")) {
    }
    return Status::Ok();
  }
  Status ReverseScan(const ScanRange& range, RowVisitor* visitor) override {
    return Scan(range, visitor);
  }
};

class Rows final : public RowVisitor {
 public:
  bool Row(std::string_view key, std::string_view value) override {
    EXPECT_EQ(key, "key");
    EXPECT_EQ(value, "value");
    return ++rows < 3;
  }
  int rows = 0;
};

TEST(SilkLoadMeter, CountsWhatOperationsCarry) {
  LoadMeter meter;
  const std::unique_ptr<Session> session = meter.Measure(std::make_unique<OneKey>());
  uint64_t before = 0;
  const auto counted = [&] { return meter.bytes() - std::exchange(before, meter.bytes()); };

  std::string value;
  EXPECT_TRUE(session->Get("key", &value).ok());
  EXPECT_EQ(value, "value");
  EXPECT_EQ(counted(), 5u);
  EXPECT_TRUE(session->Get("another", &value).not_found());
  EXPECT_EQ(counted(), 0u);
  EXPECT_TRUE(session->Put("key", "value").ok());
  EXPECT_EQ(counted(), 8u);
  EXPECT_EQ(session->Put("key", "").code(), Code::kIoError);
  EXPECT_EQ(counted(), 3u);
  EXPECT_EQ(session->Insert("key", "value").code(), Code::kBusy);
  EXPECT_EQ(counted(), 8u);
  EXPECT_TRUE(session->Delete("key").ok());
  EXPECT_EQ(counted(), 3u);
  Rows rows;
  EXPECT_TRUE(session->Scan({}, &rows).ok());
  EXPECT_EQ(rows.rows, 3);
  EXPECT_EQ(counted(), 24u);
  Rows back;
  EXPECT_TRUE(session->ReverseScan({}, &back).ok());
  EXPECT_EQ(counted(), 24u);
  std::vector<std::string> values;
  std::vector<Status> statuses;
  session->MultiGet({"key", "another", "key"}, &values, &statuses);
  EXPECT_TRUE(statuses[1].not_found());
  EXPECT_EQ(counted(), 10u);
}

TEST(SilkLoadMeter, KeepsWhatEndedSessionsCounted) {
  LoadMeter meter;
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < 4; client++) {
      clients.emplace_back([&] {
        const std::unique_ptr<Session> session = meter.Measure(std::make_unique<OneKey>());
        uint64_t last = 0;
        for (int i = 0; i < 1000; i++) {
          EXPECT_TRUE(session->Put("key", "value").ok());
          const uint64_t now = meter.bytes();
          EXPECT_GE(now, last);
          last = now;
        }
      });
    }
  }
  EXPECT_EQ(meter.bytes(), 4u * 1000 * 8);
}

}  // namespace

}  // namespace kvdyno::silk
