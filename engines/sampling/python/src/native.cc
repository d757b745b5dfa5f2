// kvdyno_sampling._native: the index's interface for Python, over arrays. The package's modules check
// types and shapes. Calls work without the interpreter's lock; writers take turns.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <sampling/index.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using sampling::Record;
using sampling::Status;
using Unlocked = nb::gil_scoped_release;
template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;
using Flags = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;

static_assert(sizeof(Record) == 24, "the package's dtype RECORD has this layout");

// RuntimeError: a defect of the index. OSError: no room, or trouble with files. Else the caller's input is wrong.
[[noreturn]] void Throw(const Status& status, const std::string& place = "") {
  const std::string text = place + status.ToString();
  switch (status.code()) {
    case kvdyno::Code::kInternal:
      throw std::runtime_error(text);
    case kvdyno::Code::kBusy:
    case kvdyno::Code::kCorruption:
    case kvdyno::Code::kIoError:
    case kvdyno::Code::kNoSpace:
      PyErr_SetString(PyExc_OSError, text.c_str());
      throw nb::python_error();
    default:
      throw nb::value_error(text.c_str());
  }
}

void Check(const Status& status) {
  if (!status.ok()) Throw(status);
}

const sampling::Kind* KindOf(std::string_view name) {
  for (const sampling::Kind* kind :
       {&sampling::kWeightedSet, &sampling::kUniformRange, &sampling::kWeightedRange}) {
    if (kind->name == name) return kind;
  }
  throw nb::value_error("kind: no such structure");
}

// Hands the vector's memory to numpy.
template <typename Array, typename Element, typename T>
Array Give(std::vector<T> items) {
  auto owned = std::make_unique<std::vector<T>>(std::move(items));
  auto* data = reinterpret_cast<Element*>(owned->data());
  const size_t size = owned->size() * sizeof(T) / sizeof(Element);
  nb::capsule owner(owned.get(),
                    [](void* held) noexcept { delete static_cast<std::vector<T>*>(held); });
  owned.release();
  return Array(data, {size}, owner);
}

class Index {
 public:
  Index(const std::string& kind, bool tiering, bool tombstones, size_t scale_factor,
        size_t buffer_records, double max_deleted, double filter_false_positives, bool background,
        const std::string& directory, size_t memory_bytes, size_t memory_levels) {
    sampling::Options options;
    options.kind = KindOf(kind);
    options.layout = tiering ? sampling::Layout::kTiering : sampling::Layout::kLeveling;
    options.deletes = tombstones ? sampling::Deletes::kTombstones : sampling::Deletes::kTagging;
    options.scale_factor = scale_factor;
    options.buffer_records = buffer_records;
    options.max_deleted = max_deleted;
    options.filter_false_positives = filter_false_positives;
    options.background = background;
    options.directory = directory;
    options.memory_bytes = memory_bytes;
    options.memory_levels = memory_levels;
    const Status status = sampling::Index::Open(options, &index_);
    // What an opening does not find is the directory's parent.
    Check(status.not_found() ? Status::IoError(status.message()) : status);
  }

  // All weights are checked before the first record is inserted.
  void Insert(const Column<uint64_t>& keys, const Column<uint64_t>& values,
              const Column<double>& weights) {
    Status status;
    size_t row = 0;
    {
      const Unlocked unlocked;
      const std::lock_guard lock(writing_);
      const auto at = [&](size_t i) { return Record{keys(i), values(i), weights(i)}; };
      for (; status.ok() && row < keys.size(); ++row) status = sampling::CheckRecord(at(row));
      if (status.ok()) {
        for (row = 0; status.ok() && row < keys.size(); ++row) status = index_->Insert(at(row));
      }
    }
    if (!status.ok()) Throw(status, "row " + std::to_string(row - 1) + ": ");
  }

  Flags Delete(const Column<uint64_t>& keys, const Column<uint64_t>& values) {
    std::vector<uint8_t> existed(keys.size());
    Status failure;
    {
      const Unlocked unlocked;
      const std::lock_guard lock(writing_);
      for (size_t i = 0; failure.ok() && i < keys.size(); ++i) {
        const Status status = index_->Delete(keys(i), values(i));
        existed[i] = status.ok() ? 1 : 0;
        if (!status.ok() && !status.not_found()) failure = status;
      }
    }
    Check(failure);
    return Give<Flags, bool>(std::move(existed));
  }

  Bytes Sample(size_t k, uint64_t seed, uint64_t first, uint64_t last) {
    std::vector<Record> samples;
    Status status;
    {
      const Unlocked unlocked;
      sampling::Random random(seed);
      status =
          index_->Sample({.first = first, .last = last, .predicate = {}}, k, &random, &samples);
    }
    Check(status);
    return Give<Bytes, uint8_t>(std::move(samples));
  }

  Bytes Live(uint64_t first, uint64_t last) const {
    std::vector<Record> records;
    Status status;
    {
      const Unlocked unlocked;
      status = index_->Live({.first = first, .last = last, .predicate = {}}, &records);
    }
    Check(status);
    return Give<Bytes, uint8_t>(std::move(records));
  }

  void Settle() {
    const Unlocked unlocked;
    const std::lock_guard lock(writing_);
    index_->Settle();
  }

  void Verify() {
    Status status;
    {
      const Unlocked unlocked;
      status = index_->Verify();
    }
    Check(status);
  }

  nb::dict Statistics() const {
    const sampling::Statistics found = index_->statistics();
    nb::dict statistics;
    const std::array<std::pair<const char*, uint64_t>, 14> all = {{
        {"records", found.records},
        {"bytes", found.bytes},
        {"draws", found.draws},
        {"accepted", found.accepted},
        {"buffered", found.buffered},
        {"levels", found.levels},
        {"shards", found.shards},
        {"deleted", found.deleted},
        {"written", found.written},
        {"materialised", found.materialised},
        {"disk_bytes", found.disk_bytes},
        {"pages_read", found.pages_read},
        {"page_hits", found.page_hits},
        {"pages_written", found.pages_written},
    }};
    for (const auto& [name, value] : all) statistics[name] = value;
    return statistics;
  }

 private:
  std::unique_ptr<sampling::Index> index_;
  std::mutex writing_;  // the index takes one writer at a time
};

}  // namespace

NB_MODULE(_native, module) {
  const sampling::Options defaults;
  nb::class_<Index>(module, "Index")
      .def(nb::init<const std::string&, bool, bool, size_t, size_t, double, double, bool,
                    const std::string&, size_t, size_t>(),
           "kind"_a, "tiering"_a, "tombstones"_a, "scale_factor"_a = defaults.scale_factor,
           "buffer_records"_a = defaults.buffer_records, "max_deleted"_a = defaults.max_deleted,
           "filter_false_positives"_a = defaults.filter_false_positives,
           "background"_a = defaults.background, "directory"_a = defaults.directory,
           "memory_bytes"_a = defaults.memory_bytes, "memory_levels"_a = defaults.memory_levels)
      .def("insert", &Index::Insert, "keys"_a, "values"_a, "weights"_a)
      .def("delete", &Index::Delete, "keys"_a, "values"_a)
      .def("sample", &Index::Sample, "k"_a, "seed"_a, "first"_a, "last"_a)
      .def("live", &Index::Live, "first"_a, "last"_a)
      .def("settle", &Index::Settle)
      .def("verify", &Index::Verify)
      .def("statistics", &Index::Statistics);
}
