// Manifest: which chunks there are, and which runs hold them. The only authority on what is live.
// A file of checksummed edits, begun anew (with the whole state as its first edit) at every Open and when
// it has grown to several times the state; the file CURRENT names it and is replaced by rename. Knows
// runs by reference only. One writer at a time; state() belongs to that writer.
//
// On disk, manifest-<number>: u64 magic · u32 format version · u32 crc32c of these, then frames:
// u32 crc32c · u32 length · edit. An edit is a sequence of tagged fields (manifest.cc lists them); an
// unknown tag is Corruption. A torn last frame is what a power loss leaves: it is dropped, since its edit
// was never acknowledged. A bad frame with a good one behind it is Corruption.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry.h"
#include "funk/format.h"
#include "kvdyno/base/file_system.h"
#include "stage/ring.h"

namespace chunkstore {

inline constexpr uint32_t kStoreFormat = 1;  // of the whole directory; another one is refused

struct ChunkRecord {
  uint64_t id = 0;
  std::string min_key;          // the first chunk's is empty
  ExtentRef table;              // may be empty
  std::vector<ExtentRef> log;   // oldest first
};

struct ManifestState {
  std::map<std::string, ChunkRecord, std::less<>> chunks;  // by min_key; never empty once created
  uint64_t next_chunk_id = 1;
  uint64_t flushed_sequence = 0;  // stages up to this one are in the chunks
  Version flushed_version = 0;    // and writes up to this one
  uint64_t epoch = 0;             // the last one used
  std::vector<EpochEnd> epochs;   // ended uncleanly, with stages still unflushed; pruned by flushes
  bool clean = true;              // closed properly: the ring holds nothing
};

// Fields that are absent change nothing.
struct Edit {
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
};

std::string EncodeEdit(const Edit& edit);
Status DecodeEdit(std::string_view bytes, Edit* edit);
// Corruption when the edit does not fit: a chunk to remove that is not there, two with one min_key, no
// chunk with the empty key left, runs that overlap within a segment.
Status ApplyEdit(const Edit& edit, ManifestState* state);

class Manifest {
 public:
  // A new store: one chunk over all keys. The directory holds no manifest.
  static Status Create(kvdyno::FileSystem* files, const std::string& directory,
                       std::unique_ptr<Manifest>* manifest);
  // Reads the state and, unless read_only, begins a new file with it. Unsupported names the format
  // version found and the one known. NotFound: no store here.
  static Status Open(kvdyno::FileSystem* files, const std::string& directory, bool read_only,
                     std::unique_ptr<Manifest>* manifest);
  ~Manifest();

  const ManifestState& state() const { return state_; }
  // Applied and durable, or (after an error) neither; after a failed sync every later call fails.
  Status Apply(const Edit& edit, bool sync);
  uint64_t bytes() const;  // of the current file

 private:
  ManifestState state_;
};

}  // namespace chunkstore
