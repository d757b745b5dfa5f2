// The family on a real store, whose flushes and compactions the test holds back until writes stop.
#include <gtest/gtest.h>
#include <rocksdb/listener.h>
#include <stdlib.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kvdyno/base/clock.h"
#include "kvdyno/rocksdb/family.h"

namespace kvdyno::rocks {

namespace {

namespace fs = std::filesystem;

// Holds jobs at their beginning, in RocksDB's own threads.
class Gate final : public rocksdb::EventListener {
 public:
  void Close(bool* gate) {
    const std::lock_guard lock(mutex_);
    *gate = true;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    flushes = compactions = false;
    opened_.notify_all();
  }
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { Pass(&flushes); }
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    Pass(&compactions);
  }

  bool flushes = false;  // held; guarded by mutex_, as the other
  bool compactions = false;

 private:
  void Pass(const bool* gate) {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return !*gate; });
  }

  std::mutex mutex_;
  std::condition_variable opened_;
};

class Gated final : public RocksFamily {
 public:
  std::string engine_name() const override { return "gated"; }
  std::string summary() const override { return "RocksDB whose background work can be held."; }

  // A file at level 0, even if writes stop for it.
  void FlushOneFile() {
    rocksdb::FlushOptions options;
    options.allow_write_stall = true;
    const rocksdb::Status flushed = db()->Flush(options);
    EXPECT_TRUE(flushed.ok()) << flushed.ToString();
  }

  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::vector<std::string> hooks;

 protected:
  Status Prepare(const OpenContext&, rocksdb::Options* options) override {
    hooks.emplace_back("prepare");
    options->listeners.push_back(gate);
    return Status::Ok();
  }
  void Opened() override { hooks.emplace_back(db() != nullptr ? "opened" : "opened nothing"); }
  void Closing() override { hooks.emplace_back(db() != nullptr ? "closing" : "closing nothing"); }
};

class Watched : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    Set("write_buffer_size", "64KiB");
    Set("level0_file_num_compaction_trigger", "2");
    Set("level0_slowdown_writes_trigger", "3");
    Set("level0_stop_writes_trigger", "4");
    const Status opened = store_.Open({.directory = directory_});
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    session_ = store_.NewSession();
  }
  void TearDown() override {
    store_.gate->Open();
    session_.reset();
    EXPECT_TRUE(store_.Close().ok());
    fs::remove_all(directory_);
  }

  void Set(const std::string& name, const std::string& value) {
    const Status set = store_.options().Set(name, value);
    ASSERT_TRUE(set.ok()) << set.ToString();
  }
  void Put(int key) {
    const Status put = session_->Put("key" + std::to_string(key), std::string(1000, 'v'));
    ASSERT_TRUE(put.ok()) << put.ToString();
  }
  std::vector<Event> Take(const std::string& kind) {
    std::vector<Event> events;
    store_.TakeEvents(&events);
    std::erase_if(events, [&](const Event& event) { return event.kind != kind; });
    return events;
  }
  double Counted(const std::string& name) {
    std::vector<Counter> counters;
    store_.Sample(&counters);
    for (const Counter& counter : counters) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  // mkdtemp's template.
  std::string directory_ = fs::temp_directory_path() / "kvdyno-watched-XXXXXX";
  Gated store_;
  std::unique_ptr<Session> session_;
};

TEST_F(Watched, AStopByLevel0IsSeenWithItsCause) {
  store_.gate->Close(&store_.gate->compactions);
  for (int file = 0; file < 4; ++file) {
    Put(0);  // the same key, so that files overlap and cannot just be moved
    store_.FlushOneFile();
    EXPECT_EQ(Counted("delays_level0"), file < 2 ? 0 : 1) << "three files slow writes down";
  }
  EXPECT_EQ(Counted("level0_files"), 4);
  EXPECT_EQ(Counted("write_stopped"), 1);
  EXPECT_EQ(Counted("stops_level0"), 1);
  EXPECT_GT(Counted("stop_level0_micros"), 0) << "reported while it goes on";
  EXPECT_EQ(Counted("compaction_slots"), 1) << "of two jobs, one is for flushes";

  store_.gate->Open();
  Put(9);  // returns when the compaction has made room
  ASSERT_TRUE(store_.Settle(std::nullopt).ok());
  const std::vector<Event> stalls = Take("stall");
  const auto stop = std::find_if(stalls.begin(), stalls.end(),
                                 [](const Event& event) { return event.state == "stop"; });
  ASSERT_NE(stop, stalls.end());
  EXPECT_EQ(stop->cause, "level0");
  EXPECT_TRUE(stop->ended);
  EXPECT_NE(stop->detail.find("level0_files=4"), std::string::npos) << stop->detail;
  EXPECT_EQ(Counted("write_stopped"), 0);
  EXPECT_GT(Counted("compact_write_bytes"), 0);
  EXPECT_GE(Counted("flush_write_bytes"), 4000);
  EXPECT_GE(Counted("flushes"), 4);
  EXPECT_GE(Counted("level0_compactions"), 1);
  EXPECT_GE(Counted("found_level0_stop"), 1) << "RocksDB's own count";
}

// RocksDB sends its notice of this stop when it is over.
TEST_F(Watched, AStopByMemtablesBeginsWhenTheLastOneIsFull) {
  store_.gate->Close(&store_.gate->flushes);
  std::thread writer([this] {
    for (int key = 0; key < 200; ++key) Put(key);
  });
  while (Counted("write_stopped") == 0) std::this_thread::yield();
  const uint64_t stopped_ns = NowNs();
  store_.gate->Open();
  writer.join();
  ASSERT_TRUE(store_.Settle(std::nullopt).ok());
  const std::vector<Event> stalls = Take("stall");
  const auto first = std::find_if(stalls.begin(), stalls.end(),
                                  [](const Event& event) { return event.state == "stop"; });
  ASSERT_NE(first, stalls.end());
  EXPECT_EQ(first->cause, "memtable");
  EXPECT_LE(first->begin_ns, stopped_ns);
  EXPECT_GT(first->begin_ns + first->duration_ns, stopped_ns);
  EXPECT_GT(Counted("stall_micros"), 0) << "RocksDB's own clock of waiting writers";
}

TEST_F(Watched, JobsAreReportedWithReasonAndBytes) {
  for (int key = 0; key < 500; ++key) Put(key % 70);
  ASSERT_TRUE(store_.Settle(std::nullopt).ok());
  std::vector<Event> events;
  store_.TakeEvents(&events);
  const auto count = [&](const std::string& kind, const std::string& cause) {
    return std::count_if(events.begin(), events.end(), [&](const Event& event) {
      return event.kind == kind && event.cause == cause && event.duration_ns > 0;
    });
  };
  EXPECT_GT(count("flush", "memtable_full"), 0);
  EXPECT_GT(count("flush", "asked"), 0) << "by Settle";
  EXPECT_GT(count("compaction", "level0_files"), 0);
}

TEST_F(Watched, WhatRunsWhenTheStoreIsClosedIsReportedAfterwards) {
  store_.gate->Close(&store_.gate->flushes);
  Put(0);
  std::thread flusher([this] { store_.FlushOneFile(); });
  while (Counted("running_flushes") == 0) std::this_thread::yield();
  EXPECT_TRUE(Take("flush").empty());
  store_.gate->Open();
  flusher.join();
  session_.reset();
  ASSERT_TRUE(store_.Close().ok());
  EXPECT_EQ(Take("flush").size(), 1u);
  EXPECT_EQ(store_.hooks, (std::vector<std::string>{"prepare", "opened", "closing"}));
}

TEST(Unwatched, NothingIsReportedAndTheStoreWorks) {
  std::string directory = fs::temp_directory_path() / "kvdyno-unwatched-XXXXXX";  // mkdtemp's
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  Gated store;
  ASSERT_TRUE(store.options().Set("telemetry", "false").ok());
  ASSERT_TRUE(store.Open({.directory = directory}).ok());
  std::unique_ptr<Session> session = store.NewSession();
  ASSERT_TRUE(session->Put("key", "value").ok());
  ASSERT_TRUE(store.Settle(std::nullopt).ok());
  std::vector<Counter> counters;
  store.Sample(&counters);
  EXPECT_TRUE(counters.empty());
  session.reset();
  ASSERT_TRUE(store.Close().ok());
  std::vector<Event> events;
  store.TakeEvents(&events);
  EXPECT_TRUE(events.empty());
  fs::remove_all(directory);
}

}  // namespace

}  // namespace kvdyno::rocks
