// Opening and closing: what is on disk becomes a State.
#include <algorithm>
#include <utility>

#include "kvdyno/base/clock.h"
#include "store/resolve.h"
#include "store/store_impl.h"

namespace chunkstore {

Status Store::Open(const Options& options, const std::string& directory,
                   std::unique_ptr<Store>* store) {
  Options resolved;
  if (const Status status = ResolveOptions(options, MemoryCap(), &resolved); !status.ok()) {
    return status;
  }
  auto opened = std::make_unique<StoreImpl>(resolved, directory);
  if (const Status status = opened->Recover(); !status.ok()) {
    // To a caller NotFound means a key; here it was a file.
    return status.not_found() ? Status::IoError(status.message()) : status;
  }
  *store = std::move(opened);
  return Status::Ok();
}

StoreImpl::StoreImpl(const Options& resolved, const std::string& directory)
    : state_(resolved),
      reader_(&state_, [this] { WakeMaintenance(); }),
      writer_(&state_, [this] { return maintenance_->Work(); }, [this] { WakeMaintenance(); }) {
  state_.directory = directory;
  state_.files = resolved.file_system;
  state_.log_policy = {
      resolved.log_lookup, resolved.bloom_split, resolved.bloom_bits,
      std::max<uint64_t>(1, resolved.log_limit / static_cast<uint64_t>(resolved.bloom_split))};
}

void StoreImpl::WakeMaintenance() {
  if (state_.options.background_threads > 0) maintenance_->Wake();
}

StoreImpl::~StoreImpl() {
  static_cast<void>(Close(CloseOptions{}));
  maintenance_.reset();
}

Status StoreImpl::Recover() {
  const uint64_t begin = kvdyno::NowNs();
  const Options& options = state_.options;
  if (options.shared_budget != nullptr) {
    const Status joined =
        BudgetMember::Join(options.shared_budget, options.memory_budget, &state_.shared_budget);
    if (!joined.ok()) return joined;
  }
  if (const Status status = OpenManifest(); !status.ok()) return status;
  recovery_.clean = state_.manifest->state().clean;

  state_.segments = std::make_unique<Segments>(state_.files, state_.directory, options.direct_io,
                                               options.max_open_files);
  std::vector<ExtentRef> live;
  for (const auto& [min_key, chunk] : state_.manifest->state().chunks) {
    if (!chunk.table.empty()) live.push_back(chunk.table);
    live.insert(live.end(), chunk.log.begin(), chunk.log.end());
  }
  if (const Status status = state_.segments->Recover(live, options.read_only); !status.ok()) {
    return status;
  }
  if (options.block_cache_size > 0) state_.blocks = std::make_unique<BlockCache>(0);
  if (options.row_cache_size > 0) state_.rows = std::make_unique<RowCache>(0);
  OpenWarmth();
  BuildChunks();
  if (const Status status = RecoverRing(); !status.ok()) return status;
  recovery_.seconds = static_cast<double>(kvdyno::NowNs() - begin) * 1e-9;
  maintenance_->SurveyDebt();
  LogRecovery();
  state_.gate.Open();
  if (options.read_only) return Status::Ok();
  maintenance_->Start(!recovery_.clean);
  return Status::Ok();
}

void StoreImpl::LogRecovery() const {
  std::string found;
  static_cast<void>(GetProperty("recovery", &found));
  const LogLevel level = recovery_.dropped_bytes > 0 ? LogLevel::kWarning : LogLevel::kInfo;
  state_.Log(level, "opened; " + found);
}

Status StoreImpl::OpenManifest() {
  const Options& options = state_.options;
  kvdyno::FileSystem* files = state_.files;
  const std::string& directory = state_.directory;
  if (options.create_if_missing && !options.read_only) {
    if (const Status status = files->CreateDirectory(directory); !status.ok()) return status;
  }
  // A writer removes and reuses files that a read-only opener would miss.
  const Status locked =
      options.read_only ? files->LockShared(directory, &lock_) : files->Lock(directory, &lock_);
  // To a caller, a file that cannot be created is no missing key.
  if (locked.not_found()) return Status::IoError(locked.message());
  if (!locked.ok()) return locked;
  Status opened = Manifest::Open(files, directory, options.read_only, &state_.manifest);
  if (opened.ok() && options.error_if_exists) {
    return Status::InvalidArgument("open " + directory +
                                   ": expected no store (error_if_exists), found one");
  }
  if (!opened.not_found()) return opened;
  if (options.read_only || !options.create_if_missing) {
    return Status::InvalidArgument(
        "open " + directory + ": expected a store, found none; " +
        (options.read_only ? "a read-only open creates nothing" : "create_if_missing is off"));
  }
  // The directory's own entry must survive, or all that is put into it does not.
  if (const Status status = kvdyno::SyncParent(files, directory); !status.ok()) return status;
  return Manifest::Create(files, directory, &state_.manifest);
}

// A help only: without it, or with a damaged one, logs are read for their indexes.
void StoreImpl::OpenWarmth() {
  const ManifestState& manifest = state_.manifest->state();
  const uint64_t fitting = manifest.clean ? manifest.warmth : 0;
  if (fitting > 0) {
    const std::string path = state_.directory + "/" + WarmthName(fitting);
    static_cast<void>(Warmth::Open(state_.files, path, &warmth_));
  }
  if (!state_.options.read_only) RemoveWarmth(state_.files, state_.directory, fitting);
}

void StoreImpl::BuildChunks() {
  std::vector<Chunk*> chunks;
  const auto& records = state_.manifest->state().chunks;
  chunks.reserve(records.size());
  for (auto at = records.begin(); at != records.end(); ++at) {
    const ChunkRecord& record = at->second;
    const auto next = std::next(at);
    auto funk = std::make_unique<Funk>();
    if (!record.table.empty()) {
      funk->table = std::make_shared<SortedRun>(state_.segments.get(), record.table, nullptr);
    }
    const ChunkWarmth* known = warmth_ == nullptr ? nullptr : warmth_->Find(record.id);
    SavedIndex saved;
    if (known != nullptr && known->length > 0 && known->runs == record.log.size()) {
      saved = {warmth_, known};
    }
    funk->log = std::make_shared<Log>(&state_.log_policy, state_.segments.get(), record.log,
                                      std::move(saved));
    chunks.push_back(new Chunk(record.id, record.min_key,
                               next == records.end() ? std::string() : next->first,
                               std::move(funk)));
    if (known != nullptr) {
      chunks.back()->heat.reads = known->reads;
      chunks.back()->heat.scans = known->scans;
    }
  }
  state_.next_chunk_id = state_.manifest->state().next_chunk_id;
  state_.chunks.store(new ChunkMap(std::move(chunks)));
}

// Unflushed stages come back sealed and are searched like any other; their records are made durable
// before anything new is acknowledged, for what is durable must be a prefix of all writes.
Status StoreImpl::RecoverRing() {
  const Options& options = state_.options;
  const ManifestState& manifest = state_.manifest->state();
  RingOptions ring_options;
  ring_options.files = state_.files;
  ring_options.directory = state_.directory;
  ring_options.stage_size = options.stage_size;
  ring_options.in_memory = options.durability == Durability::kNone;
  ring_options.read_only = options.read_only;
  RingRecovery ring;
  if (const Status status = Ring::Open(ring_options, manifest.flushed_sequence, manifest.epochs,
                                       false, &ring, &state_.ring);
      !status.ok()) {
    return status;
  }
  recovery_.recovered_records = ring.records;
  recovery_.recovered_bytes = ring.bytes;
  recovery_.dropped_bytes = ring.dropped_bytes;
  recovery_.dropped_reason = ring.dropped_reason;

  if (const Status status =
          ring.Follows(manifest.flushed_version, manifest.begun_sequence(), state_.directory);
      !status.ok()) {
    return status;
  }
  auto list = std::make_unique<StageList>();
  list->stages.assign(ring.stages.rbegin(), ring.stages.rend());
  delete state_.stages.exchange(list.release());
  state_.next_sequence = std::max(ring.sequence, manifest.flushed_sequence) + 1;
  maintenance_ = std::make_unique<Maintenance>(&state_, &writer_);
  if (options.read_only) {
    state_.clock.store(std::max(manifest.flushed_version, ring.last));
    return Status::Ok();
  }
  for (const auto& stage : ring.stages) {
    if (const Status status = stage->Sync(); !status.ok()) return status;
  }
  return BeginEpoch(ring);
}

namespace {

// Which versions of the epochs that have ended are valid, after a recovery that found writes up to
// `last`. What the ring's files hold beyond that is gone for good, even if a later recovery could
// read it.
std::vector<EpochEnd> EndedEpochs(const ManifestState& manifest, Version last) {
  std::vector<EpochEnd> ended;
  for (const EpochEnd& end : manifest.epochs) {
    if (end.epoch < EpochOf(last)) ended.push_back(end);
    if (end.epoch > EpochOf(last)) ended.push_back({end.epoch, 0});
  }
  if (EpochOf(last) > 0) ended.push_back({EpochOf(last), last});  // else nothing was ever written
  if (manifest.epoch != EpochOf(last)) ended.push_back({manifest.epoch, 0});
  std::sort(ended.begin(), ended.end(),
            [](const EpochEnd& a, const EpochEnd& b) { return a.epoch < b.epoch; });
  return ended;
}

}  // namespace

Status StoreImpl::BeginEpoch(const RingRecovery& ring) {
  const ManifestState& manifest = state_.manifest->state();
  const Version last = std::max(manifest.flushed_version, ring.last);
  Edit edit;
  edit.has_clean = true;
  edit.clean = false;
  uint64_t epoch = std::max<uint64_t>(manifest.epoch, 1);
  if (!manifest.clean || !ring.stages.empty() || manifest.epoch == 0) {
    epoch = manifest.epoch + 1;
    if (epoch > kMaxEpoch) {
      return Status::ReadOnly("open " + state_.directory + ": expected at most " +
                              std::to_string(kMaxEpoch) +
                              " openings after an unclean end, got one more; a read-only open "
                              "works, and Repair restarts the count");
    }
    edit.has_epoch = true;
    edit.epoch = epoch;
    if (manifest.epoch > 0) edit.epochs = EndedEpochs(manifest, last);
  }
  // From here on files of stages that hold nothing may be used for others.
  edit.has_ring = true;
  edit.ring_sequence = ring.stages.empty() ? 0 : ring.stages.back()->sequence();
  if (const Status status = state_.manifest->Apply(edit, true); !status.ok()) return status;
  if (const Status status = state_.ring->PrepareFree(); !status.ok()) return status;
  state_.clock.store(MakeVersion(epoch, NumberOf(last)));

  // A stage for new writes; when a series of crashes has left none free, the oldest is flushed now.
  for (;;) {
    std::shared_ptr<Stage> active;
    Status status = state_.ring->Acquire(state_.next_sequence, state_.clock.load() + 1, &active);
    if (status.ok()) {
      ++state_.next_sequence;
      auto list = std::make_unique<StageList>(*state_.stages.load());
      list->stages.insert(list->stages.begin(), active);
      state_.active = std::move(active);
      PublishStages(&state_, list.release());
      if (state_.ring->newest_sequence() == 0) return Status::Ok();
      Edit begun;
      begun.has_ring = true;
      begun.ring_sequence = state_.ring->newest_sequence();
      return state_.manifest->Apply(begun, true);
    }
    if (status.code() != Code::kBusy) return status;
    if (const Status flushed = maintenance_->FlushOldest(); !flushed.ok()) return flushed;
  }
}

Status StoreImpl::Close(const CloseOptions& options) {
  if (!state_.gate.Close()) return Status::Ok();
  state_.room.NotifyAll();
  state_.gate.WaitForCalls();
  state_.slots.WaitForReaders();  // gets
  Status status;
  if (!state_.options.read_only) {
    maintenance_->Stop();
    status = state_.fatal();
    if (status.ok()) {
      status = options.reorganise ? maintenance_->FlushAll() : maintenance_->FlushStages();
    }
    // While the directory is locked, and before it counts as clean: an open store punches no gaps
    // that a clean one left.
    state_.slots.Reclaim();
    state_.segments->WaitForSpace();
    if (status.ok()) {
      Edit edit;
      edit.has_clean = true;
      edit.clean = true;
      const kvdyno::MutexLock one(state_.maintenance_mutex);
      edit.warmth = maintenance_->SaveWarmth();
      status = state_.manifest->Apply(edit, true);
      if (status.ok()) RemoveWarmth(state_.files, state_.directory, edit.warmth);
    }
  }
  lock_.reset();
  state_.Log(status.ok() ? LogLevel::kInfo : LogLevel::kError,
             status.ok() ? "closed" : "close: " + status.ToString());
  return status;
}

}  // namespace chunkstore
