// A whole manifest file. The frames' checksums are put right on a second pass.
#include <string>

#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/testing/fuzz.h"
#include "manifest/file.h"

using namespace chunkstore;
using kvdyno::testing::Require;

namespace {

constexpr size_t kHeaderBytes = 16, kFrameHeaderBytes = 8, kMarkBytes = 16;

void Decode(std::string_view bytes) {
  const Replay replay = ReplayManifest(bytes, "fuzz");
  Require(replay.good_bytes + replay.dropped_bytes == bytes.size(), "every byte accounted for");
  if (!replay.status.ok()) return;
  Require(replay.snapshot_complete && replay.state.chunks.contains(""), "a whole state");
  const std::string encoded = EncodeManifest(replay.state);
  const Replay again = ReplayManifest(encoded, "fuzz");
  Require(again.status.ok() && EncodeManifest(again.state) == encoded,
          "an encoded state to decode to itself");
}

std::string Fixed(std::string_view bytes) {
  std::string fixed(bytes);
  kvdyno::StoreFixed(fixed.data() + 12, kvdyno::Crc32c(bytes.substr(0, 12)));
  for (size_t at = kHeaderBytes; at + kFrameHeaderBytes <= fixed.size();) {
    const auto length = kvdyno::LoadFixed<uint32_t>(fixed.data() + at + 4);
    const size_t size = length == 0 ? kMarkBytes : kFrameHeaderBytes + size_t{length};
    if (at + size > fixed.size()) break;
    kvdyno::StoreFixed(fixed.data() + at,
                       kvdyno::Crc32c(std::string_view(fixed).substr(at + 4, size - 4)));
    at += size;
  }
  return fixed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = kvdyno::testing::View(data, size);
  Decode(bytes);
  if (size >= kHeaderBytes) Decode(Fixed(bytes));
  return 0;
}
