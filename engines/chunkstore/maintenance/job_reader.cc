#include "maintenance/job_reader.h"

#include <utility>

#include "hooks/seeded_bugs.h"
#include "maintenance/log_warmer.h"

namespace chunkstore {

namespace {

// Entries up to a version: what is flushed. A munk holds more than that, which must not reach a
// table before all writes that came earlier are on disk as well.
class UpTo final : public EntryCursor {
 public:
  UpTo(std::unique_ptr<EntryCursor> cursor, Version version)
      : cursor_(std::move(cursor)), version_(version) {}
  void Seek(std::string_view key) override {
    cursor_->Seek(key);
    Skip();
  }
  bool Valid() const override { return cursor_->Valid(); }
  void Next() override {
    cursor_->Next();
    Skip();
  }
  const Entry& entry() const override { return cursor_->entry(); }
  Status status() const override { return cursor_->status(); }

 private:
  void Skip() {
    while (cursor_->Valid() && cursor_->entry().version > version_) cursor_->Next();
  }
  std::unique_ptr<EntryCursor> cursor_;
  Version version_;
};

// One after the other.
class Chain final : public EntryCursor {
 public:
  explicit Chain(std::vector<std::unique_ptr<EntryCursor>> cursors)
      : cursors_(std::move(cursors)) {}
  void Seek(std::string_view key) override {
    for (auto& cursor : cursors_) cursor->Seek(key);
    at_ = 0;
    Skip();
  }
  bool Valid() const override { return at_ < cursors_.size() && cursors_[at_]->Valid(); }
  void Next() override {
    cursors_[at_]->Next();
    Skip();
  }
  const Entry& entry() const override { return cursors_[at_]->entry(); }
  Status status() const override {
    for (const auto& cursor : cursors_) {
      if (!cursor->status().ok()) return cursor->status();
    }
    return Status::Ok();
  }

 private:
  void Skip() {
    while (at_ < cursors_.size() && !cursors_[at_]->Valid() && cursors_[at_]->status().ok()) ++at_;
  }
  std::vector<std::unique_ptr<EntryCursor>> cursors_;
  size_t at_ = 0;
};

}  // namespace

JobReader::JobReader(State* state, const Policy* policy, const std::vector<Job>* jobs, size_t first,
                     size_t end)
    : state_(*state),
      policy_(*policy),
      jobs_(*jobs),
      first_(first),
      end_(end),
      at_(first),
      table_reader_(state->options.background_threads > 0),
      log_reader_(state->options.background_threads > 0) {
  Fetch(first, &next_group_);
}

const Munk* JobReader::MunkOf(const Job& job) {
  return job.chunks.size() == 1 ? job.chunks[0]->ActiveMunk() : nullptr;
}

std::unique_ptr<EntryCursor> JobReader::Next() {
  if (at_ == group_.end) NextGroup();
  std::unique_ptr<EntryCursor> cursor = next_ != nullptr ? std::move(next_) : CursorOf(jobs_[at_]);
  if (++at_ < group_.end) next_ = CursorOf(jobs_[at_]);
  return cursor;
}

void JobReader::NextGroup() {
  log_reader_.Wait();
  std::swap(group_, next_group_);
  if (group_.end < end_) Fetch(group_.end, &next_group_);
}

// Two groups are held.
void JobReader::Fetch(size_t first, Group* group) {
  std::vector<Chunk*> chunks;
  uint64_t bytes = 0;
  size_t at = first;
  for (; at < end_ && (at == first || bytes < policy_.GroupBytes() / 2); ++at) {
    if (MunkOf(jobs_[at]) != nullptr) continue;
    for (Chunk* chunk : jobs_[at].chunks) {
      chunks.push_back(chunk);
      bytes += chunk->funk().log_bytes();
    }
  }
  group->end = at;
  log_reader_.Do(
      [this, runs = ShortRunsOf(chunks), group] { group->logs.Fetch(*state_.segments, runs); });
}

std::unique_ptr<EntryCursor> JobReader::CursorOf(const Job& job) {
  const Munk* munk = MunkOf(job);
  if (munk != nullptr) {
    const Version flushed = Seeded(Bug::kReorganiseWithoutCheckpoint)
                                ? kNewest
                                : state_.manifest->state().flushed_version;
    return std::make_unique<UpTo>(munk->NewCursor(), flushed);
  }
  const ReadContext context{state_.segments.get(), nullptr, false, state_.options.verify_checksums,
                            &group_.logs};
  ReadContext of_table = context;
  of_table.reader = &table_reader_;
  std::vector<std::unique_ptr<EntryCursor>> chain;
  for (const Chunk* chunk : job.chunks) {
    const Funk& funk = chunk->funk();
    std::vector<std::unique_ptr<EntryCursor>> sources;
    // All of each run is needed: whole runs are read, past the block cache.
    funk.log->AddRunCursors(context, funk.log_bytes(), &sources);
    if (funk.table != nullptr) {
      sources.push_back(funk.table->NewCursor(of_table, funk.table->extent().length));
    }
    chain.push_back(NewMergingCursor(std::move(sources)));
  }
  return std::make_unique<Chain>(std::move(chain));
}

}  // namespace chunkstore
