// The clients' loops: the only code of the driver that runs while operations are timed.
// A Client belongs to its thread; shared are the workload (immutable), the budget, the sequence of
// new keys, the stop signal and the recorder (see there).
#include "load/client.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "load/kill.h"
#include "load/probe.h"

namespace kvdyno {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

uint64_t DeadlineNs(uint64_t start_ns, double seconds) {
  if (seconds <= 0) return UINT64_MAX;
  return start_ns + static_cast<uint64_t>(std::llround(seconds * kNsPerSecond));
}

// Time stamp counters of two processors may differ by a few ticks.
uint64_t Elapsed(uint64_t from_ns, uint64_t to_ns) { return to_ns > from_ns ? to_ns - from_ns : 0; }

// A run that opens what a killed one left numbers its values from here.
constexpr uint64_t kReopenedSequence = uint64_t{1} << 61;

// Ageing numbers its values from here, apart from those of any later mix.
constexpr uint64_t kAgeSequence = uint64_t{1} << 62;

}  // namespace

uint64_t FirstSequence(uint64_t client) { return (client + 1) << 40; }

bool IsReopenedSequence(uint64_t sequence) {
  return sequence >= kReopenedSequence && sequence < kAgeSequence;
}

uint64_t ClientOfSequence(uint64_t sequence) { return (sequence >> 40) - 1; }

PhaseWork::PhaseWork(const Limits& limits, uint64_t client_count, bool paced,
                     const FastClock& clock)
    : budget(limits, client_count, paced),
      start_ns(clock.NowNs()),
      deadline_ns(DeadlineNs(start_ns, limits.seconds)),
      counts_bytes(limits.bytes_written != Limits::kUnlimited),
      kill_at(limits.kill_at) {}

Status Client::Make(const Workload& workload, uint64_t number, std::unique_ptr<Session> session,
                    KeySequence* new_keys, const FastClock& clock, StopSignal* stop,
                    std::unique_ptr<Client>* client) {
  client->reset(new Client(workload, number, std::move(session), new_keys, clock, stop));
  return workload.MakeChooser(number, new_keys->stored(), &(*client)->chooser_);
}

Client::Client(const Workload& workload, uint64_t number, std::unique_ptr<Session> session,
               KeySequence* new_keys, const FastClock& clock, StopSignal* stop)
    : workload_(workload),
      operations_(workload.operations(number)),
      number_(number),
      update_reads_(false),
      absent_reads_(workload.settings().read_absent_fraction),
      verify_(workload.settings().verify),
      clock_(clock),
      stop_(stop),
      new_keys_(new_keys),
      session_(std::move(session)),
      random_(workload.MakeRandom(Stream::kMix, number)),
      sequence_(FirstSequence(number) + (workload.settings().reopens() ? kReopenedSequence : 0)),
      rows_(workload, new_keys->stored()),
      batch_(workload),
      pacer_(clock, stop),
      key_buffer_(workload.keys().max_size() + 1),
      recorder_(workload.Shape()) {}

// A load and ageing draw from the data's seed, and leave the mix's draws alone.
void Client::Work(Stream stream, PhaseWork* work) {
  bytes_share_ = 0;
  curve_.Reset();
  booked_ = 0;
  step_begin_ns_ = 0;
  next_mark_ns_ = std::min<uint64_t>(work->deadline_ns, work->start_ns + curve_.StepEnd(0));
  update_reads_ = stream == Stream::kMix && workload_.settings().update_mode == "readmodifywrite";
  const bool paced = workload_.paced(stream);
  if (stream == Stream::kMix) {
    return paced ? Loop<Stream::kMix, true>(work) : Loop<Stream::kMix, false>(work);
  }
  const Random of_mix = std::exchange(random_, workload_.MakeRandom(stream, number_));
  if (stream == Stream::kAge) {
    Age(work);
  } else {
    paced ? Loop<Stream::kLoad, true>(work) : Loop<Stream::kLoad, false>(work);
  }
  random_ = of_mix;
}

template <Stream kStream, bool kPaced>
void Client::Loop(PhaseWork* work) {
  if constexpr (kPaced) {
    const ArrivalSpec spec = workload_.ClientArrivals(kStream, number_);
    if (Status s = pacer_.Begin(spec, work->start_ns); !s.ok()) return stop_->Fail({std::move(s)});
  }
  const bool all_dealt = UntilEnd<kStream, kPaced>(work);
  if (kPaced && !all_dealt) pacer_.EndAt(std::min<uint64_t>(clock_.NowNs(), work->deadline_ns));
}

template <Stream kStream, bool kPaced>
bool Client::UntilEnd(PhaseWork* work) {
  if (work->counts_bytes && !SpendBytes(0, work)) return false;
  for (uint64_t before = 0;;) {  // operations of earlier shares
    const Budget::Share share = work->budget.TakeOperations();
    if (share.first >= work->kill_at) [[unlikely]]
      KillThisProcess();
    if (share.count == 0) return true;
    for (uint64_t i = 0; i < share.count; ++i) {
      if (stop_->requested()) return false;
      uint64_t intended = 0;
      if constexpr (kPaced) {
        intended = pacer_.Next(random_);
        // Before preparing: an insert that has taken its key number must not be abandoned.
        if (!pacer_.WaitUntil(intended, work->deadline_ns)) return false;
      }
      if constexpr (kStream == Stream::kLoad) {
        request_.operation = Operation::kInsert;
        PrepareWrite(workload_.LoadIndex(share.first + i), 0);
      } else {
        Prepare(operations_.Next(random_));
      }
      const uint64_t start = clock_.NowNs();
      const Status status = Execute();
      const uint64_t end = clock_.NowNs();
      if constexpr (kStream == Stream::kMix) {
        if (request_.operation == Operation::kInsert && status.ok()) {
          new_keys_->Acknowledge(number_);
        }
        if (acknowledged_ != nullptr) BookWrite(status, start, end);
      }
      if (!Finish<kPaced>(status, kPaced ? intended : start, start, end, work)) return false;
      if (end >= next_mark_ns_ && !PassMark(end, before + i, *work)) [[unlikely]]
        return false;
    }
    before += share.count;
  }
}

// Keys by a chooser of its own: the mix's has not moved when it begins.
void Client::Age(PhaseWork* work) {
  std::unique_ptr<KeyChooser> chooser;
  if (Status s = workload_.MakeChooser(number_, new_keys_->stored(), &chooser); !s.ok()) {
    return stop_->Fail({std::move(s)});
  }
  const uint64_t count = workload_.AgeOperations(number_);
  for (uint64_t i = 0; i < count && !stop_->requested(); ++i) {
    request_.operation = Operation::kUpdate;
    PrepareWrite(chooser->Next(random_), kAgeSequence + FirstSequence(number_) + i);
    const uint64_t start = clock_.NowNs();
    const Status status = Execute();
    const uint64_t end = clock_.NowNs();
    if (!Finish<false>(status, start, start, end, work)) return;
    if (end >= next_mark_ns_ && !PassMark(end, i, *work)) [[unlikely]]
      return;
  }
}

bool Client::PassMark(uint64_t end_ns, uint64_t ended, const PhaseWork& work) {
  curve_.Add(step_begin_ns_, ended - booked_);
  booked_ = ended;
  step_begin_ns_ = end_ns - work.start_ns;
  next_mark_ns_ =
      std::min<uint64_t>(work.deadline_ns, work.start_ns + curve_.StepEnd(step_begin_ns_));
  return end_ns < work.deadline_ns;
}

void Client::BookUnstarted(Stream stream) {
  Random random = random_;  // a copy: the next phase draws what it would have drawn
  Tally& tally = recorder_.Active();
  pacer_.BookUnstarted(random, [&](uint64_t waited_ns, uint64_t weight) {
    const Operation operation =
        stream == Stream::kLoad ? Operation::kInsert : operations_.Next(random);
    OperationTally& mine = *tally.of(operation);
    mine.latency.Record(waited_ns, weight);
    mine.unstarted += weight;
  });
}

void Client::Prepare(Operation operation) {
  request_.operation = operation;
  request_.absent = false;
  if (operation == Operation::kInsert) return PrepareWrite(new_keys_->Take(number_), sequence_++);
  if (operation == Operation::kMultiRead) {
    batch_.Draw(chooser_.get(), random_);
    request_.key = batch_.first();
    return;
  }
  const uint64_t index = chooser_->Next(random_);
  switch (operation) {
    case Operation::kUpdate:
    case Operation::kReadModifyWrite:
      return PrepareWrite(index, sequence_++);
    case Operation::kScan:
    case Operation::kReverseScan:
      request_.row_limit = workload_.scan_lengths().Next(random_);
      break;
    case Operation::kRead:
      request_.absent = absent_reads_ > 0 && random_.Real() < absent_reads_;
      break;
    default:
      break;
  }
  request_.index = index;
  request_.key = request_.absent ? workload_.AbsentKey(index, key_buffer_.data())
                                 : workload_.Key(index, key_buffer_.data());
}

void Client::PrepareWrite(uint64_t index, uint64_t sequence) {
  request_.index = index;
  request_.key = workload_.Key(index, key_buffer_.data());
  request_.sequence = sequence;
  request_.value = workload_.values().Make(index, sequence, &value_buffer_);
}

Status Client::Execute() {
  switch (request_.operation) {
    case Operation::kRead:
      return session_->Get(request_.key, &result_);
    case Operation::kUpdate:
      return update_reads_ ? ReadThenWrite() : session_->Put(request_.key, request_.value);
    case Operation::kInsert:
      return session_->Insert(request_.key, request_.value);
    case Operation::kScan:
    case Operation::kReverseScan:
      return Scan(request_.operation == Operation::kReverseScan);
    case Operation::kMultiRead:
      return batch_.Get(session_.get());
    case Operation::kReadModifyWrite:
      return ReadThenWrite();
    case Operation::kDelete:
      return session_->Delete(request_.key);
    case Operation::kSample:  // in no mix
      break;
  }
  __builtin_unreachable();
}

Status Client::Scan(bool reverse) {
  if (verify_) {
    rows_.BeginVerified(request_.index, request_.key, request_.row_limit, reverse);
  } else {
    rows_.Begin();
  }
  // The probe's record lies below all keys, where only a scan downwards could meet it.
  const bool bounded = reverse && workload_.settings().probe_interval > 0;
  const std::string_view end = bounded ? Probe::kKey : std::string_view();
  const ScanRange range = {.start = request_.key, .end = end, .limit = request_.row_limit};
  return reverse ? session_->ReverseScan(range, &rows_) : session_->Scan(range, &rows_);
}

// A missing key is written all the same, and counted as not found.
Status Client::ReadThenWrite() {
  Status read = session_->Get(request_.key, &result_);
  if (!read.ok() && !read.not_found()) return read;
  Status write = session_->Put(request_.key, request_.value);
  return write.ok() ? read : write;
}

template <bool kPaced>
bool Client::Finish(const Status& status, uint64_t intended_ns, uint64_t start_ns, uint64_t end_ns,
                    PhaseWork* work) {
  Tally& tally = recorder_.Active();
  OperationTally& mine = *tally.of(request_.operation);
  if (!status.ok() && !status.not_found()) [[unlikely]] {
    ++mine.failed;
    Fail(status, false);
    return false;
  }
  mine.latency.Record(Elapsed(intended_ns, end_ns));
  if constexpr (kPaced) mine.service->Record(Elapsed(start_ns, end_ns));
  mine.not_found += status.not_found();

  const uint64_t written = BytesWritten();
  tally.bytes_written += written;
  tally.bytes_read += BytesRead(status);
  tally.retrievals += Reads() || IsScan(request_.operation);
  if (IsScan(request_.operation)) mine.rows += rows_.count();
  if (request_.operation == Operation::kMultiRead) {
    mine.rows += batch_.found();
    tally.retrievals += batch_.size();
  }
  if (verify_ && !Verify(status)) [[unlikely]]
    return false;
  return !work->counts_bytes || SpendBytes(written, work);
}

bool Client::Reads() const {
  return request_.operation == Operation::kRead ||
         request_.operation == Operation::kReadModifyWrite ||
         (request_.operation == Operation::kUpdate && update_reads_);
}

uint64_t Client::BytesWritten() const {
  switch (request_.operation) {
    case Operation::kUpdate:
    case Operation::kInsert:
    case Operation::kReadModifyWrite:
      return request_.key.size() + request_.value.size();
    case Operation::kDelete:
      return request_.key.size();
    default:
      return 0;
  }
}

uint64_t Client::BytesRead(const Status& status) const {
  if (IsScan(request_.operation)) return rows_.bytes();
  if (request_.operation == Operation::kMultiRead) return batch_.bytes();
  return Reads() && status.ok() ? request_.key.size() + result_.size() : 0;
}

// A write of a missing key returns NotFound when it read first, and is acknowledged all the same.
void Client::BookWrite(const Status& status, uint64_t start_ns, uint64_t end_ns) {
  if (BytesWritten() == 0 || !(status.ok() || status.not_found())) return;
  acknowledged_->Book(number_, {request_.index, request_.sequence, start_ns, end_ns});
}

// Draws on this client's share of the bytes; false when the phase has no more to give.
bool Client::SpendBytes(uint64_t bytes, PhaseWork* work) {
  while (bytes >= bytes_share_) {
    bytes -= bytes_share_;
    bytes_share_ = work->budget.TakeBytes();
    if (bytes_share_ == 0) return false;
  }
  bytes_share_ -= bytes;
  return true;
}

// Compares what was read with what was written, outside of the timed section (a scan's rows were
// compared while they passed).
bool Client::Verify(const Status& status) {
  Status verdict;
  if (IsScan(request_.operation)) {
    verdict = rows_.Verdict();
  } else if (request_.operation == Operation::kMultiRead) {
    verdict = batch_.Verdict();
  } else if (Reads() && status.ok()) {
    verdict = request_.absent ? Status::Corruption("expected no such key, found a value")
                              : workload_.values().Verify(request_.index, result_);
  } else if (Reads() && !request_.absent && workload_.keys_stay()) {
    verdict = Status::Corruption("expected the value that was written, found no such key");
  }
  if (verdict.ok()) return true;
  Fail(verdict, true);
  return false;
}

void Client::Fail(const Status& status, bool wrong_data) {
  std::string message(OperationName(request_.operation));
  message += " '" + std::string(request_.key) + "': " + status.message();
  stop_->Fail({Status(status.code(), std::move(message)), wrong_data});
}

}  // namespace kvdyno
