// chunkstore._native: the store's interface for Python, as it is; the package's modules make it
// pleasant. Every call that may wait or touch the disk releases the interpreter's lock. Handles keep
// the store that they belong to.
#include <chunkstore/option_text.h>
#include <chunkstore/shared_budget.h>
#include <chunkstore/store.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using chunkstore::Status;
using Unlocked = nb::gil_scoped_release;
using Texts = std::vector<std::pair<std::string, std::string>>;

// The classes of chunkstore.errors, in the order of kvdyno::Code.
constexpr std::array kErrors = {
    "Error",        "Error",         "InvalidArgumentError", "UnsupportedError", "DiskError",
    "NoSpaceError", "ReadOnlyError", "CorruptionError",      "BusyError",        "InternalError"};

void Check(const Status& status) {
  if (status.ok()) return;
  const nb::object errors = nb::module_::import_("chunkstore.errors");
  const nb::object error = errors.attr(kErrors.at(static_cast<size_t>(status.code())));
  PyErr_SetString(error.ptr(), status.ToString().c_str());
  throw nb::python_error();
}

std::string_view View(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
nb::bytes Bytes(std::string_view view) { return nb::bytes(view.data(), view.size()); }

// Closing waits for background work.
struct Closer {
  void operator()(chunkstore::Store* store) const {
    const Unlocked unlocked;
    delete store;
  }
};
using Store = std::shared_ptr<chunkstore::Store>;

struct Snapshot {
  Store store;
  std::unique_ptr<chunkstore::Snapshot> moment;
};
const chunkstore::Snapshot* MomentOf(const Snapshot* snapshot) {
  if (snapshot == nullptr) return nullptr;
  if (snapshot->moment == nullptr) Check(Status::InvalidArgument("the snapshot is released"));
  return snapshot->moment.get();
}

chunkstore::Options OptionsOf(const Texts& texts) {
  chunkstore::Options options;
  for (const auto& [name, text] : texts) Check(chunkstore::SetOption(name, text, &options));
  return options;
}

Store Open(const std::string& directory, const Texts& texts,
           const std::shared_ptr<chunkstore::SharedBudget>& budget) {
  chunkstore::Options options = OptionsOf(texts);
  options.shared_budget = budget;
  std::unique_ptr<chunkstore::Store> store;
  Status opened;
  {
    const Unlocked unlocked;
    opened = chunkstore::Store::Open(options, directory, &store);
  }
  Check(opened);
  return {store.release(), Closer()};
}

// Runs a call that returns a Status without the interpreter's lock.
template <typename Call>
void Run(const Call& call) {
  Status status;
  {
    const Unlocked unlocked;
    status = call();
  }
  Check(status);
}

chunkstore::WriteOptions Promise(std::optional<int> durability) {
  if (!durability) return {};
  return {static_cast<chunkstore::Durability>(*durability)};
}

nb::object Get(chunkstore::Store& store, const nb::bytes& key, const Snapshot* snapshot,
               bool fill_cache) {
  const chunkstore::ReadOptions options{MomentOf(snapshot), fill_cache};
  std::string value;
  Status status;
  {
    const Unlocked unlocked;
    status = store.Get(options, View(key), &value);
  }
  if (status.not_found()) return nb::none();
  Check(status);
  return Bytes(value);
}

nb::list MultiGet(chunkstore::Store& store, const std::vector<nb::bytes>& keys,
                  const Snapshot* snapshot, bool fill_cache) {
  std::vector<std::string_view> views;
  views.reserve(keys.size());
  for (const nb::bytes& key : keys) views.push_back(View(key));
  std::vector<std::string> values;
  std::vector<Status> statuses;
  const chunkstore::ReadOptions options{MomentOf(snapshot), fill_cache};
  {
    const Unlocked unlocked;
    store.MultiGet(options, views, &values, &statuses);
  }
  nb::list found;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!statuses[i].not_found()) Check(statuses[i]);
    found.append(statuses[i].ok() ? nb::object(Bytes(values[i])) : nb::none());
  }
  return found;
}

// Rows of a range, some at a time. One thread at a time.
class Cursor {
 public:
  Cursor(Store store, const Snapshot* snapshot, const std::optional<nb::bytes>& start,
         const std::optional<nb::bytes>& end, bool reverse, bool fill_cache)
      : store_(std::move(store)), reverse_(reverse) {
    if (start) start_ = std::string(View(*start));
    if (end) end_ = std::string(View(*end));
    const chunkstore::ReadOptions options{MomentOf(snapshot), fill_cache};
    const Unlocked unlocked;
    iterator_ = store_->NewIterator(options);
  }

  // At most so many rows, and no more than about a MiB; none at the end.
  nb::list NextRows(size_t most) {
    std::vector<std::pair<std::string, std::string>> rows;
    {
      const Unlocked unlocked;
      Collect(most, &rows);
    }
    Check(iterator_->status());
    nb::list found;
    for (const auto& [key, value] : rows) found.append(nb::make_tuple(Bytes(key), Bytes(value)));
    return found;
  }

 private:
  void Collect(size_t most, std::vector<std::pair<std::string, std::string>>* rows) {
    constexpr size_t kBytes = size_t{1} << 20;
    if (!std::exchange(begun_, true)) Begin();
    for (size_t bytes = 0; rows->size() < most && bytes < kBytes && Inside(); Step()) {
      rows->emplace_back(iterator_->key(), iterator_->value());
      bytes += rows->back().first.size() + rows->back().second.size();
    }
  }
  void Begin() {
    if (!reverse_) {
      start_ ? iterator_->Seek(*start_) : iterator_->SeekToFirst();
    } else if (!end_) {
      iterator_->SeekToLast();
    } else {
      iterator_->SeekForPrev(*end_);
      if (iterator_->Valid() && iterator_->key() == *end_) iterator_->Prev();
    }
  }
  bool Inside() const {
    if (!iterator_->Valid()) return false;
    return reverse_ ? !start_ || iterator_->key() >= *start_ : !end_ || iterator_->key() < *end_;
  }
  void Step() { reverse_ ? iterator_->Prev() : iterator_->Next(); }

  Store store_;
  std::unique_ptr<chunkstore::Iterator> iterator_;
  std::optional<std::string> start_, end_;
  bool reverse_;
  bool begun_ = false;
};

nb::dict Report(const chunkstore::CheckReport& found) {
  nb::dict report;
  report["files"] = found.files;
  report["blocks"] = found.blocks;
  report["entries"] = found.entries;
  nb::list problems;
  for (const std::string& problem : found.problems) problems.append(problem);
  report["problems"] = problems;
  return report;
}

nb::dict Verify(chunkstore::Store& store) {
  chunkstore::CheckReport found;
  Run([&] { return store.VerifyChecksums(&found); });
  return Report(found);
}

nb::dict Repair(const std::string& directory, const Texts& texts) {
  const chunkstore::Options options = OptionsOf(texts);
  chunkstore::CheckReport found;
  Run([&] { return chunkstore::Store::Repair(options, directory, &found); });
  return Report(found);
}

nb::dict Statistics(chunkstore::Store& store) {
  std::vector<chunkstore::Statistic> found;
  {
    const Unlocked unlocked;
    found = store.GetStatistics();
  }
  nb::dict statistics;
  for (const chunkstore::Statistic& each : found) {
    statistics[each.name.c_str()] = each.value;
  }
  return statistics;
}

nb::dict Recovery(chunkstore::Store& store) {
  const chunkstore::RecoveryReport& found = store.recovery();
  nb::dict recovery;
  recovery["clean"] = found.clean;
  recovery["recovered_records"] = found.recovered_records;
  recovery["recovered_bytes"] = found.recovered_bytes;
  recovery["dropped_bytes"] = found.dropped_bytes;
  recovery["dropped_reason"] = found.dropped_reason;
  recovery["seconds"] = found.seconds;
  return recovery;
}

void BindBatch(nb::module_& module) {
  nb::class_<chunkstore::WriteBatch>(module, "Batch")
      .def(nb::init<>())
      .def(
          "put",
          [](chunkstore::WriteBatch& batch, const nb::bytes& key, const nb::bytes& value) {
            batch.Put(View(key), View(value));
          },
          "key"_a, "value"_a)
      .def(
          "delete",
          [](chunkstore::WriteBatch& batch, const nb::bytes& key) { batch.Delete(View(key)); },
          "key"_a)
      .def("clear", &chunkstore::WriteBatch::Clear)
      .def("__len__", &chunkstore::WriteBatch::count);
}

void BindWrites(nb::class_<chunkstore::Store>* store) {
  store
      ->def(
          "put",
          [](chunkstore::Store& self, const nb::bytes& key, const nb::bytes& value,
             std::optional<int> durability) {
            Run([&] { return self.Put(Promise(durability), View(key), View(value)); });
          },
          "key"_a, "value"_a, "durability"_a.none())
      .def(
          "delete",
          [](chunkstore::Store& self, const nb::bytes& key, std::optional<int> durability) {
            Run([&] { return self.Delete(Promise(durability), View(key)); });
          },
          "key"_a, "durability"_a.none())
      .def(
          "write",
          [](chunkstore::Store& self, const chunkstore::WriteBatch& batch,
             std::optional<int> durability) {
            Run([&] { return self.Write(Promise(durability), batch); });
          },
          "batch"_a, "durability"_a.none());
}

void BindReads(nb::class_<chunkstore::Store>* store) {
  store->def("get", &Get, "key"_a, "snapshot"_a.none(), "fill_cache"_a)
      .def("multi_get", &MultiGet, "keys"_a, "snapshot"_a.none(), "fill_cache"_a)
      .def(
          "cursor",
          [](const Store& self, const Snapshot* snapshot, const std::optional<nb::bytes>& start,
             const std::optional<nb::bytes>& end, bool reverse, bool fill_cache) {
            return std::make_unique<Cursor>(self, snapshot, start, end, reverse, fill_cache);
          },
          "snapshot"_a.none(), "start"_a.none(), "end"_a.none(), "reverse"_a, "fill_cache"_a)
      .def("snapshot", [](const Store& self) {
        auto snapshot = std::make_unique<Snapshot>();
        snapshot->store = self;
        const Unlocked unlocked;
        snapshot->moment = self->GetSnapshot();
        return snapshot;
      });
}

void BindUpkeep(nb::class_<chunkstore::Store>* store) {
  store
      ->def(
          "close",
          [](chunkstore::Store& self, bool reorganise) {
            Run([&] { return self.Close({.reorganise = reorganise}); });
          },
          "reorganise"_a)
      .def("checkpoint", [](chunkstore::Store& self) { Run([&] { return self.Checkpoint(); }); })
      .def("flush", [](chunkstore::Store& self) { Run([&] { return self.Flush(); }); })
      .def(
          "pay_debt",
          [](chunkstore::Store& self, uint64_t log_bytes_max) {
            Run([&] { return self.PayDebt(log_bytes_max); });
          },
          "log_bytes_max"_a)
      .def("compact", [](chunkstore::Store& self) { Run([&] { return self.Compact(); }); })
      .def(
          "backup",
          [](chunkstore::Store& self, const std::string& directory) {
            Run([&] { return self.Backup(directory); });
          },
          "directory"_a)
      .def("verify", &Verify)
      .def("statistics", &Statistics)
      .def("recovery", &Recovery);
}

}  // namespace

NB_MODULE(_native, module) {
  nb::class_<chunkstore::SharedBudget>(module, "SharedBudget")
      .def(nb::init<uint64_t>(), "size"_a)
      .def_prop_ro("size", &chunkstore::SharedBudget::bytes)
      .def_prop_ro("granted", &chunkstore::SharedBudget::granted);
  BindBatch(module);
  nb::class_<Snapshot>(module, "Snapshot")
      .def("release", [](Snapshot& snapshot) { snapshot.moment.reset(); })
      .def_prop_ro("version",
                   [](const Snapshot& snapshot) { return MomentOf(&snapshot)->version(); });
  nb::class_<Cursor>(module, "Cursor").def("next_rows", &Cursor::NextRows, "most"_a);
  nb::class_<chunkstore::Store> store(module, "Store");
  BindWrites(&store);
  BindReads(&store);
  BindUpkeep(&store);
  module.def("open", &Open, "directory"_a, "options"_a, "budget"_a.none());
  module.def("repair", &Repair, "directory"_a, "options"_a);
  module.def(
      "destroy",
      [](const std::string& directory) {
        Run([&] { return chunkstore::Store::Destroy({}, directory); });
      },
      "directory"_a);
  module.def("version", [] { return std::string(chunkstore::LibraryVersion()); });
}
