#include "core/writer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hooks/moments.h"
#include "hooks/seeded_bugs.h"
#include "kvdyno/base/clock.h"
#include "stage/record.h"

namespace chunkstore {

void PublishStages(State* state, const StageList* list) {
  state->slots.RetireObject(state->stages.exchange(list));
}

Status Writer::Write(std::string_view payload, uint32_t count, bool sync) {
  const CallGate::Call call(&state_.gate);
  if (!call.open()) return state_.ClosedError("write");
  if (state_.has_fatal.load(std::memory_order_relaxed)) return state_.fatal();
  KeepPace();
  state_.write_mutex.LockSoon();
  if (Status status = MakeRoom(payload.size()); !status.ok()) {
    state_.write_mutex.Unlock();
    return status;
  }
  state_.pace.Write(payload.size(), Unflushed());
  Version last = 0;
  if (Status status = Append(payload, count, &last); !status.ok()) return status;
  state_.counters.Add(Count::kPuts, count);
  state_.counters.Add(Count::kPutBytes, payload.size());
  if (state_.wake_on_write.load() && state_.wake_on_write.exchange(false)) wake_();
  if (!sync || Seeded(Bug::kSyncAcknowledgesEarly)) return Status::Ok();
  return CheckpointTo(last);
}

// The pin ends here: a checkpoint takes the lock again, and what holds it may be waiting for a slot.
Status Writer::Append(std::string_view payload, uint32_t count, Version* last) {
  Slots::Pin pin(&state_.slots);
  Stage* stage = state_.active.get();
  const Version first = state_.clock.load(std::memory_order_relaxed) + 1;
  *last = first + count - 1;
  std::string_view stored;
  if (!Seeded(Bug::kScanIgnoresPending)) pin.ShowPending(first);
  Status appended = stage->Append(first, count, payload, &stored);
  if (!appended.ok()) {
    state_.write_mutex.Unlock();
    pin.ClearPending();
    return appended;
  }
  // Shown before the clock moves: a reader whose moment includes this write finds it pending.
  if (count > 1) state_.batches.Begin();
  state_.clock.store(*last);
  state_.write_mutex.Unlock();

  Reached(Moment::kWriteShown);
  Enter(stored, first, stage);
  pin.ClearPending();
  if (count > 1) state_.batches.End();
  return Status::Ok();
}

// Munks first, the stage's index last: a reader that leaves the index for a munk misses nothing
// that it could have seen before (Chunk::unsettled is the other direction).
void Writer::Enter(std::string_view stored, Version first, Stage* stage) {
  const ChunkMap& map = state_.map();
  OperationReader operations(stored, first);
  Entry entry;
  while (operations.Next(&entry)) {
    if (Munk* munk = map.Find(entry.key)->munk(); munk != nullptr) munk->Insert(entry);
  }
  stage->Index(first, stored);
}

// Waits, without the lock, until the active stage has room. An error of background work ends the
// wait: it is why there is no room.
Status Writer::MakeRoom(size_t payload_bytes) {
  uint64_t begin = 0;
  Status status;
  while (!state_.active->HasRoom(payload_bytes)) {
    status = RotateLocked();
    if (status.ok()) continue;
    if (status.code() != Code::kBusy) break;
    if (begin == 0) {
      begin = kvdyno::NowNs();
      state_.counters.Add(Count::kStalls);
    }
    state_.write_mutex.Unlock();
    status = work_();
    state_.write_mutex.Lock();
    if (state_.options.background_threads > 0) {
      if (!state_.active->HasRoom(payload_bytes) && !state_.ring->HasFree() && status.ok()) {
        state_.room.WaitFor(&state_.write_mutex, std::chrono::milliseconds(100));
      }
      status = state_.flush_error();
    }
    if (Status fatal = state_.fatal(); !fatal.ok()) status = std::move(fatal);
    if (!status.ok() && !state_.ring->HasFree()) break;
    status = state_.gate.closed() ? state_.ClosedError("write") : Status::Ok();
    if (!status.ok()) break;
  }
  if (begin != 0) {
    state_.counters.Add(Count::kStallMicros, (kvdyno::NowNs() - begin) / 1000);
  }
  return status;
}

Status Writer::Rotate() {
  const kvdyno::MutexLock lock(state_.write_mutex);
  return state_.active->empty() ? Status::Ok() : RotateLocked();
}

// Minimal keys of chunks, evenly spaced: one for about every 16 KiB of a stage, which are some ten
// entries.
std::vector<std::string> Writer::Separators() {
  constexpr size_t kBytesPerList = size_t{16} << 10, kMost = 2048;
  const Slots::Pin pin(&state_.slots);
  const std::vector<Chunk*>& chunks = state_.map().chunks();
  const size_t wanted = std::min<size_t>(state_.options.stage_size / kBytesPerList, kMost);
  const size_t step = chunks.size() / (wanted + 1) + 1;
  std::vector<std::string> separators;
  for (size_t i = step; i < chunks.size(); i += step) separators.push_back(chunks[i]->min_key);
  return separators;
}

Status Writer::RotateLocked() {
  std::shared_ptr<Stage> next;
  Status status =
      state_.ring->Acquire(state_.next_sequence, state_.clock.load() + 1, &next, Separators());
  if (!status.ok()) {
    if (status.code() != Code::kBusy && status.code() != Code::kNoSpace) state_.SetFatal(status);
    return status;
  }
  ++state_.next_sequence;
  auto list = std::make_unique<StageList>(*state_.stages.load());
  list->stages.insert(list->stages.begin(), next);
  PublishStages(&state_, list.release());
  state_.active = std::move(next);
  wake_();
  return Status::Ok();
}

Status Writer::Checkpoint() { return CheckpointTo(state_.clock.load()); }

// Oldest first: what is durable is always a prefix of all writes.
Status Writer::CheckpointTo(Version version) {
  const kvdyno::MutexLock one(state_.checkpoint_mutex);
  std::vector<std::shared_ptr<Stage>> stages;
  {
    const kvdyno::MutexLock lock(state_.write_mutex);
    if (Status fatal = state_.fatal(); !fatal.ok()) return fatal;
    stages = state_.stages.load()->stages;
  }
  bool synced = false;
  for (auto at = stages.rbegin(); at != stages.rend(); ++at) {
    Stage& stage = **at;
    if (stage.first() > version) break;
    if (stage.durable() >= std::min(version, stage.last())) continue;
    if (const Status status = stage.Sync(); !status.ok()) {
      state_.SetFatal(status);
      return state_.fatal();
    }
    synced = true;
  }
  if (synced) state_.counters.Add(Count::kCheckpoints);
  return Status::Ok();
}

double Writer::Unflushed() const {
  const size_t sealed = state_.stages.load()->stages.size() - 1;
  const Stage& active = *state_.active;
  const double share = static_cast<double>(active.bytes()) / static_cast<double>(active.capacity());
  return (static_cast<double>(sealed) + share) / Ring::kStages;
}

void Writer::KeepPace() {
  if (state_.options.background_threads == 0) return;
  const uint64_t wait_ns = state_.pace.WaitNs();
  if (wait_ns == 0) return;
  std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
  state_.counters.Add(Count::kSlowdownMicros, wait_ns / 1000);
}

}  // namespace chunkstore
