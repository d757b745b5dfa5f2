#include "tools/dump_document.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "check/salvage.h"
#include "check/sorted_run_file.h"
#include "funk/warmth.h"
#include "manifest/file.h"
#include "manifest/text.h"
#include "stage/ring.h"

namespace chunkstore {

namespace {

using kvdyno::FileSystem;

constexpr size_t kShownValueBytes = 32;

// "3:1047": epoch and number.
std::string Shown(Version version) {
  return std::to_string(EpochOf(version)) + ":" + std::to_string(NumberOf(version));
}

Json Shown(const Entry& entry) {
  Json json = {{"key", Escaped(entry.key)},
               {"version", Shown(entry.version)},
               {"type", entry.type == EntryType::kValue ? "value" : "deletion"}};
  if (entry.type == EntryType::kValue) {
    json["bytes"] = entry.value.size();
    json["value"] = Quoted(entry.value, kShownValueBytes);
  }
  return json;
}

Json Shown(const ExtentRef& extent) {
  return {{"segment", extent.segment},
          {"offset", extent.offset},
          {"bytes", extent.length},
          {"entries", extent.entries}};
}

bool Full(const Json& list, uint64_t limit) { return limit != 0 && list.size() >= limit; }

// The manifest as far as it can be read, with its damage as the status.
Status ReadState(FileSystem* files, const std::string& directory, uint64_t* number, uint64_t* bytes,
                 Replay* replay) {
  std::string path = directory + "/" + kCurrentName;
  std::string content;
  Status status = kvdyno::ReadWholeFile(files, path, &content);
  if (status.not_found()) {
    return Status::InvalidArgument("dump " + directory + ": expected a store, got no file CURRENT");
  }
  if (status.ok()) status = DecodeCurrent(content, number).WithPlace(path, 0);
  if (!status.ok()) return status;
  path = directory + "/" + ManifestName(*number);
  status = kvdyno::ReadWholeFile(files, path, &content);
  if (status.not_found()) {
    return Status::Corruption("expected the manifest that CURRENT names, got no file")
        .WithPlace(path, 0);
  }
  if (!status.ok()) return status;
  *bytes = content.size();
  *replay = ReplayManifest(content, path);
  return replay->status;
}

Json ShownChunk(const ChunkRecord& chunk) {
  uint64_t log_bytes = 0, entries = chunk.table.entries;
  for (const ExtentRef& run : chunk.log) {
    log_bytes += run.length;
    entries += run.entries;
  }
  return {{"id", chunk.id},         {"min_key", Escaped(chunk.min_key)},
          {"entries", entries},     {"table_bytes", chunk.table.length},
          {"log_bytes", log_bytes}, {"log_runs", chunk.log.size()}};
}

Status DumpManifest(FileSystem* files, const DumpRequest& request, Json* document) {
  uint64_t number = 0, bytes = 0;
  Replay replay;
  const Status status = ReadState(files, request.directory, &number, &bytes, &replay);
  if (number == 0) return status;
  const ManifestState& state = replay.state;
  Json& json = *document;
  json["file"] = ManifestName(number);
  json["bytes"] = bytes;
  json["snapshot_bytes"] = replay.snapshot_bytes;
  json["edits"] = replay.edits;
  json["dropped_bytes"] = replay.dropped_bytes;
  json["clean"] = state.clean;
  json["epoch"] = state.epoch;
  json["flushed_sequence"] = state.flushed_sequence;
  json["flushed_version"] = Shown(state.flushed_version);
  json["ring_sequence"] = state.ring_sequence;
  json["warmth"] = state.warmth;
  json["next_chunk_id"] = state.next_chunk_id;
  json["ended_epochs"] = Json::array();
  for (const EpochEnd& end : state.epochs) {
    json["ended_epochs"].push_back({{"epoch", end.epoch}, {"last", Shown(end.last)}});
  }
  json["chunk_count"] = state.chunks.size();
  json["chunks"] = Json::array();
  for (const auto& [key, chunk] : state.chunks) {
    if (Full(json["chunks"], request.limit)) break;
    json["chunks"].push_back(ShownChunk(chunk));
  }
  return status;
}

Json ShownRun(SegmentFiles* segments, const ExtentRef& extent, uint64_t limit, Status* status) {
  Json json = Shown(extent);
  std::unique_ptr<SortedRunFile> run;
  *status = SortedRunFile::Open(segments, extent, &run);
  if (!status->ok()) return json;
  const SortedRunIndex& index = run->index();
  json["blocks"] = index.blocks.size();
  json["filter_bytes"] = index.filter.memory();
  json["first_key"] = Escaped(index.first_key(0));
  json["last_key"] = Escaped(index.last_key());
  Json& shown = json["shown_entries"] = Json::array();
  std::string bytes;
  for (size_t block = 0; block < index.blocks.size() && !Full(shown, limit); ++block) {
    BlockView view;
    *status = run->ReadBlock(block, &bytes, &view);
    if (!status->ok()) return json;
    for (uint32_t i = 0; i < view.size() && !Full(shown, limit); ++i) {
      shown.push_back(Shown(view.at(i)));
    }
  }
  return json;
}

// Both "chunk" (without entries) and "funk" (with them).
Status DumpChunk(FileSystem* files, const DumpRequest& request, Json* document) {
  uint64_t number = 0, bytes = 0;
  Replay replay;
  Status status = ReadState(files, request.directory, &number, &bytes, &replay);
  if (!status.ok()) return status;
  const auto& chunks = replay.state.chunks;
  auto at = chunks.upper_bound(request.key);
  if (at != chunks.begin()) --at;
  if (request.by_id) {
    at = std::find_if(chunks.begin(), chunks.end(),
                      [&](const auto& chunk) { return chunk.second.id == request.number; });
  }
  if (at == chunks.end()) {
    return Status::InvalidArgument("dump " + request.directory + ": expected a chunk's id, got " +
                                   std::to_string(request.number) + ", which none has");
  }
  Json& json = *document;
  json = ShownChunk(at->second);
  const auto next = std::next(at);
  json["end_key"] = next == chunks.end() ? Json(nullptr) : Json(Escaped(next->first));
  std::vector<ExtentRef> runs = at->second.log;
  const bool has_table = !at->second.table.empty();
  if (has_table) runs.insert(runs.begin(), at->second.table);
  json["runs"] = Json::array();
  SegmentFiles segments(files, request.directory);
  for (size_t i = 0; i < runs.size(); ++i) {
    Json run = {{"part", has_table && i == 0 ? "table" : "log"}};
    Status run_status;
    run.update(request.what == "funk" ? ShownRun(&segments, runs[i], request.limit, &run_status)
                                      : Shown(runs[i]));
    json["runs"].push_back(std::move(run));
    if (status.ok()) status = run_status;
  }
  return status;
}

Status DumpSegment(FileSystem* files, const DumpRequest& request, Json* document) {
  uint64_t manifest = 0, bytes = 0;
  Replay replay;
  // A damaged manifest is no reason not to look into a segment.
  const bool known = ReadState(files, request.directory, &manifest, &bytes, &replay).ok();
  SegmentFiles segments(files, request.directory);
  std::vector<ExtentRef> runs;
  Status status = segments.Size(request.number, &bytes);
  if (status.ok()) status = FindRuns(&segments, request.number, &runs);
  if (!status.ok()) return status;
  Json& json = *document;
  json["file"] = SegmentName(request.number);
  json["bytes"] = bytes;
  json["runs"] = Json::array();
  for (const ExtentRef& run : runs) {
    Json shown = Shown(run);
    shown.erase("segment");
    shown["chunk"] = nullptr;  // of a manifest that cannot be read, or of none
    for (const auto& [key, chunk] : replay.state.chunks) {
      const bool holds = chunk.table == run ||
                         std::find(chunk.log.begin(), chunk.log.end(), run) != chunk.log.end();
      if (known && holds) shown["chunk"] = chunk.id;
    }
    json["runs"].push_back(std::move(shown));
  }
  return status;
}

Json ShownStage(const Stage& stage, uint64_t limit) {
  Json json = {{"sequence", stage.sequence()},        {"first_version", Shown(stage.first())},
               {"last_version", Shown(stage.last())}, {"bytes", stage.bytes()},
               {"capacity", stage.capacity()},        {"entries", stage.count()}};
  Json& shown = json["shown_entries"] = Json::array();
  StageIndex::Cursor cursor = stage.NewCursor();
  for (cursor.Seek(""); cursor.Valid() && !Full(shown, limit); cursor.Next()) {
    shown.push_back(Shown(cursor.entry()));
  }
  return json;
}

Status DumpRing(FileSystem* files, const DumpRequest& request, Json* document) {
  uint64_t number = 0, bytes = 0;
  Replay replay;
  Status status = ReadState(files, request.directory, &number, &bytes, &replay);
  if (!status.ok()) return status;
  RingOptions options;
  options.files = files;
  options.directory = request.directory;
  options.read_only = true;
  Json& json = *document;
  json["files"] = Json::array();
  for (int i = 0; i < Ring::kStages; ++i) {
    const std::string name = "ring-" + std::to_string(i);
    uint64_t size = 0;
    if (!files->Size(request.directory + "/" + name, &size).ok()) continue;
    options.stage_size = std::max<size_t>(options.stage_size, size);
    json["files"].push_back({{"name", name}, {"bytes", size}});
  }
  json["flushed_sequence"] = replay.state.flushed_sequence;
  json["stages"] = Json::array();
  if (options.stage_size == 0) return status;
  RingRecovery recovery;
  std::unique_ptr<Ring> ring;
  status = Ring::Open(options, replay.state.flushed_sequence, replay.state.epochs, true, &recovery,
                      &ring);
  if (!status.ok()) return status;
  json["records"] = recovery.records;
  json["dropped_bytes"] = recovery.dropped_bytes;
  json["dropped_reason"] = recovery.dropped_reason;
  for (const auto& stage : recovery.stages)
    json["stages"].push_back(ShownStage(*stage, request.limit));
  return status;
}

// An empty document: the store was not closed, or nothing was saved.
Status DumpWarmth(FileSystem* files, const DumpRequest& request, Json* document) {
  uint64_t number = 0, bytes = 0;
  Replay replay;
  Status status = ReadState(files, request.directory, &number, &bytes, &replay);
  if (!status.ok() || !replay.state.clean || replay.state.warmth == 0) return status;
  const std::string path = request.directory + "/" + WarmthName(replay.state.warmth);
  if (!files->Exists(path)) return status;
  std::shared_ptr<const Warmth> warmth;
  status = Warmth::Open(files, path, &warmth);
  if (!status.ok()) return status;
  Json& json = *document;
  json["file"] = WarmthName(replay.state.warmth);
  json["chunk_count"] = warmth->chunks().size();
  json["chunks"] = Json::array();
  for (const ChunkWarmth& chunk : warmth->chunks()) {
    if (Full(json["chunks"], request.limit)) break;
    json["chunks"].push_back({{"chunk", chunk.id},
                              {"reads", chunk.reads},
                              {"scans", chunk.scans},
                              {"log_runs", chunk.runs},
                              {"index_bytes", chunk.length}});
  }
  return status;
}

}  // namespace

Status Dump(FileSystem* files, const DumpRequest& request, Json* document) {
  *document = Json::object();
  if (request.what == "manifest") return DumpManifest(files, request, document);
  if (request.what == "segment") return DumpSegment(files, request, document);
  if (request.what == "ring") return DumpRing(files, request, document);
  if (request.what == "warmth") return DumpWarmth(files, request, document);
  return DumpChunk(files, request, document);
}

}  // namespace chunkstore
