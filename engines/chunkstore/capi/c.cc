// The C interface: each call converts its arguments and passes them to store.h. Owns the handles
// and the memory that it hands out (malloc, so that chunkstore_free needs no size). Threads: as in
// c.h.
#include "chunkstore/c.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "chunkstore/option_text.h"
#include "chunkstore/shared_budget.h"
#include "chunkstore/store.h"

using chunkstore::Status;

namespace {

class FunctionLogger final : public chunkstore::Logger {
 public:
  FunctionLogger(chunkstore_log_function log, void* context) : log_(log), context_(context) {}
  void Log(chunkstore::LogLevel level, std::string_view line) override {
    log_(context_, static_cast<int>(level), std::string(line).c_str());
  }

 private:
  chunkstore_log_function log_;
  void* context_;
};

}  // namespace

struct chunkstore_options {
  chunkstore::Options options;
  std::shared_ptr<FunctionLogger> logger;
};
struct chunkstore_budget {
  std::shared_ptr<chunkstore::SharedBudget> budget;
};
struct chunkstore_store {
  std::shared_ptr<FunctionLogger> logger;  // of the options, which may be gone
  std::unique_ptr<chunkstore::Store> store;
};
struct chunkstore_batch {
  chunkstore::WriteBatch batch;
};
struct chunkstore_snapshot {
  std::unique_ptr<chunkstore::Snapshot> snapshot;
};
struct chunkstore_iterator {
  std::unique_ptr<chunkstore::Iterator> iterator;
};

namespace {

static_assert(static_cast<int>(kvdyno::Code::kNotFound) == CHUNKSTORE_NOT_FOUND);
static_assert(static_cast<int>(kvdyno::Code::kInvalidArgument) == CHUNKSTORE_INVALID_ARGUMENT);
static_assert(static_cast<int>(kvdyno::Code::kUnsupported) == CHUNKSTORE_UNSUPPORTED);
static_assert(static_cast<int>(kvdyno::Code::kIoError) == CHUNKSTORE_IO_ERROR);
static_assert(static_cast<int>(kvdyno::Code::kNoSpace) == CHUNKSTORE_NO_SPACE);
static_assert(static_cast<int>(kvdyno::Code::kReadOnly) == CHUNKSTORE_READ_ONLY);
static_assert(static_cast<int>(kvdyno::Code::kCorruption) == CHUNKSTORE_CORRUPTION);
static_assert(static_cast<int>(kvdyno::Code::kBusy) == CHUNKSTORE_BUSY);
static_assert(static_cast<int>(kvdyno::Code::kInternal) == CHUNKSTORE_INTERNAL);
static_assert(static_cast<int>(chunkstore::Durability::kSync) == CHUNKSTORE_SYNC - CHUNKSTORE_NONE);

// A copy with a zero behind it, which is never null.
char* Copy(std::string_view bytes) {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) std::abort();
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

chunkstore_code Return(const Status& status, char** error) {
  if (error != nullptr) {
    *error = status.ok() || status.not_found() ? nullptr : Copy(status.ToString());
  }
  return static_cast<chunkstore_code>(status.code());
}

std::string_view View(const char* data, size_t size) {
  return data == nullptr ? std::string_view() : std::string_view(data, size);
}
std::string_view View(chunkstore_bytes bytes) { return View(bytes.data, bytes.size); }
chunkstore_bytes Bytes(std::string_view view) { return {view.data(), view.size()}; }

const chunkstore::Snapshot* SnapshotOf(const chunkstore_snapshot* snapshot) {
  return snapshot == nullptr ? nullptr : snapshot->snapshot.get();
}

chunkstore::ReadOptions ReadOptionsOf(const chunkstore_read_options* options) {
  if (options == nullptr) return {};
  return {.snapshot = SnapshotOf(options->snapshot),
          .fill_cache = options->keep_out_of_caches == 0};
}

chunkstore::WriteOptions WriteOptionsOf(chunkstore_durability durability) {
  if (durability == CHUNKSTORE_AS_OPENED) return {};
  return {static_cast<chunkstore::Durability>(durability - CHUNKSTORE_NONE)};
}

chunkstore::Options OptionsOf(const chunkstore_options* options) {
  return options == nullptr ? chunkstore::Options{} : options->options;
}

std::string Lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  return text;
}

}  // namespace

void chunkstore_free(void* memory) { std::free(memory); }

const char* chunkstore_code_name(chunkstore_code code) {
  return kvdyno::CodeName(static_cast<kvdyno::Code>(code)).data();
}

const char* chunkstore_version(void) { return chunkstore::LibraryVersion().data(); }

// --- options

chunkstore_options* chunkstore_options_new(void) { return new chunkstore_options; }

void chunkstore_options_free(chunkstore_options* options) { delete options; }

chunkstore_code chunkstore_options_set(chunkstore_options* options, const char* name,
                                       const char* value, char** error) {
  return Return(chunkstore::SetOption(name, value, &options->options), error);
}

char* chunkstore_options_get(const chunkstore_options* options, const char* name) {
  std::string text;
  return chunkstore::GetOption(name, options->options, &text) ? Copy(text) : nullptr;
}

void chunkstore_options_set_log(chunkstore_options* options, chunkstore_log_function log,
                                void* context) {
  options->logger = log == nullptr ? nullptr : std::make_shared<FunctionLogger>(log, context);
  options->options.logger = options->logger.get();
}

chunkstore_budget* chunkstore_budget_new(uint64_t bytes) {
  return new chunkstore_budget{std::make_shared<chunkstore::SharedBudget>(bytes)};
}

void chunkstore_budget_free(chunkstore_budget* budget) { delete budget; }

void chunkstore_options_set_budget(chunkstore_options* options, const chunkstore_budget* budget) {
  options->options.shared_budget = budget == nullptr ? nullptr : budget->budget;
}

// --- a store's life

chunkstore_code chunkstore_open(const chunkstore_options* options, const char* directory,
                                chunkstore_store** store, char** error) {
  auto handle = std::make_unique<chunkstore_store>();
  if (options != nullptr) handle->logger = options->logger;
  const Status opened = chunkstore::Store::Open(OptionsOf(options), directory, &handle->store);
  if (opened.ok()) *store = handle.release();
  return Return(opened, error);
}

chunkstore_code chunkstore_close(chunkstore_store* store, char** error) {
  const std::unique_ptr<chunkstore_store> handle(store);
  return Return(handle == nullptr ? Status::Ok() : handle->store->Close(), error);
}

chunkstore_code chunkstore_close_soon(chunkstore_store* store, char** error) {
  const std::unique_ptr<chunkstore_store> handle(store);
  const chunkstore::CloseOptions soon{.reorganise = false};
  return Return(handle == nullptr ? Status::Ok() : handle->store->Close(soon), error);
}

chunkstore_code chunkstore_repair(const chunkstore_options* options, const char* directory,
                                  char** report, char** error) {
  chunkstore::CheckReport found;
  const Status repaired = chunkstore::Store::Repair(OptionsOf(options), directory, &found);
  if (repaired.ok() && report != nullptr) *report = Copy(Lines(found.problems));
  return Return(repaired, error);
}

chunkstore_code chunkstore_destroy(const chunkstore_options* options, const char* directory,
                                   char** error) {
  return Return(chunkstore::Store::Destroy(OptionsOf(options), directory), error);
}

// --- writes

chunkstore_code chunkstore_put(chunkstore_store* store, chunkstore_durability durability,
                               const char* key, size_t key_size, const char* value,
                               size_t value_size, char** error) {
  return Return(
      store->store->Put(WriteOptionsOf(durability), View(key, key_size), View(value, value_size)),
      error);
}

chunkstore_code chunkstore_delete(chunkstore_store* store, chunkstore_durability durability,
                                  const char* key, size_t key_size, char** error) {
  return Return(store->store->Delete(WriteOptionsOf(durability), View(key, key_size)), error);
}

chunkstore_batch* chunkstore_batch_new(void) { return new chunkstore_batch; }

void chunkstore_batch_free(chunkstore_batch* batch) { delete batch; }

void chunkstore_batch_put(chunkstore_batch* batch, const char* key, size_t key_size,
                          const char* value, size_t value_size) {
  batch->batch.Put(View(key, key_size), View(value, value_size));
}

void chunkstore_batch_delete(chunkstore_batch* batch, const char* key, size_t key_size) {
  batch->batch.Delete(View(key, key_size));
}

void chunkstore_batch_clear(chunkstore_batch* batch) { batch->batch.Clear(); }

size_t chunkstore_batch_count(const chunkstore_batch* batch) { return batch->batch.count(); }

chunkstore_code chunkstore_write(chunkstore_store* store, chunkstore_durability durability,
                                 const chunkstore_batch* batch, char** error) {
  return Return(store->store->Write(WriteOptionsOf(durability), batch->batch), error);
}

// --- reads

chunkstore_code chunkstore_get(chunkstore_store* store, const chunkstore_read_options* options,
                               const char* key, size_t key_size, char** value, size_t* value_size,
                               char** error) {
  std::string found;
  const Status got = store->store->Get(ReadOptionsOf(options), View(key, key_size), &found);
  if (got.ok()) {
    *value = Copy(found);
    *value_size = found.size();
  }
  return Return(got, error);
}

chunkstore_code chunkstore_multi_get(chunkstore_store* store,
                                     const chunkstore_read_options* options, size_t count,
                                     const chunkstore_bytes* keys, chunkstore_code* codes,
                                     char** values, size_t* value_sizes, char** error) {
  std::vector<std::string_view> views;
  views.reserve(count);
  for (size_t i = 0; i < count; i++) views.push_back(View(keys[i]));
  std::vector<std::string> found;
  std::vector<Status> statuses;
  store->store->MultiGet(ReadOptionsOf(options), views, &found, &statuses);
  Status failed;
  for (size_t i = 0; i < count; i++) {
    const Status& status = statuses[i];
    codes[i] = static_cast<chunkstore_code>(status.code());
    values[i] = status.ok() ? Copy(found[i]) : nullptr;
    value_sizes[i] = status.ok() ? found[i].size() : 0;
    if (failed.ok() && !status.ok() && !status.not_found()) failed = status;
  }
  return Return(failed, error);
}

chunkstore_code chunkstore_scan(chunkstore_store* store, const chunkstore_scan_options* options,
                                chunkstore_row_function row, void* context, char** error) {
  chunkstore::ScanOptions scan;
  if (options != nullptr) {
    scan = {.start = View(options->start),
            .end = View(options->end),
            .limit = options->limit,
            .reverse = options->reverse != 0,
            .snapshot = SnapshotOf(options->snapshot),
            .fill_cache = options->keep_out_of_caches == 0};
  }
  return Return(store->store->Scan(scan,
                                   [row, context](std::string_view key, std::string_view value) {
                                     return row(context, Bytes(key), Bytes(value)) != 0;
                                   }),
                error);
}

chunkstore_iterator* chunkstore_iterator_new(chunkstore_store* store,
                                             const chunkstore_read_options* options) {
  return new chunkstore_iterator{store->store->NewIterator(ReadOptionsOf(options))};
}

void chunkstore_iterator_free(chunkstore_iterator* iterator) { delete iterator; }

int chunkstore_iterator_valid(const chunkstore_iterator* iterator) {
  return iterator->iterator->Valid() ? 1 : 0;
}

void chunkstore_iterator_seek_to_first(chunkstore_iterator* iterator) {
  iterator->iterator->SeekToFirst();
}

void chunkstore_iterator_seek_to_last(chunkstore_iterator* iterator) {
  iterator->iterator->SeekToLast();
}

void chunkstore_iterator_seek(chunkstore_iterator* iterator, const char* key, size_t key_size) {
  iterator->iterator->Seek(View(key, key_size));
}

void chunkstore_iterator_seek_for_prev(chunkstore_iterator* iterator, const char* key,
                                       size_t key_size) {
  iterator->iterator->SeekForPrev(View(key, key_size));
}

void chunkstore_iterator_next(chunkstore_iterator* iterator) { iterator->iterator->Next(); }

void chunkstore_iterator_prev(chunkstore_iterator* iterator) { iterator->iterator->Prev(); }

chunkstore_bytes chunkstore_iterator_key(const chunkstore_iterator* iterator) {
  return Bytes(iterator->iterator->key());
}

chunkstore_bytes chunkstore_iterator_value(const chunkstore_iterator* iterator) {
  return Bytes(iterator->iterator->value());
}

chunkstore_code chunkstore_iterator_status(const chunkstore_iterator* iterator, char** error) {
  return Return(iterator->iterator->status(), error);
}

chunkstore_snapshot* chunkstore_snapshot_new(chunkstore_store* store) {
  return new chunkstore_snapshot{store->store->GetSnapshot()};
}

void chunkstore_snapshot_free(chunkstore_snapshot* snapshot) { delete snapshot; }

uint64_t chunkstore_snapshot_version(const chunkstore_snapshot* snapshot) {
  return snapshot->snapshot->version();
}

// --- maintenance

chunkstore_code chunkstore_checkpoint(chunkstore_store* store, char** error) {
  return Return(store->store->Checkpoint(), error);
}

chunkstore_code chunkstore_flush(chunkstore_store* store, char** error) {
  return Return(store->store->Flush(), error);
}

chunkstore_code chunkstore_pay_debt(chunkstore_store* store, uint64_t log_bytes_max, char** error) {
  return Return(store->store->PayDebt(log_bytes_max), error);
}

chunkstore_code chunkstore_compact(chunkstore_store* store, char** error) {
  return Return(store->store->Compact(), error);
}

chunkstore_code chunkstore_backup(chunkstore_store* store, const char* directory, char** error) {
  return Return(store->store->Backup(directory), error);
}

chunkstore_code chunkstore_verify(chunkstore_store* store, uint64_t* problems, char** report,
                                  char** error) {
  chunkstore::CheckReport found;
  const Status verified = store->store->VerifyChecksums(&found);
  if (verified.ok()) {
    *problems = found.problems.size();
    if (report != nullptr) *report = Copy(Lines(found.problems));
  }
  return Return(verified, error);
}

// --- observation

char* chunkstore_property(const chunkstore_store* store, const char* name) {
  std::string value;
  return store->store->GetProperty(name, &value) ? Copy(value) : nullptr;
}

// One allocation: the array, and behind it the names and units with their zeros.
chunkstore_statistic* chunkstore_statistics(const chunkstore_store* store, size_t* count) {
  const std::vector<chunkstore::Statistic> found = store->store->GetStatistics();
  size_t bytes = found.size() * sizeof(chunkstore_statistic);
  for (const chunkstore::Statistic& each : found) bytes += each.name.size() + each.unit.size() + 2;
  char* memory = static_cast<char*>(std::malloc(bytes + 1));
  if (memory == nullptr) std::abort();
  auto* statistics = new (memory) chunkstore_statistic[found.size()];
  char* text = memory + found.size() * sizeof(chunkstore_statistic);
  const auto add = [&text](const std::string& word) {
    const char* copy = text;
    std::memcpy(text, word.c_str(), word.size() + 1);
    text += word.size() + 1;
    return copy;
  };
  for (size_t i = 0; i < found.size(); i++) {
    statistics[i] = {add(found[i].name), add(found[i].unit), found[i].value,
                     found[i].cumulative ? 1 : 0};
  }
  *count = found.size();
  return statistics;
}

chunkstore_recovery chunkstore_get_recovery(const chunkstore_store* store) {
  const chunkstore::RecoveryReport& found = store->store->recovery();
  return {found.clean ? 1 : 0, found.recovered_records, found.recovered_bytes, found.dropped_bytes,
          found.seconds};
}
