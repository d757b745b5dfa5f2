#include "concurrency/slots.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace chunkstore {
namespace {

TEST(Slots, FreesWhenThoseInsideHaveLeft) {
  Slots slots;
  bool freed = false;
  {
    const Slots::Pin pin(&slots);
    slots.Retire([&] { freed = true; });
    slots.Reclaim();
    EXPECT_FALSE(freed);
    EXPECT_EQ(slots.retired(), 1u);
  }
  slots.Reclaim();
  EXPECT_TRUE(freed);
  EXPECT_EQ(slots.retired(), 0u);
}

TEST(Slots, LaterOperationsDoNotDelayTheFree) {
  Slots slots;
  bool first = false, second = false;
  auto early = std::make_unique<Slots::Pin>(&slots);
  slots.Retire([&] { first = true; });
  const Slots::Pin late(&slots);
  slots.Retire([&] { second = true; });
  early.reset();
  slots.Reclaim();
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
}

TEST(Slots, DestructorFreesTheRest) {
  auto object = std::make_shared<int>(1);
  {
    Slots slots;
    slots.Retire([copy = object] { EXPECT_EQ(*copy, 1); });
    slots.RetireObject<int>(nullptr);
    EXPECT_EQ(slots.retired(), 1u);
  }
  EXPECT_EQ(object.use_count(), 1);
}

TEST(Slots, ReleaseMayRetireAgain) {
  Slots slots;
  int freed = 0;
  slots.Retire([&] {
    ++freed;
    slots.Retire([&] { ++freed; });
  });
  slots.Reclaim();
  EXPECT_EQ(freed, 1);
  slots.Reclaim();
  EXPECT_EQ(freed, 2);
}

TEST(Slots, WaitsForPendingWritesAtOrBelowOnly) {
  Slots slots;
  Slots::Pin newer(&slots);
  Slots::Pin(&slots).ShowPending(3);  // forgotten: ends with the stay
  Slots::Pin writer(&slots);
  newer.ShowPending(11);
  writer.ShowPending(10);
  slots.WaitForPending(9);
  std::atomic<bool> done{false};
  std::thread scan([&] {
    slots.WaitForPending(10);
    EXPECT_TRUE(done.load());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  done = true;
  writer.ClearPending();
  scan.join();
}

TEST(Slots, WaitsForReaders) {
  Slots slots;
  slots.WaitForReaders();
  auto pin = std::make_unique<Slots::Pin>(&slots);
  std::atomic<bool> left{false};
  std::thread waiter([&] {
    slots.WaitForReaders();
    EXPECT_TRUE(left.load());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  left = true;
  pin.reset();
  waiter.join();
}

TEST(Slots, MoreOperationsThanSlotsWait) {
  Slots slots;
  std::vector<std::unique_ptr<Slots::Pin>> pins(Slots::kSlots);
  for (auto& pin : pins) pin = std::make_unique<Slots::Pin>(&slots);
  std::atomic<bool> entered{false};
  std::thread late([&] {
    const Slots::Pin pin(&slots);
    entered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(entered.load());
  pins[100].reset();
  late.join();
  EXPECT_TRUE(entered.load());
}

// Readers follow a shared pointer while writers replace it and retire what it held; an object freed
// too early shows poison (and a finding of the address or thread sanitizer).
TEST(Slots, TortureSwappedPointer) {
  struct Object {
    explicit Object(uint64_t v) : value(v), check(~v) {}
    ~Object() {
      value = 0xdeadbeef;
      check = 0xdeadbeef;
    }
    volatile uint64_t value, check;
  };
  constexpr int kWriters = 2, kReaders = 3, kSwaps = 40000;
  auto slots = std::make_unique<Slots>();
  std::atomic<Object*> shared{new Object(0)};
  std::atomic<int> writing{kWriters};
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      for (uint64_t i = 1; i <= kSwaps; ++i) {
        slots->RetireObject(shared.exchange(new Object(i << 8 | static_cast<uint64_t>(w)),
                                            std::memory_order_acq_rel));
        if (i % 16 == 0) slots->Reclaim();
        if (i % 4096 == 0) slots->WaitForReaders();
      }
      --writing;
    });
  }
  for (int r = 0; r < kReaders; ++r) {
    threads.emplace_back([&] {
      while (writing.load() > 0) {
        const Slots::Pin pin(slots.get());
        for (int i = 0; i < 4; ++i) {
          const Object* object = shared.load(std::memory_order_acquire);
          ASSERT_EQ(object->value, ~object->check);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  slots->Reclaim();
  EXPECT_EQ(slots->retired(), 0u);
  delete shared.load();
}

// What a writer stored before it cleared its version is seen by all that waited for that version.
TEST(Slots, TorturePendingOrdersWrites) {
  constexpr int kWriters = 3, kWrites = 8000;
  Slots slots;
  std::mutex lock;
  std::atomic<Version> published{0};
  std::vector<std::atomic<bool>> written(kWriters * kWrites + 1);
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&] {
      for (int i = 0; i < kWrites; ++i) {
        Slots::Pin pin(&slots);
        Version version = 0;
        {
          const std::lock_guard guard(lock);
          version = published.load(std::memory_order_relaxed) + 1;
          pin.ShowPending(version);
          published.store(version, std::memory_order_release);
        }
        written[version].store(true, std::memory_order_relaxed);
        pin.ClearPending();
      }
    });
  }
  threads.emplace_back([&] {
    Version seen = 0;
    while (seen < kWriters * kWrites) {
      const Version version = published.load(std::memory_order_acquire);
      slots.WaitForPending(version);
      for (; seen < version; ++seen) {
        ASSERT_TRUE(written[seen + 1].load(std::memory_order_relaxed));
      }
    }
  });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace chunkstore
