#include "kvdyno/generate/value_source.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "kvdyno/base/random.h"

namespace kvdyno {
namespace {

// Arbitrary, with as many ones as zeros; odd, hence invertible modulo 2^64.
constexpr uint64_t kKeyFactor = 0x1cb000fc4a11ffd3u;
constexpr uint64_t kSequenceFactor = 0x5514ed2cd3572a05u;
constexpr uint64_t kMaskFactor = 0x7899781ee1606879u;

constexpr uint64_t Inverse(uint64_t odd) {
  uint64_t inverse = odd;  // right modulo 8; each Newton step doubles the bits
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
static_assert(kKeyFactor * Inverse(kKeyFactor) == 1);
static_assert(kSequenceFactor * Inverse(kSequenceFactor) == 1);

uint64_t LoadWord(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Copies `size` bytes, each word combined with the mask.
void CopyMasked(const char* from, size_t size, uint64_t mask, char* to) {
  size_t i = 0;
  for (; i + sizeof mask <= size; i += sizeof mask) {
    const uint64_t word = LoadWord(from + i) ^ mask;
    std::memcpy(to + i, &word, sizeof word);
  }
  for (; i < size; ++i, mask >>= 8) to[i] = static_cast<char>(from[i] ^ static_cast<char>(mask));
}

// Whether `got` is what CopyMasked writes.
bool EqualMasked(const char* from, size_t size, uint64_t mask, const char* got) {
  uint64_t difference = 0;
  size_t i = 0;
  for (; i + sizeof mask <= size; i += sizeof mask) {
    difference |= LoadWord(from + i) ^ mask ^ LoadWord(got + i);
  }
  for (; i < size; ++i, mask >>= 8) {
    difference |= static_cast<unsigned char>(from[i] ^ static_cast<char>(mask) ^ got[i]);
  }
  return difference == 0;
}

bool AllZero(std::string_view bytes) {
  // The first is zero, and each of the others equals the one before.
  return bytes.empty() ||
         (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

std::string Version(uint64_t key_index, uint64_t sequence) {
  return "key " + std::to_string(key_index) + ", sequence " + std::to_string(sequence);
}

Status Damaged(uint64_t key_index, const std::string& expected, const std::string& got) {
  return Status::Corruption("value of key " + std::to_string(key_index) + ": expected " + expected +
                            ", got " + got);
}

}  // namespace

ValueSource::ValueSource(const ValueSpec& spec) : spec_(spec), salt_(Mix(spec.seed)) {
  assert(spec.compressibility >= 0 && spec.compressibility <= 1);
  const size_t behind_stamp = spec.size < sizeof(Stamp) ? 0 : spec.size - sizeof(Stamp);
  const double zeros = std::round(static_cast<double>(spec.size) * spec.compressibility);
  zeros_ = std::min(behind_stamp, static_cast<size_t>(zeros));
  random_.resize(behind_stamp - zeros_);
  Random random(salt_);
  for (char& byte : random_) byte = static_cast<char>(random.Next());
}

// For a given key the checksum is a bijection of the version, and the version of the sequence: no
// flipped bit escapes.
ValueSource::Stamp ValueSource::MakeStamp(uint64_t key_index, uint64_t sequence) const {
  Stamp stamp;
  stamp.identity = (key_index ^ salt_) * kKeyFactor;
  stamp.version = (sequence ^ std::rotl(stamp.identity, 32)) * kSequenceFactor;
  stamp.checksum = Mix(stamp.version ^ std::rotl(stamp.identity, 17));
  return stamp;
}

uint64_t ValueSource::KeyOf(const Stamp& stamp) const {
  return (stamp.identity * Inverse(kKeyFactor)) ^ salt_;
}

uint64_t ValueSource::SequenceOf(const Stamp& stamp) const {
  return (stamp.version * Inverse(kSequenceFactor)) ^ std::rotl(stamp.identity, 32);
}

std::string_view ValueSource::Make(uint64_t key_index, uint64_t sequence,
                                   std::string* buffer) const {
  buffer->resize(spec_.size);
  char* to = buffer->data();
  if (spec_.size < sizeof(Stamp)) {
    const Stamp stamp = MakeStamp(key_index, 0);
    std::memcpy(to, &stamp, spec_.size);
    return *buffer;
  }
  const Stamp stamp = MakeStamp(key_index, sequence);
  std::memcpy(to, &stamp, sizeof stamp);
  CopyMasked(random_.data(), random_.size(), stamp.checksum * kMaskFactor, to + sizeof stamp);
  std::memset(to + sizeof stamp + random_.size(), 0, zeros_);
  return *buffer;
}

Status ValueSource::Verify(uint64_t key_index, std::string_view value) const {
  if (value.size() != spec_.size) {
    return Damaged(key_index, std::to_string(spec_.size) + " bytes", std::to_string(value.size()));
  }
  if (spec_.size < sizeof(Stamp)) return VerifyBytes(key_index, 0, value);

  Stamp found;
  std::memcpy(&found, value.data(), sizeof found);
  const uint64_t sequence = SequenceOf(found);
  if (const Stamp consistent = MakeStamp(KeyOf(found), sequence);
      found.checksum != consistent.checksum) {
    return Damaged(key_index, "a valid stamp", "a checksum that does not match");
  }
  if (KeyOf(found) != key_index) {
    return Damaged(key_index, "its own stamp", "that of " + Version(KeyOf(found), sequence));
  }
  const char* payload = value.data() + sizeof found;
  if (EqualMasked(random_.data(), random_.size(), found.checksum * kMaskFactor, payload) &&
      AllZero({payload + random_.size(), zeros_})) {
    return Status::Ok();
  }
  return VerifyBytes(key_index, sequence, value);
}

uint64_t ValueSource::SequenceIn(std::string_view value) const {
  assert(has_sequences() && value.size() == spec_.size);
  Stamp found;
  std::memcpy(&found, value.data(), sizeof found);
  return SequenceOf(found);
}

Status ValueSource::VerifyBytes(uint64_t key_index, uint64_t sequence,
                                std::string_view value) const {
  std::string buffer;
  const std::string_view expected = Make(key_index, sequence, &buffer);
  const auto [want, got] = std::mismatch(expected.begin(), expected.end(), value.begin());
  if (want == expected.end()) return Status::Ok();
  const auto byte = [](char c) { return std::to_string(static_cast<unsigned char>(c)); };
  return Damaged(key_index,
                 "byte " + std::to_string(want - expected.begin()) + " of sequence " +
                     std::to_string(sequence) + " to be " + byte(*want),
                 byte(*got));
}

}  // namespace kvdyno
