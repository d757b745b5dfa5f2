// The manifest's files as bytes: names, CURRENT, frames and marks (manifest.h gives the forms).
// Pure functions over bytes, safe on any content; opens nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "manifest/manifest.h"

namespace chunkstore {

inline constexpr char kCurrentName[] = "CURRENT";

std::string ManifestName(uint64_t number);  // "manifest-000012"
bool ParseManifestName(std::string_view name, uint64_t* number);

std::string EncodeCurrent(uint64_t manifest);
// Corruption names what is wrong, not where the file is.
Status DecodeCurrent(std::string_view content, uint64_t* manifest);

void AppendManifestFrame(std::string* to, std::string_view edit);
void AppendManifestMark(std::string* to, uint64_t offset);
// A whole new file: header, the state in frames of about 1 MiB, mark.
std::string EncodeManifest(const ManifestState& state);

// What a manifest file lists.
struct Replay {
  // Ok: read to the end, but for a last edit that was never acknowledged. Unsupported, Corruption:
  // what stopped it and where; `state` is then that before the damage.
  Status status;
  ManifestState state;
  bool snapshot_complete = false;  // else the state is a part of one, good for nothing but salvage
  uint64_t snapshot_bytes = 0;
  uint64_t edits = 0;          // behind the snapshot
  uint64_t good_bytes = 0;     // of the file, up to the last frame or mark that was understood
  uint64_t dropped_bytes = 0;  // behind that
};
Replay ReplayManifest(std::string_view bytes, const std::string& path);

}  // namespace chunkstore
