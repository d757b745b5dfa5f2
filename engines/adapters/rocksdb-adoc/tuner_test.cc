// The tuner on a real store: knobs that turn, that fail, and that wait; ending during a stop.
#include "tuner.h"

#include <gtest/gtest.h>
#include <rocksdb/utilities/stackable_db.h>
#include <stdlib.h>

#include <filesystem>
#include <future>

namespace kvdyno::adoc {

namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr const char* kDirectory = "kvdyno-adoc-XXXXXX";  // mkdtemp's template

// Holds flushes until it is released.
class HeldFlushes final : public rocksdb::EventListener {
 public:
  void OnFlushBegin(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& /*info*/) override {
    released_.wait();
  }
  void Release() { release_.set_value(); }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future();
};

// A store whose options cannot be changed.
class Stubborn final : public rocksdb::StackableDB {
 public:
  using rocksdb::StackableDB::StackableDB;
  rocksdb::Status SetDBOptions(const std::unordered_map<std::string, std::string>&) override {
    return rocksdb::Status::IOError("refused");
  }
};

class AdocTuner : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    options_.create_if_missing = true;
    options_.write_buffer_size = 64 * kKiB;
    options_.target_file_size_base = 64 * kKiB;
    options_.max_bytes_for_level_base = 256 * kKiB;
    options_.level0_slowdown_writes_trigger = 2;
    options_.disable_auto_compactions = true;
    options_.listeners.push_back(signals_);
  }

  void TearDown() override {
    tuner_.reset();
    db_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open() {
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options_, directory_, &db).ok());
    db_.reset(db);
  }

  void Start() {
    settings_.limits = {.level0_slowdown_files = 2,
                        .soft_pending_bytes = 1 << 30,
                        .threads_min = 2,
                        .threads_max = 7,
                        .batch_min = 64 * kKiB,
                        .batch_max = 160 * kKiB,
                        .batch_step = 64 * kKiB};
    settings_.start = {.threads = 2, .batch = 64 * kKiB};
    settings_.window_seconds = 0.001;
    tuner_ = std::make_unique<Tuner>(settings_, signals_, db_.get(), &events_);
  }

  void FillLevel0() {
    for (int file = 0; file < 2; file++) {
      ASSERT_TRUE(db_->Put({}, "key", "value").ok());
      ASSERT_TRUE(db_->Flush({}).ok());
    }
  }

  // Waits until so many events have been reported, and returns them.
  std::vector<Event> Events(size_t count) {
    std::vector<Event> events;
    while (events.size() < count) {
      events_.Take(&events);
      std::this_thread::yield();
    }
    return events;
  }

  double Sampled(const std::string& name) {
    std::vector<Counter> counters;
    tuner_->Sample(&counters);
    for (const Counter& counter : counters) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  std::string directory_ = std::filesystem::temp_directory_path() / kDirectory;
  rocksdb::Options options_;
  std::shared_ptr<Signals> signals_ = std::make_shared<Signals>(1, 2);
  EventLog events_;
  std::unique_ptr<rocksdb::DB> db_;
  Tuner::Settings settings_;
  std::unique_ptr<Tuner> tuner_;
};

TEST_F(AdocTuner, AddsThreadsWhileLevel0OverflowsAndStopsAtTheBound) {
  Open();
  FillLevel0();
  Start();
  const std::vector<Event> events = Events(3);
  EXPECT_EQ(events[0].kind, "tuning");
  EXPECT_EQ(events[0].state, "threads");
  EXPECT_EQ(events[0].cause, "level0");
  EXPECT_EQ(events[0].detail, "knob=threads from=2 to=4");
  EXPECT_EQ(events[2].detail, "knob=threads from=6 to=7");
  EXPECT_EQ(db_->GetDBOptions().max_background_jobs, 7);
  EXPECT_EQ(Sampled("tuner_threads"), 7);
  EXPECT_EQ(Sampled("tuner_actions_level0"), 3);
  EXPECT_EQ(Sampled("tuner_actions"), 3);
  tuner_.reset();
  std::vector<Event> more;
  events_.Take(&more);
  EXPECT_TRUE(more.empty()) << "the overflow lasted, the bound was reached";
}

TEST_F(AdocTuner, ABatchIsTableSizeAndLevelSizeToo) {
  Open();
  for (uint64_t first : {1, 2}) {
    rocksdb::MemTableInfo info;
    info.first_seqno = first;
    signals_->OnMemTableSealed(info);
  }
  Start();
  EXPECT_EQ(Events(1)[0].detail, "knob=batch from=65536 to=131072");
  const rocksdb::Options now = db_->GetOptions();
  EXPECT_EQ(now.write_buffer_size, 128 * kKiB);
  EXPECT_EQ(now.target_file_size_base, 128 * kKiB);
  EXPECT_EQ(now.max_bytes_for_level_base, 512 * kKiB);
  EXPECT_EQ(Sampled("tuner_batch"), 128 * kKiB);
  EXPECT_EQ(Sampled("tuner_actions_memory"), 1);
}

TEST_F(AdocTuner, WhatFailsIsReportedAndNotBelieved) {
  Open();
  FillLevel0();
  db_ = std::make_unique<Stubborn>(db_.release());
  Start();
  for (const Event& event : Events(2)) {
    EXPECT_EQ(event.state, "failed");
    EXPECT_EQ(event.detail, "knob=threads from=2 to=4");
  }
  EXPECT_EQ(Sampled("tuner_threads"), 2);
  EXPECT_EQ(Sampled("tuner_actions"), 0);
  EXPECT_GE(Sampled("tuner_failures"), 2);
}

class AdocTunerInAStop : public AdocTuner {
 protected:
  // Two full memtables, of which none can be flushed: writes stop.
  void SetUp() override {
    AdocTuner::SetUp();
    options_.listeners.push_back(held_);
    Open();
    rocksdb::WriteOptions impatient;
    impatient.no_slowdown = true;
    const std::string value(8 * kKiB, 'v');
    while (db_->Put(impatient, "key", value).ok()) {
    }
  }

  std::shared_ptr<HeldFlushes> held_ = std::make_shared<HeldFlushes>();
};

TEST_F(AdocTunerInAStop, EndsWhileTheStopLasts) {
  Start();
  EXPECT_EQ(Events(1)[0].cause, "memory");
  tuner_.reset();
  uint64_t stopped = 0;
  EXPECT_TRUE(db_->GetIntProperty(rocksdb::DB::Properties::kIsWriteStopped, &stopped));
  EXPECT_EQ(stopped, 1u);
  held_->Release();
}

TEST_F(AdocTunerInAStop, AKnobWaitsForWritersAndIsTurned) {
  std::promise<void> writes;
  std::thread writer([&] {
    writes.set_value();
    EXPECT_TRUE(db_->Put({}, "key", "value").ok());
  });
  writes.get_future().wait();
  Start();
  held_->Release();
  EXPECT_EQ(Events(1)[0].state, "batch");
  writer.join();
  tuner_.reset();
  EXPECT_GE(db_->GetOptions().write_buffer_size, 128 * kKiB);
}

}  // namespace

}  // namespace kvdyno::adoc
