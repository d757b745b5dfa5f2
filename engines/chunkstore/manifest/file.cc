#include "manifest/file.h"

#include <charconv>
#include <cstdio>

#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "manifest/edit_plan.h"

namespace chunkstore {

using kvdyno::AppendFixed;
using kvdyno::Crc32c;
using kvdyno::LoadFixed;

namespace {

constexpr uint64_t kMagic = 0x54534546494e414d;  // "MANIFEST"
constexpr size_t kHeaderBytes = 16;
constexpr size_t kFrameHeaderBytes = 8;
constexpr size_t kMarkBytes = 16;
constexpr size_t kSnapshotFrameBytes = size_t{1} << 20;
constexpr std::string_view kNamePrefix = "manifest-";

std::string Header() {
  std::string header;
  AppendFixed(&header, kMagic);
  AppendFixed(&header, kStoreFormat);
  AppendFixed(&header, Crc32c(header));
  return header;
}

std::string Formatted(uint64_t value, const char* form) {
  char text[24];
  std::snprintf(text, sizeof text, form, static_cast<unsigned long long>(value));
  return text;
}

Status CheckHeader(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) {
    return Status::Corruption("manifest: expected at least " + std::to_string(kHeaderBytes) +
                              " bytes, got " + std::to_string(bytes.size()));
  }
  const auto magic = LoadFixed<uint64_t>(bytes.data());
  if (magic != kMagic) {
    return Status::Corruption("manifest: expected magic " + Formatted(kMagic, "%016llx") +
                              ", got " + Formatted(magic, "%016llx"));
  }
  const auto stored = LoadFixed<uint32_t>(bytes.data() + 12);
  const uint32_t computed = Crc32c(bytes.substr(0, 12));
  if (stored != computed) {
    return Status::Corruption("manifest header: expected crc32c " + Formatted(stored, "%08llx") +
                              ", got " + Formatted(computed, "%08llx"));
  }
  const auto format = LoadFixed<uint32_t>(bytes.data() + 8);
  if (format < 1 || format > kStoreFormat) {
    return Status::Unsupported("manifest: expected store format 1 to " +
                               std::to_string(kStoreFormat) + ", got " + std::to_string(format) +
                               "; open it with the release that wrote it");
  }
  return Status::Ok();
}

bool IsMark(std::string_view bytes, uint64_t offset) {
  if (bytes.size() - offset < kMarkBytes) return false;
  const char* mark = bytes.data() + offset;
  return LoadFixed<uint32_t>(mark + 4) == 0 && LoadFixed<uint64_t>(mark + 8) == offset &&
         LoadFixed<uint32_t>(mark) == Crc32c({mark + 4, kMarkBytes - 4});
}

bool ReadFrame(std::string_view bytes, uint64_t offset, std::string_view* edit) {
  const uint64_t left = bytes.size() - offset;
  if (left < kFrameHeaderBytes) return false;
  const char* frame = bytes.data() + offset;
  const auto length = LoadFixed<uint32_t>(frame + 4);
  if (length == 0 || length > left - kFrameHeaderBytes) return false;
  if (LoadFixed<uint32_t>(frame) != Crc32c({frame + 4, size_t{length} + 4})) return false;
  *edit = {frame + kFrameHeaderBytes, length};
  return true;
}

// The offset of the first mark at or after `offset`, or 0. Bytewise, as damage may have moved
// nothing but the reader's idea of where the next frame begins.
uint64_t FindMark(std::string_view bytes, uint64_t offset) {
  for (; offset + kMarkBytes <= bytes.size(); ++offset) {
    if (IsMark(bytes, offset)) return offset;
  }
  return 0;
}

Status ApplyFrame(std::string_view bytes, Replay* replay) {
  Edit edit;
  EditPlan plan;
  Status status = DecodeEdit(bytes, &edit);
  if (status.ok()) status = EditPlan::Make(edit, &replay->state, &plan);
  if (status.ok()) plan.ExecuteConsuming(&edit);
  if (status.ok() && replay->snapshot_complete) ++replay->edits;
  return status;
}

// Neither frame nor mark at `offset`: acknowledged and damaged, or never acknowledged?
Status JudgeTail(std::string_view bytes, uint64_t offset, bool snapshot_complete) {
  const uint64_t mark = FindMark(bytes, offset);
  if (mark != 0) {
    return Status::Corruption(
        "manifest: expected an edit of the right checksum, for which the mark at offset " +
        std::to_string(mark) + " vouches, got none");
  }
  if (snapshot_complete) return Status::Ok();
  return Status::Corruption("manifest: expected a whole initial state, got a part of it");
}

}  // namespace

std::string ManifestName(uint64_t number) {
  return std::string(kNamePrefix) + Formatted(number, "%06llu");
}

bool ParseManifestName(std::string_view name, uint64_t* number) {
  if (!name.starts_with(kNamePrefix)) return false;
  const std::string_view digits = name.substr(kNamePrefix.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  return error == std::errc() && end == digits.data() + digits.size() &&
         name == ManifestName(*number);
}

std::string EncodeCurrent(uint64_t manifest) {
  const std::string name = ManifestName(manifest);
  return name + "\ncrc32c " + Formatted(Crc32c(name), "%08llx") + "\n";
}

Status DecodeCurrent(std::string_view content, uint64_t* manifest) {
  const std::string_view name = content.substr(0, content.find('\n'));
  if (!ParseManifestName(name, manifest)) {
    return Status::Corruption("expected a manifest's name, got " + std::to_string(name.size()) +
                              " other bytes");
  }
  if (content != EncodeCurrent(*manifest)) {
    return Status::Corruption("expected the checksum of the name before it, got another one");
  }
  return Status::Ok();
}

void AppendManifestFrame(std::string* to, std::string_view edit) {
  std::string length;
  AppendFixed(&length, static_cast<uint32_t>(edit.size()));
  AppendFixed(to, Crc32c(edit, Crc32c(length)));
  to->append(length);
  to->append(edit);
}

void AppendManifestMark(std::string* to, uint64_t offset) {
  std::string rest;
  AppendFixed(&rest, uint32_t{0});
  AppendFixed(&rest, offset);
  AppendFixed(to, Crc32c(rest));
  to->append(rest);
}

std::string EncodeManifest(const ManifestState& state) {
  std::string bytes = Header();
  Edit scalars;
  scalars.next_chunk_id = state.next_chunk_id;
  scalars.has_flushed = scalars.has_epoch = scalars.has_clean = scalars.has_ring = true;
  scalars.flushed_sequence = state.flushed_sequence;
  scalars.flushed_version = state.flushed_version;
  scalars.epoch = state.epoch;
  scalars.epochs = state.epochs;
  scalars.clean = state.clean;
  scalars.ring_sequence = state.ring_sequence;
  scalars.warmth = state.warmth;
  // An edit is the concatenation of its fields, so chunks can be encoded one at a time. The first
  // frame holds the first chunk, so that every prefix of the frames is a state.
  std::string frame = EncodeEdit(scalars);
  for (const auto& [key, chunk] : state.chunks) {
    AppendChunkField(&frame, chunk);
    if (frame.size() < kSnapshotFrameBytes) continue;
    AppendManifestFrame(&bytes, frame);
    frame.clear();
  }
  if (!frame.empty()) AppendManifestFrame(&bytes, frame);
  AppendManifestMark(&bytes, bytes.size());
  return bytes;
}

Replay ReplayManifest(std::string_view bytes, const std::string& path) {
  Replay replay;
  replay.status = CheckHeader(bytes);
  uint64_t offset = replay.status.ok() ? kHeaderBytes : 0;
  while (replay.status.ok()) {
    std::string_view edit;
    if (ReadFrame(bytes, offset, &edit)) {
      replay.status = ApplyFrame(edit, &replay);
      if (replay.status.ok()) offset += kFrameHeaderBytes + edit.size();
    } else if (IsMark(bytes, offset)) {
      offset += kMarkBytes;
      if (!replay.snapshot_complete && !replay.state.chunks.empty()) {
        replay.snapshot_complete = true;
        replay.snapshot_bytes = offset;
      }
    } else {
      const bool end = offset == bytes.size() && replay.snapshot_complete;
      if (!end) replay.status = JudgeTail(bytes, offset, replay.snapshot_complete);
      break;
    }
  }
  replay.good_bytes = offset;
  replay.dropped_bytes = bytes.size() - offset;
  replay.status = replay.status.WithPlace(path, offset);
  return replay;
}

}  // namespace chunkstore
