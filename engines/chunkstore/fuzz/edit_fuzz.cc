// A manifest's edit, decoded and applied.
#include <string>

#include "kvdyno/base/testing/fuzz.h"
#include "manifest/file.h"
#include "manifest/manifest.h"

using namespace chunkstore;
using kvdyno::testing::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Edit edit, again;
  if (!DecodeEdit(kvdyno::testing::View(data, size), &edit).ok()) return 0;
  const std::string encoded = EncodeEdit(edit);
  Require(DecodeEdit(encoded, &again).ok() && EncodeEdit(again) == encoded,
          "an encoded edit to decode to itself");
  ManifestState state;
  state.chunks.emplace("", ChunkRecord{.id = 1, .min_key = {}, .table = {}, .log = {}});
  state.chunks.emplace("m", ChunkRecord{.id = 2, .min_key = "m", .table = {}, .log = {}});
  const std::string before = EncodeManifest(state);
  const bool fits = ApplyEdit(edit, &state).ok();
  Require(fits || EncodeManifest(state) == before, "a misfit to change nothing");
  Require(state.chunks.contains(""), "a first chunk");
  std::vector<std::string> problems;
  CheckState(state, &problems);
  return 0;
}
