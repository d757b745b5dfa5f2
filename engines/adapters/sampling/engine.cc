// Opening samplers, and what they count. See the header for who may call what.
#include "engine.h"

#include "sampling/baselines.h"

namespace kvdyno::sampler {
namespace {

std::unique_ptr<sampling::Sampler> MakeBaseline(const std::string& name) {
  if (name == "static-alias") return sampling::MakeStaticAlias();
  if (name == "fenwick-tree") return sampling::MakeFenwickTree();
  if (name == "aggregate-tree") return sampling::MakeAggregateTree();
  return sampling::MakeReservoir();
}

}  // namespace

void Options::Describe(OptionTable* table) {
  table->Choice("sampler", &sampler,
                {"index", "static-alias", "fenwick-tree", "aggregate-tree", "reservoir"},
                {.effect = "The dynamic index, or a baseline, to which no other option applies."});
  table->Choice("structure", &structure, {"weighted-set", "uniform-range", "weighted-range"},
                {.effect = "What a shard holds: an alias table, the sorted records alone (weights "
                           "are ignored), or a tree of alias tables for ranges."});
  table->Choice("layout", &layout, {"leveling", "tiering"},
                {.effect = "One shard a level, or up to scale_factor: tiering merges less."});
  table->Choice("deletes", &deletes, {"tagging", "tombstones"},
                {.effect = "A delete marks its record, or inserts a tombstone, for which each "
                           "sample is checked."});
  table->Integer(
      "scale_factor", &scale_factor,
      {.effect = "How much larger a level is than the one above.", .min = 2, .max = 1000});
  table->Integer("buffer_records", &buffer_records,
                 {.effect = "Entries of the buffer. More: fewer and larger merges.",
                  .min = 1,
                  .max = 1 << 24});
  table->Real("max_deleted", &max_deleted,
              {.effect = "A level with more deleted entries than this share of its capacity is "
                         "compacted. Less: fewer rejections, more merging.",
               .min = 1e-6,
               .max = 0.999999});
  table->Real("filter_false_positives", &filter_false_positives,
              {.effect = "Rate of false positives of the filters over tombstones; 1: no filters. "
                         "Less: more memory, fewer searches per sample.",
               .min = 1e-9,
               .max = 1});
  table->Bool("background", &background,
              {.effect = "A thread of the index merges; the writer waits for it only when the next "
                         "buffer is full too."});
  table->Bool("search_deletes", &search_deletes,
              {.effect = "Deletes by tombstone search for their record first, as callers must that "
                         "do not know it to be live."});
  table->Choice(
      "storage", &storage, {"memory", "external"},
      {.effect = "Where shards lie: in memory, or from level memory_levels on in files in "
                 "data.dir, which the run removes when it ends."});
  table->Integer("memory_levels", &memory_levels,
                 {.effect = "External storage: levels that stay in memory. More: more of the cap, "
                            "fewer pages that queries and deletes read.",
                  .max = 20});
  table->Bytes("memory_bytes", &memory_bytes,
               {.effect = "External storage: the cap of all that the index holds in memory. What "
                          "buffers, levels in memory and merges leave is the cache of pages.",
                .min = 1,
                .scales = true});
}

sampling::Options Options::ForIndex(const std::string& directory) const {
  sampling::Options options;
  options.kind = structure == "uniform-range"    ? &sampling::kUniformRange
                 : structure == "weighted-range" ? &sampling::kWeightedRange
                                                 : &sampling::kWeightedSet;
  options.layout = layout == "leveling" ? sampling::Layout::kLeveling : sampling::Layout::kTiering;
  options.deletes =
      deletes == "tagging" ? sampling::Deletes::kTagging : sampling::Deletes::kTombstones;
  options.scale_factor = static_cast<size_t>(scale_factor);
  options.buffer_records = static_cast<size_t>(buffer_records);
  options.max_deleted = max_deleted;
  options.filter_false_positives = filter_false_positives;
  options.background = background;
  if (external()) options.directory = directory;
  options.memory_levels = static_cast<size_t>(memory_levels);
  options.memory_bytes = memory_bytes;
  return options;
}

std::string SamplingEngine::engine_version() const { return "1"; }

std::string SamplingEngine::summary() const {
  return "A weighted sampling index that changes (after Rumbaugh and Xie, SIGMOD 2023), and "
         "baselines; part of kvdyno.";
}

std::optional<Durability> SamplingEngine::durability(bool /*sync*/) const {
  return Durability{.note = settings_.external() ? "in files that the run removes"
                                                 : "held in memory alone"};
}

Status SamplingEngine::CheckThreads(int64_t threads, int64_t update_samplers, bool probes) const {
  if (settings_.sampler == "index") return Status::Ok();
  if (threads == 1 && update_samplers == 0 && !probes) return Status::Ok();
  return Status::InvalidArgument(
      "threadcount: expected 1, update.samplers 0 and no probe.interval for the baseline " +
      settings_.sampler + ", which serves one thread at a time; got " + std::to_string(threads) +
      ", " + std::to_string(update_samplers) + " and " + (probes ? "a probe" : "no probe"));
}

Status SamplingEngine::Open(const OpenContext& context) {
  if (settings_.sampler != "index") {
    sampler_ = MakeBaseline(settings_.sampler);
    return Status::Ok();
  }
  std::unique_ptr<sampling::Index> index;
  if (Status s = sampling::Index::Open(settings_.ForIndex(context.directory), &index); !s.ok())
    return s;
  index_ = index.get();
  sampler_ = std::move(index);
  return Status::Ok();
}

Status SamplingEngine::Settle(std::optional<uint64_t> /*debt_max*/) {
  if (index_ == nullptr) return Status::Unsupported(settings_.sampler + " has nothing to merge");
  index_->Settle();
  return Status::Ok();
}

Status SamplingEngine::Delete(const sampling::Record& record) {
  if (index_ == nullptr || settings_.search_deletes) {
    return sampler_->Delete(record.key, record.value);
  }
  return index_->DeleteUnchecked(record.key, record.value);
}

void SamplingEngine::Note() {
  if (index_ != nullptr) return;
  const std::lock_guard lock(mutex_);
  noted_ = sampler_->statistics();
}

void SamplingEngine::Sample(std::vector<Counter>* counters) {
  sampling::Statistics now;
  if (index_ != nullptr) {
    now = index_->statistics();
  } else {
    const std::lock_guard lock(mutex_);
    now = noted_;
  }
  const auto add = [&](const char* name, uint64_t value, const char* unit, bool cumulative) {
    counters->push_back({name, static_cast<double>(value), unit, cumulative});
  };
  add("records", now.records, "count", false);
  add("memory", now.bytes, "byte", false);
  add("draws", now.draws, "count", true);
  add("accepted", now.accepted, "count", true);
  if (index_ == nullptr) return;
  add("buffered", now.buffered, "count", false);
  add("levels", now.levels, "count", false);
  add("shards", now.shards, "count", false);
  add("deleted", now.deleted, "count", false);
  add("merged", now.written, "count", true);
  add("materialised", now.materialised, "count", true);
  add("disk", now.disk_bytes, "byte", false);
  add("pages_read", now.pages_read, "count", true);
  add("page_hits", now.page_hits, "count", true);
  add("pages_written", now.pages_written, "count", true);
}

Status SamplingEngine::Close() {
  index_ = nullptr;
  sampler_.reset();
  return Status::Ok();
}

}  // namespace kvdyno::sampler
