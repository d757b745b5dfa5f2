// Ring::Recovery: reads back, from the files of a ring, what an earlier process wrote and did not
// flush. Decides what is taken, what is lost, and what is damage; the rules for bytes are scan.h's.
// Used once, by Ring::Open; one thread.
#pragma once

#include <string>
#include <vector>

#include "stage/ring.h"

namespace chunkstore {

class Ring::Recovery {
 public:
  Recovery(Ring* ring, uint64_t flushed_sequence, const std::vector<EpochEnd>& epochs, bool salvage,
           RingRecovery* result)
      : ring_(ring),
        files_(ring->options_.files),
        flushed_sequence_(flushed_sequence),
        epochs_(epochs),
        salvage_(salvage),
        result_(result) {}
  Status Run();

 private:
  struct Candidate {
    size_t slot = 0;
    StageHeader header;
  };
  // What the stages before a candidate amount to.
  struct Chain {
    bool any = false;
    bool cut = false;  // something is missing: nothing after it is taken
    Version last = 0;
  };

  Status Find(size_t slot);  // adds a candidate, if there is an unflushed stage in the file
  Status CheckHeaders(size_t slot, const HeaderScan& headers);
  Status Recover(const Candidate& candidate);
  bool Follows(const StageHeader& header) const;
  // Takes the records [kRecordsAt, scan->end) into a stage; shortens *scan where one cannot be
  // taken.
  Status Load(const Candidate& candidate, const std::string& content,
              RecordScan* scan) KVDYNO_UNSHARED;
  Status LoadPayload(const std::string& path, size_t at, const Record& record, std::string* spilled,
                     std::string_view* payload);
  Status MapOrHold(const Candidate& candidate, const std::string& content);
  void RemoveOrphans();
  void Drop(size_t bytes, const std::string& reason);
  // Ok in a salvage, which goes on without it.
  Status Damage(const std::string& path, size_t offset, const std::string& what);

  Ring* ring_;
  kvdyno::FileSystem* files_;
  const uint64_t flushed_sequence_;
  const std::vector<EpochEnd>& epochs_;
  const bool salvage_;
  RingRecovery* result_;
  std::vector<Candidate> candidates_;
  Chain chain_;
};

}  // namespace chunkstore
