// Manifest: which chunks there are, and which runs hold them. The only authority on what is live.
// A file of checksummed edits, begun again (with the whole state as its first edits) at every Open
// and when it has grown to several times the state; the file CURRENT names it and is replaced by
// rename. Knows runs by reference only. One writer at a time; state() belongs to that writer.
//
// On disk, manifest-<number>: u64 magic · u32 format version · u32 crc32c of these, then frames
// and marks.
//   frame = u32 crc32c of what follows · u32 length, not 0 · edit
//   edit  = a sequence of tagged fields; edit.cc lists them
//   mark  = u32 crc32c of what follows · u32 0 · u64 its own offset in the file
// A mark: all before it is durable. The first one ends the snapshot that the file begins with
// (it is synced together with it, before CURRENT names the file); later ones are appended after a
// sync and are not synced themselves.
//
// Damage: bytes that are neither frame nor mark are Corruption if a mark follows anywhere behind
// them, since what they held had been acknowledged. If none follows, they are what a power loss
// left of an edit in progress, or a damaged last mark, and are dropped. So a flipped bit is
// detected in every acknowledged edit, the last one included. What remains undetectable: damage to
// the last edit after a power loss that took its mark, until the next Open has written the state
// again.
//
// CURRENT: the manifest's name, newline, "crc32c " and the name's checksum in hexadecimal, newline.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "funk/format.h"
#include "kvdyno/base/file_system.h"
#include "stage/ring.h"

namespace chunkstore {

// The format of the whole directory. 1, with runs of format 1 alone, is read as well; an open for writing makes
// it 2, so that a release that knows 1 alone refuses runs that it cannot read.
inline constexpr uint32_t kStoreFormat = 2;

struct ChunkRecord {
  uint64_t id = 0;
  std::string min_key;         // the first chunk's is empty
  ExtentRef table;             // may be empty
  std::vector<ExtentRef> log;  // oldest first
};

struct ManifestState {
  std::map<std::string, ChunkRecord, std::less<>> chunks;  // by min_key; never empty once created
  uint64_t next_chunk_id = 1;
  uint64_t flushed_sequence = 0;  // stages up to this one are in the chunks
  Version flushed_version = 0;    // and writes up to this one
  uint64_t epoch = 0;             // the last one used
  std::vector<EpochEnd> epochs;   // ended uncleanly, with stages still unflushed; pruned by flushes
  bool clean = true;              // closed properly: the ring holds nothing
  // A stage that was begun in a file of the ring: if it is not flushed, its file must be there.
  uint64_t ring_sequence = 0;
  uint64_t warmth = 0;  // the last number that a warmth file had or was meant to have

  // The stage that recovery must find, or a newer one; 0: none.
  uint64_t begun_sequence() const {
    return clean || ring_sequence <= flushed_sequence ? 0 : ring_sequence;
  }
};

// Fields that are absent change nothing.
struct Edit {
  uint64_t next_chunk_id = 0;              // 0: one more than the largest seen
  std::vector<std::string> remove_chunks;  // by min_key; removed before any is added
  std::vector<ChunkRecord> add_chunks;
  std::vector<std::pair<std::string, ExtentRef>> append_log;  // chunk's min_key, its next log run
  bool has_flushed = false;
  uint64_t flushed_sequence = 0;
  Version flushed_version = 0;
  bool has_epoch = false;
  uint64_t epoch = 0;
  std::vector<EpochEnd> epochs;  // replaces the list when has_epoch
  bool has_clean = false;
  bool clean = false;
  bool has_ring = false;
  uint64_t ring_sequence = 0;
  uint64_t warmth = 0;  // 0: absent
};

std::string EncodeEdit(const Edit& edit);
Status DecodeEdit(std::string_view bytes, Edit* edit);
// Corruption, and the state is as before, when the edit does not fit: a chunk to remove or to
// extend that is not there, two with one min_key, no chunk with the empty key left, a flushed
// sequence, flushed version or epoch that goes back.
Status ApplyEdit(const Edit& edit, ManifestState* state);
// What must hold of a whole state and would cost too much with every edit: runs do not overlap
// within a segment, no two chunks share an id, epochs are in order. Appends a text for each
// problem, at most 100.
void CheckState(const ManifestState& state, std::vector<std::string>* problems);

class Manifest {
 public:
  // A new store: one chunk over all keys. InvalidArgument when the directory holds a manifest, but
  // for one of a creation that was cut short.
  static Status Create(kvdyno::FileSystem* files, const std::string& directory,
                       std::unique_ptr<Manifest>* manifest);
  // A manifest with this state in place of whatever the directory holds; earlier manifests stay
  // where they are. For repairs.
  static Status Replace(kvdyno::FileSystem* files, const std::string& directory,
                        ManifestState state, std::unique_ptr<Manifest>* manifest);
  // Reads and checks the state and, unless read_only, begins a new file with it and removes older
  // ones. Unsupported names the format version found and the one known. NotFound: no store here. On
  // a full disk it opens all the same, and Apply fails until there is space.
  static Status Open(kvdyno::FileSystem* files, const std::string& directory, bool read_only,
                     std::unique_ptr<Manifest>* manifest);
  ~Manifest();

  const ManifestState& state() const { return state_; }
  // Ok: applied, and durable if `sync`. Else the state is as before, and later calls may succeed
  // (kNoSpace) unless failed().
  Status Apply(const Edit& edit, bool sync);
  // A sync, or the way back from a failed write, has failed: every later Apply returns that error,
  // and whether the last edit is on disk is known only after the next Open. The caller must keep
  // every file that the state before or after that edit refers to.
  bool failed() const { return !failure_.ok(); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // of the current file
  uint64_t number() const { return number_; }

 private:
  Manifest(kvdyno::FileSystem* files, std::string directory);
  Status BeginFile();
  Status MakeRoom();
  Status WriteSnapshot(uint64_t number, std::unique_ptr<kvdyno::WritableFile>* file,
                       uint64_t* bytes);
  Status AppendFrame(std::string_view edit, bool sync);
  void CutTail();
  void RemoveOlder();

  kvdyno::FileSystem* files_;
  std::string directory_;
  ManifestState state_;
  bool read_only_ = false;
  uint64_t number_ = 0;
  std::unique_ptr<kvdyno::WritableFile> file_;  // null: the next Apply must begin a file
  std::atomic<uint64_t> bytes_{0};
  uint64_t rewrite_at_bytes_ = 0;
  Status failure_;
};

}  // namespace chunkstore
