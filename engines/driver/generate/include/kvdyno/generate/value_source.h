// ValueSource: values of an exact size that can be verified when they come back.
// Owns a buffer of prepared random bytes, so that making a value costs little more than a copy.
// Immutable; safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/base/status.h"

namespace kvdyno {

struct ValueSpec {
  uint64_t size = 800;         // bytes
  double compressibility = 0;  // fraction of the bytes that a compressor can remove, 0..1
  uint64_t seed = 0;           // sources of the same spec make and verify the same values
};

// A value is a stamp of 24 bytes (key index, sequence and a checksum over both, all disguised as
// random bytes), then prepared random bytes under a mask of 8 bytes that follows from the checksum,
// so that no two values have a sequence in common, then zeros: as many as the compressibility asks
// for. Every byte follows from the spec, the key index and the sequence.
// A value shorter than the stamp is the beginning of the stamp of sequence 0: it still
// distinguishes keys apart, as far as its length allows, but not one version from the next.
class ValueSource {
 public:
  explicit ValueSource(const ValueSpec& spec);

  // The value of a key's version; the view is into *buffer, whose capacity is reused.
  std::string_view Make(uint64_t key_index, uint64_t sequence, std::string* buffer) const;

  // Compares every byte with what Make wrote for this key, in whichever version. Corruption names
  // the key index, what was expected and what was found.
  Status Verify(uint64_t key_index, std::string_view value) const;

  // Whether values of this spec distinguish one version from the next.
  bool has_sequences() const { return spec_.size >= sizeof(Stamp); }
  // The sequence of a value that Verify accepts.
  uint64_t SequenceIn(std::string_view value) const;

  const ValueSpec& spec() const { return spec_; }

 private:
  struct Stamp {
    uint64_t identity;  // the key
    uint64_t version;   // the sequence
    uint64_t checksum;
  };

  Stamp MakeStamp(uint64_t key_index, uint64_t sequence) const;
  uint64_t KeyOf(const Stamp& stamp) const;
  uint64_t SequenceOf(const Stamp& stamp) const;
  Status VerifyBytes(uint64_t key_index, uint64_t sequence, std::string_view value) const;

  ValueSpec spec_;
  uint64_t salt_;
  size_t zeros_;              // bytes at the end
  std::vector<char> random_;  // as many as lie between stamp and zeros
};

}  // namespace kvdyno
