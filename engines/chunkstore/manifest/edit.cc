#include <algorithm>
#include <string>
#include <utility>

#include "kvdyno/base/coding.h"
#include "manifest/edit_plan.h"
#include "manifest/manifest.h"

namespace chunkstore {

using kvdyno::AppendLengthPrefixed;
using kvdyno::AppendVarint;
using kvdyno::Reader;

namespace {

// The fields of an edit. A number is never given a second meaning.
enum Tag : uint64_t {
  kRemoveChunk = 1,  // length-prefixed min_key
  kAddChunk = 2,   // varint id · length-prefixed min_key · extent of the table · varint log runs ·
                   // their extents
  kAppendLog = 3,  // length-prefixed min_key · extent
  kFlushed = 4,    // varint sequence · varint version
  kEpoch = 5,      // varint epoch · varint ended epochs · each: varint epoch · varint last version
  kClean = 6,      // varint 0 or 1
  kNextChunkId = 7,  // varint
  kRing = 8,         // varint sequence
  kWarmth = 9,       // varint number
};
// extent = varint segment · varint offset · varint length · varint entries; four zeros: none
constexpr size_t kMinExtentBytes = 4;

void AppendExtent(std::string* to, const ExtentRef& extent) {
  AppendVarint(to, extent.segment);
  AppendVarint(to, extent.offset);
  AppendVarint(to, extent.length);
  AppendVarint(to, extent.entries);
}

bool ReadExtent(Reader* reader, bool may_be_empty, ExtentRef* extent) {
  if (!reader->Varint(&extent->segment) || !reader->Varint(&extent->offset) ||
      !reader->Varint(&extent->length) || !reader->Varint(&extent->entries)) {
    return false;
  }
  if (extent->length == 0) return may_be_empty && *extent == ExtentRef{};
  return extent->offset + extent->length > extent->offset;
}

bool ReadKey(Reader* reader, std::string* key) {
  std::string_view bytes;
  if (!reader->LengthPrefixed(&bytes)) return false;
  *key = bytes;
  return true;
}

bool ReadChunk(Reader* reader, ChunkRecord* chunk) {
  uint64_t runs = 0;
  if (!reader->Varint(&chunk->id) || !ReadKey(reader, &chunk->min_key) ||
      !ReadExtent(reader, true, &chunk->table) || !reader->Varint(&runs) ||
      runs > reader->rest().size() / kMinExtentBytes) {
    return false;
  }
  chunk->log.resize(runs);
  return std::all_of(chunk->log.begin(), chunk->log.end(),
                     [&](ExtentRef& extent) { return ReadExtent(reader, false, &extent); });
}

bool ReadEpochs(Reader* reader, Edit* edit) {
  uint64_t count = 0;
  edit->has_epoch = true;
  edit->epochs.clear();
  if (!reader->Varint(&edit->epoch) || !reader->Varint(&count) ||
      count > reader->rest().size() / 2) {
    return false;
  }
  edit->epochs.resize(count);
  return std::all_of(edit->epochs.begin(), edit->epochs.end(), [&](EpochEnd& end) {
    return reader->Varint(&end.epoch) && reader->Varint(&end.last);
  });
}

bool ReadClean(Reader* reader, Edit* edit) {
  uint64_t clean = 0;
  if (!reader->Varint(&clean) || clean > 1) return false;
  edit->has_clean = true;
  edit->clean = clean == 1;
  return true;
}

bool ReadField(uint64_t tag, Reader* reader, Edit* edit) {
  switch (tag) {
    case kRemoveChunk:
      return ReadKey(reader, &edit->remove_chunks.emplace_back());
    case kAddChunk:
      return ReadChunk(reader, &edit->add_chunks.emplace_back());
    case kAppendLog: {
      auto& [key, extent] = edit->append_log.emplace_back();
      return ReadKey(reader, &key) && ReadExtent(reader, false, &extent);
    }
    case kFlushed:
      edit->has_flushed = true;
      return reader->Varint(&edit->flushed_sequence) && reader->Varint(&edit->flushed_version);
    case kEpoch:
      return ReadEpochs(reader, edit);
    case kClean:
      return ReadClean(reader, edit);
    case kRing:
      edit->has_ring = true;
      return reader->Varint(&edit->ring_sequence);
    case kWarmth:
      return reader->Varint(&edit->warmth);
    case kNextChunkId:
      return reader->Varint(&edit->next_chunk_id);
    default:
      return false;
  }
}

}  // namespace

void AppendChunkField(std::string* to, const ChunkRecord& chunk) {
  AppendVarint(to, kAddChunk);
  AppendVarint(to, chunk.id);
  AppendLengthPrefixed(to, chunk.min_key);
  AppendExtent(to, chunk.table);
  AppendVarint(to, chunk.log.size());
  for (const ExtentRef& extent : chunk.log) AppendExtent(to, extent);
}

std::string EncodeEdit(const Edit& edit) {
  std::string bytes;
  for (const std::string& key : edit.remove_chunks) {
    AppendVarint(&bytes, kRemoveChunk);
    AppendLengthPrefixed(&bytes, key);
  }
  for (const ChunkRecord& chunk : edit.add_chunks) AppendChunkField(&bytes, chunk);
  for (const auto& [key, extent] : edit.append_log) {
    AppendVarint(&bytes, kAppendLog);
    AppendLengthPrefixed(&bytes, key);
    AppendExtent(&bytes, extent);
  }
  if (edit.has_flushed) {
    AppendVarint(&bytes, kFlushed);
    AppendVarint(&bytes, edit.flushed_sequence);
    AppendVarint(&bytes, edit.flushed_version);
  }
  if (edit.has_epoch) {
    AppendVarint(&bytes, kEpoch);
    AppendVarint(&bytes, edit.epoch);
    AppendVarint(&bytes, edit.epochs.size());
    for (const EpochEnd& end : edit.epochs) {
      AppendVarint(&bytes, end.epoch);
      AppendVarint(&bytes, end.last);
    }
  }
  if (edit.has_clean) {
    AppendVarint(&bytes, kClean);
    AppendVarint(&bytes, edit.clean ? 1 : 0);
  }
  if (edit.has_ring) {
    AppendVarint(&bytes, kRing);
    AppendVarint(&bytes, edit.ring_sequence);
  }
  if (edit.warmth != 0) {
    AppendVarint(&bytes, kWarmth);
    AppendVarint(&bytes, edit.warmth);
  }
  if (edit.next_chunk_id != 0) {
    AppendVarint(&bytes, kNextChunkId);
    AppendVarint(&bytes, edit.next_chunk_id);
  }
  return bytes;
}

Status DecodeEdit(std::string_view bytes, Edit* edit) {
  *edit = Edit{};
  Reader reader(bytes);
  while (!reader.rest().empty()) {
    const size_t at = bytes.size() - reader.rest().size();
    uint64_t tag = 0;
    if (!reader.Varint(&tag) || !ReadField(tag, &reader, edit)) {
      return Status::Corruption(
          "edit at byte " + std::to_string(at) + " of " + std::to_string(bytes.size()) +
          ": expected a well-formed field, got one with tag " + std::to_string(tag));
    }
  }
  return Status::Ok();
}

Status ApplyEdit(const Edit& edit, ManifestState* state) {
  EditPlan plan;
  Status status = EditPlan::Make(edit, state, &plan);
  if (status.ok()) plan.Execute();
  return status;
}

}  // namespace chunkstore
