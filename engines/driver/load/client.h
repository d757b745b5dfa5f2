// Client: one thread's stream of operations against one session.
// Owns its randomness, buffers and tallies; borrows the session and what all clients share.
// The loop allocates, logs and formats nothing once buffers have grown, and writes no cache line
// that another client reads, but for taking shares and new keys.
//
// Threads: Work runs on the client's thread; `recorder` is shared with one observer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "kvdyno/base/status.h"
#include "load/acknowledged.h"
#include "load/budget.h"
#include "load/key_batch.h"
#include "load/key_sequence.h"
#include "load/pacer.h"
#include "load/scan_rows.h"
#include "load/stop_signal.h"
#include "load/workload.h"
#include "measure/fast_clock.h"
#include "measure/rate_curve.h"
#include "measure/recorder.h"

namespace kvdyno {

// Sequences of values show which client wrote them, and whether after a killed run's store was
// opened again. The client of those of a load or of ageing is beyond any number of clients.
// Values of the load have sequence 0; each client numbers its own from here.
uint64_t FirstSequence(uint64_t client);
bool IsReopenedSequence(uint64_t sequence);
uint64_t ClientOfSequence(uint64_t sequence);

// What the clients of one phase share.
struct PhaseWork {
  PhaseWork(const Limits& limits, uint64_t client_count, bool paced, const FastClock& clock);

  Budget budget;
  const uint64_t start_ns;                  // of the fast clock
  const std::atomic<uint64_t> deadline_ns;  // UINT64_MAX: none
  const bool counts_bytes;                  // written bytes are limited
  const uint64_t kill_at;  // the process is killed when so many operations are dealt
};

class alignas(kCacheLine) Client {
 public:
  // `number` of this client, from 0.
  static Status Make(const Workload& workload, uint64_t number, std::unique_ptr<Session> session,
                     KeySequence* new_keys, const FastClock& clock, StopSignal* stop,
                     std::unique_ptr<Client>* client);

  // Works through the stream until a limit is reached or the run stops.
  void Work(Stream stream, PhaseWork* work);

  // After the phase: enters intended starts that the end found not started as latencies, each as
  // long as it had waited, under the operation that would have been drawn. Does nothing unless the
  // stream is paced.
  void BookUnstarted(Stream stream);

  // Books the mix's acknowledged writes there from now on.
  void BookWrites(AcknowledgedWrites* acknowledged) { acknowledged_ = acknowledged; }

  Recorder& recorder() { return recorder_; }
  // The last Work's, without the operations after its last mark. Not while it goes on.
  const RateCurve& curve() const { return curve_; }

 private:
  // The operation that is about to be timed.
  struct Request {
    Operation operation = Operation::kRead;
    uint64_t index = 0;
    std::string_view key;
    std::string_view value;
    uint64_t sequence = 0;  // of the value
    uint64_t row_limit = 0;
    bool absent = false;  // a read of a key that no record has
  };

  Client(const Workload& workload, uint64_t number, std::unique_ptr<Session> session,
         KeySequence* new_keys, const FastClock& clock, StopSignal* stop);

  template <Stream kStream, bool kPaced>
  void Loop(PhaseWork* work);
  // The work of Loop; returns whether all operations were dealt.
  template <Stream kStream, bool kPaced>
  bool UntilEnd(PhaseWork* work);
  // Blind puts of a share of the age's that is fixed beforehand.
  void Age(PhaseWork* work);
  // Enters the operations that ended before the mark in the curve, and sets the next mark. False:
  // the phase is over. `ended`: operations before the one that ended now.
  bool PassMark(uint64_t end_ns, uint64_t ended, const PhaseWork& work);

  void Prepare(Operation operation);
  void PrepareWrite(uint64_t index, uint64_t sequence);
  Status Execute();
  Status Scan(bool reverse);
  Status ReadThenWrite();
  // Books the operation; false ends the phase for this client, whatever the time.
  template <bool kPaced>
  bool Finish(const Status& status, uint64_t intended_ns, uint64_t start_ns, uint64_t end_ns,
              PhaseWork* work);
  void BookWrite(const Status& status, uint64_t start_ns, uint64_t end_ns);
  bool Reads() const;
  uint64_t BytesWritten() const;
  uint64_t BytesRead(const Status& status) const;
  bool SpendBytes(uint64_t bytes, PhaseWork* work);
  bool Verify(const Status& status);
  void Fail(const Status& status, bool wrong_data);

  const Workload& workload_;
  const OperationChooser operations_;
  const uint64_t number_;
  bool update_reads_;          // in this phase
  const double absent_reads_;  // of all
  const bool verify_;
  const FastClock clock_;
  StopSignal* const stop_;
  KeySequence* const new_keys_;
  const std::unique_ptr<Session> session_;
  std::unique_ptr<KeyChooser> chooser_;
  Random random_;
  uint64_t sequence_;  // of the next value, unique among clients
  AcknowledgedWrites* acknowledged_ = nullptr;
  uint64_t bytes_share_ = 0;  // that may still be written
  ScanRows rows_;
  KeyBatch batch_;

  // Marks cut the phase into the steps of the curve; the phase's deadline is a mark too.
  RateCurve curve_;
  uint64_t next_mark_ns_ = 0;
  uint64_t step_begin_ns_ = 0;  // the last mark passed, since the phase's start
  uint64_t booked_ = 0;         // operations in the curve

  Pacer pacer_;

  Request request_;
  std::vector<char> key_buffer_;
  std::string value_buffer_;
  std::string result_;

  Recorder recorder_;
};

}  // namespace kvdyno
