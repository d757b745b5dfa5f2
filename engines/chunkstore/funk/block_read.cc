#include "funk/block_read.h"

#include <utility>

#include "hooks/seeded_bugs.h"

namespace chunkstore {

namespace {

// Bytes that were read, with their checksum.
Status ParseAt(const ReadContext& context, const ExtentRef& extent, BlockPlace block,
               std::string_view bytes, BlockView* view) {
  const bool verify = context.verify_checksums && !Seeded(Bug::kIgnoresChecksum);
  std::string problem = BlockView::Parse(bytes, block.offset, verify, view);
  if (problem.empty()) return Status::Ok();
  return Problem(*context.segments, extent, "read block", block.offset,
                 Status::Corruption(std::move(problem)));
}

// Checks what was read, and puts it where its view can last.
Status Keep(const ReadContext& context, std::string_view bytes, WantedBlock* block) {
  BlockView checked;
  if (Status status = ParseAt(context, block->extent, block->place, bytes, &checked); !status.ok())
    return status;
  if (context.blocks != nullptr && context.fill_cache) {
    const uint64_t place = block->extent.offset + block->place.offset;
    block->handle = context.blocks->Insert(block->extent.segment, place, bytes);
    block->view = BlockView(block->handle.bytes());
  } else {
    block->copy.assign(bytes);
    block->view = BlockView(block->copy);
  }
  return Status::Ok();
}

}  // namespace

Status ParseBlock(const ReadContext& context, const ExtentRef& extent, const SortedRunIndex& index,
                  size_t block, std::string_view bytes, BlockView* view) {
  const BlockRef& ref = index.blocks[block];
  if (Status status = ParseAt(context, extent, ref.place(), bytes, view); !status.ok())
    return status;
  std::string problem;
  if (view->size() != ref.entries) {
    problem =
        "expected " + std::to_string(ref.entries) + " entries, got " + std::to_string(view->size());
  } else if (view->at(0).key != index.first_key(block)) {
    problem = "expected the index's first key, got another";
  }
  if (problem.empty()) return Status::Ok();
  return Problem(*context.segments, extent, "read block", ref.offset,
                 Status::Corruption(std::move(problem)));
}

Status SearchBlock(const ReadContext& context, const ExtentRef& extent, BlockPlace block,
                   const SortedRunIndex* index, size_t ordinal, std::string_view key,
                   Version version, std::string* value, LookupResult* result, bool* at_end) {
  const uint64_t place = extent.offset + block.offset;
  const ThreadBuffer buffer;
  BlockCache::Handle handle;
  BlockView view;
  if (context.blocks != nullptr) handle = context.blocks->Lookup(extent.segment, place);
  if (handle) {
    view = BlockView(handle.bytes());
  } else {
    result->from_cache = false;
    std::string_view bytes;
    Status status =
        context.segments->ReadInto(extent, block.offset, block.length, buffer.get(), &bytes);
    if (status.ok()) {
      status = index != nullptr ? ParseBlock(context, extent, *index, ordinal, bytes, &view)
                                : ParseAt(context, extent, block, bytes, &view);
    }
    if (!status.ok()) return status;
    if (context.blocks != nullptr && context.fill_cache) {
      (void)context.blocks->Insert(extent.segment, place, bytes);
    }
  }
  const uint32_t at = view.LowerBound(key, version);
  *at_end = at == view.size();
  if (*at_end) return Status::Ok();
  const Entry entry = view.at(at);
  if (entry.key != key) return Status::Ok();
  result->found = true;
  result->type = entry.type;
  result->version = entry.version;
  value->assign(entry.value);
  return Status::Ok();
}

Status LookupInBlock(const ReadContext& context, const ExtentRef& extent, BlockPlace block,
                     std::string_view key, Version version, std::string* value,
                     LookupResult* result) {
  result->found = false;
  bool at_end = false;
  Status status =
      SearchBlock(context, extent, block, nullptr, 0, key, version, value, result, &at_end);
  if (!status.ok()) return status;
  return result->found && result->version == version ? status : MissingKey(context, extent, block);
}

Status HoldTogether(const ReadContext& context, std::vector<WantedBlock>* blocks) {
  std::vector<SegmentRead> reads;
  std::vector<WantedBlock*> missing;
  for (WantedBlock& block : *blocks) {
    const ExtentRef& extent = block.extent;
    if (context.blocks != nullptr) {
      block.handle = context.blocks->Lookup(extent.segment, extent.offset + block.place.offset);
    }
    if (block.handle) {
      block.view = BlockView(block.handle.bytes());
    } else {
      reads.push_back({extent, block.place.offset, block.place.length, {}, {}});
      missing.push_back(&block);
    }
  }
  if (missing.empty()) return Status::Ok();
  context.CountLogReads(missing.size());
  Prefetch* const beside = context.prefetch;
  if (beside != nullptr && beside->length > 0) {
    reads.push_back({beside->extent, beside->offset_in_run, beside->length, {}, {}});
    beside->length = 0;
  }
  const ThreadBuffer buffer;
  context.segments->ReadTogether(&reads, buffer.get());
  // What could not be read is read again by the cursor that needs it, which gets the error.
  if (reads.size() > missing.size() && reads.back().status.ok()) beside->bytes = reads.back().bytes;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (!reads[i].status.ok()) return std::move(reads[i].status);
    if (Status status = Keep(context, reads[i].bytes, missing[i]); !status.ok()) {
      return status;
    }
  }
  return Status::Ok();
}

Status MissingKey(const ReadContext& context, const ExtentRef& extent, BlockPlace block) {
  return Problem(
      *context.segments, extent, "look up", block.offset,
      Status::Corruption("expected the block to hold a key of the log's index, got none"));
}

Status Problem(const Segments& segments, const ExtentRef& extent, const char* operation,
               uint64_t offset_in_run, const Status& status) {
  return {status.code(), std::string(operation) + " " + segments.PathOf(extent.segment) + " at " +
                             std::to_string(extent.offset + offset_in_run) + ": " +
                             status.message()};
}

}  // namespace chunkstore
