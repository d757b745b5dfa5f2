// The chunk store: a durable, ordered key-value store partitioned by key range.
// This header is the whole public interface (with options.h); c.h is the same for C.
//
// Keys are any bytes, up to 64 KiB; values any bytes, up to 256 MiB; both may be empty. Keys are
// ordered bytewise, as unsigned. Every method of Store may be called from any thread. Views passed
// in must live until the call returns. The store knows no driver and no experiment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chunkstore/options.h"
#include "kvdyno/base/status.h"

namespace chunkstore {

using kvdyno::Status;

inline constexpr size_t kMaxKeyBytes = size_t{64} << 10;
inline constexpr size_t kMaxValueBytes = size_t{256} << 20;

class StoreImpl;

// Writes that happen together: after a crash all of them are there or none, and no reader sees a
// part. A later operation on a key wins over an earlier one of the same batch. One thread at a
// time.
class WriteBatch {
 public:
  void Put(std::string_view key, std::string_view value);
  void Delete(std::string_view key);
  void Clear();
  size_t count() const { return count_; }
  size_t bytes() const { return operations_.size(); }

 private:
  friend class StoreImpl;
  std::string operations_;  // as in a stage's record, see stage/record.h
  size_t count_ = 0;
  size_t largest_key_ = 0, largest_value_ = 0;
};

struct WriteOptions {
  // What this write promises once it has returned; none: what Options::durability promises. kSync
  // in a store without a staging file (Options::durability kNone), like kAsync there, flushes the
  // ring.
  std::optional<Durability> durability;
};

struct CloseOptions {
  // False: quicker. The ring is flushed, and chunks that are due for reorganisation wait for the
  // next open.
  bool reorganise = true;
};

// A moment of the store. Reads at a snapshot see exactly what was written before it. Release it:
// what it sees is kept on disk as long as it lives. An iterator keeps the moment for itself.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  virtual uint64_t version() const = 0;
};

struct ReadOptions {
  const Snapshot* snapshot = nullptr;  // null: the moment of the call
  bool fill_cache = true;              // false: a long scan leaves the caches as they are
};

struct ScanOptions {
  std::string_view start = {};  // inclusive; empty: from the first key
  std::string_view end = {};    // exclusive; empty: to the last key
  uint64_t limit = 0;           // rows at most; 0: no limit
  bool reverse = false;         // from the end of the range downwards
  const Snapshot* snapshot = nullptr;
  bool fill_cache = true;
};

// Rows in key order, at one moment: the iterator's creation, or its snapshot. Any number of
// iterators may live; an iterator belongs to one thread at a time and must be gone before its
// store. Keys and values live until the next movement. After an error Valid() is false and status()
// is the error.
class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view key) = 0;         // the first row at or after the key
  virtual void SeekForPrev(std::string_view key) = 0;  // the last row at or before the key
  virtual void Next() = 0;                             // only when Valid()
  virtual void Prev() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual Status status() const = 0;
};

// One of the store's own numbers. Cumulative ones count since Open.
struct Statistic {
  std::string name;  // "munk_gets", "log_debt"; docs/chunkstore.md lists them
  double value = 0;
  std::string unit;  // "op", "byte", "s", "us", "count", "ratio"
  bool cumulative = true;
};

// How long gets took that one component answered, since Open: counts in buckets of a quarter of a power
// of two, ascending. One get in 64 is timed.
struct ComponentLatency {
  struct Bucket {
    double ns_max = 0;
    uint64_t count = 0;
  };
  std::string component;  // "munk", "row_cache", as in the names of statistics
  std::vector<Bucket> buckets;
};

// What Open found and did.
struct RecoveryReport {
  bool clean = true;               // the last process closed the store
  uint64_t recovered_records = 0;  // read back from the staging ring
  uint64_t recovered_bytes = 0;
  uint64_t dropped_bytes = 0;  // of the ring, beyond the last readable record; 0 after a mere kill
  std::string dropped_reason;  // empty when nothing was dropped
  double seconds = 0;
};

// What VerifyChecksums and Repair found.
struct CheckReport {
  uint64_t files = 0, blocks = 0, entries = 0;
  std::vector<std::string>
      problems;  // "segment 12 at offset 4096: block checksum: expected …, got …"
};

class Store {
 public:
  // Opens the store in an existing directory, or makes one if the options ask for it. Errors: Busy
  // when another process (or store) holds it; Unsupported for another format version, which it
  // names; Corruption for damage, with file and offset (Repair may help); InvalidArgument for an
  // option out of range; ReadOnly for the 65,536th opening since a store was made (or repaired)
  // that finds it not closed: a read-only open still works, and Repair begins the count again.
  static Status Open(const Options& options, const std::string& directory,
                     std::unique_ptr<Store>* store);
  // Salvages what is readable of a store that does not open, and leaves a store that does. The
  // report lists what was lost. Touches nothing when the store opens as it is.
  static Status Repair(const Options& options, const std::string& directory, CheckReport* report);
  // Removes a store, with what repairs have put aside, and nothing else; refuses a directory that
  // holds foreign files.
  static Status Destroy(const Options& options, const std::string& directory);

  // Closes: waits for calls in other threads, flushes, releases. Errors are lost here: call Close.
  virtual ~Store() = default;
  // Waits for calls in other threads, scans and iterators' movements among them; flushes and
  // releases everything. Afterwards every other call answers InvalidArgument. Closing again is Ok
  // and does nothing. Not from inside a scan's row function.
  virtual Status Close(const CloseOptions& options) = 0;
  Status Close() { return Close(CloseOptions{}); }

  virtual Status Put(const WriteOptions& options, std::string_view key, std::string_view value) = 0;
  // An absent key: Ok.
  virtual Status Delete(const WriteOptions& options, std::string_view key) = 0;
  virtual Status Write(const WriteOptions& options, const WriteBatch& batch) = 0;
  Status Put(std::string_view key, std::string_view value) { return Put({}, key, value); }
  Status Delete(std::string_view key) { return Delete(WriteOptions{}, key); }
  Status Write(const WriteBatch& batch) { return Write(WriteOptions{}, batch); }

  // NotFound leaves *value unspecified. *value's capacity is reused.
  virtual Status Get(const ReadOptions& options, std::string_view key, std::string* value) = 0;
  Status Get(std::string_view key, std::string* value) { return Get(ReadOptions{}, key, value); }
  // All at one moment. statuses[i] and values[i] belong to keys[i]; both are resized.
  virtual void MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                        std::vector<std::string>* values, std::vector<Status>* statuses) = 0;

  // Calls `row` for each row of the range, in order, until it returns false (which is no error).
  // The views live during the call; `row` must not call the store, and should be quick: while rows
  // of a chunk are given, no stage is used again, which in the end writers wait for, and no memory
  // is given back. For slow consumers there are iterators, which hold copies.
  using RowFunction = std::function<bool(std::string_view key, std::string_view value)>;
  virtual Status Scan(const ScanOptions& options, const RowFunction& row) = 0;
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) = 0;
  virtual std::unique_ptr<Snapshot> GetSnapshot() = 0;

  // Everything written before survives a power loss.
  virtual Status Checkpoint() = 0;
  // Writes the staging ring into the chunks and waits until no background work is left.
  virtual Status Flush() = 0;
  // Flush, and then reorganises chunks, those with the largest logs first, until all logs together
  // (statistic "log_debt") hold at most so many bytes. What others write meanwhile may come on top:
  // the call pays no more than what was above the bound when it had flushed. Each step is installed
  // whole or not at all. A Close in another thread ends it early, with InvalidArgument.
  virtual Status PayDebt(uint64_t log_bytes_max) = 0;
  // Reorganises every chunk: no logs are left, nothing superseded stays.
  virtual Status Compact() = 0;

  // A store of its own in `directory`, which is made, or is empty: everything written before the
  // call, up to one moment of it. Reads and writes go on. What is superseded meanwhile keeps its
  // space until the call returns. The copy is durable and closed; damaged blocks are copied as they
  // are, for VerifyChecksums to find. InvalidArgument for a directory that holds anything. After an
  // error, or a Close in another thread, which ends the call early, nothing is left there.
  virtual Status Backup(const std::string& directory) = 0;

  virtual std::vector<Statistic> GetStatistics() const = 0;
  virtual std::vector<ComponentLatency> GetLatencies() const = 0;
  // "stats" (a table for people), "chunks" (one line each), "recovery", "num-chunks"; false for an
  // unknown name.
  virtual bool GetProperty(std::string_view name, std::string* value) const = 0;
  // Reads every block of every live file. Ok with problems listed in the report.
  virtual Status VerifyChecksums(CheckReport* report) = 0;
  virtual const RecoveryReport& recovery() const = 0;
  virtual const Options& options() const = 0;  // as resolved at Open
};

// "0.1.0"; a directory's format version is a number of its own.
std::string_view LibraryVersion();

}  // namespace chunkstore
