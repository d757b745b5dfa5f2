// Building a Workload from the settings. Immutable afterwards; shared by all clients.
#include "load/workload.h"

#include <cmath>
#include <vector>

#include "measure/text_file.h"

namespace kvdyno {
namespace {

// The order of a load and the places of popular keys are both permutations; one seed for both
// would make the keys that are loaded first the popular ones.
uint64_t LoadOrderSeed(const Settings& settings) {
  return Mix(Mix(static_cast<uint64_t>(settings.seed)));
}

OperationProportions ProportionsOf(const Settings& settings) {
  return {settings.read_proportion,
          settings.update_proportion,
          settings.insert_proportion,
          settings.scan_proportion,
          settings.read_modify_write_proportion,
          settings.delete_proportion,
          settings.multi_read_proportion,
          settings.reverse_scan_proportion};
}

// The writes of a mix, or what is left without them.
OperationProportions Part(const OperationProportions& mix, bool writes) {
  OperationProportions part = mix;
  for (size_t i = 0; i < kMixOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    const bool reads =
        operation == Operation::kRead || operation == Operation::kMultiRead || IsScan(operation);
    if (reads == writes) part[i] = 0;
  }
  return part;
}

Status MakeOperations(const Settings& settings, std::array<OperationChooser, 2>* choosers) {
  const OperationProportions mix = ProportionsOf(settings);
  OperationChooser whole;
  if (Status s = OperationChooser::Make(mix, &whole); !s.ok()) return s;
  *choosers = {whole, whole};
  if (settings.writer_threads == 0) return Status::Ok();
  for (const bool writes : {false, true}) {
    if (OperationChooser::Make(Part(mix, writes), &(*choosers)[writes]).ok()) continue;
    return Status::InvalidArgument(
        std::string("writer.threads: expected a mix of reads and writes, got one without ") +
        (writes ? "writes" : "reads"));
  }
  return Status::Ok();
}

ScanLengthDistribution ScanDistributionOf(const std::string& name) {
  if (name == "zipfian") return ScanLengthDistribution::kZipfian;
  if (name == "constant") return ScanLengthDistribution::kConstant;
  return ScanLengthDistribution::kUniform;
}

ArrivalSpec Arriving(const Settings& settings, double operations_per_second) {
  ArrivalSpec spec;
  spec.poisson = settings.arrivals == "poisson";
  spec.operations_per_second = operations_per_second;
  spec.thread_count = static_cast<uint64_t>(settings.thread_count);
  return spec;
}

Status MakeMixArrivals(const Settings& settings, ArrivalSpec* spec) {
  *spec = Arriving(settings, settings.target);
  if (settings.limit_file.empty()) return Status::Ok();
  const auto text = ReadTextFile(settings.limit_file);
  if (!text) {
    return Status::InvalidArgument("limit.file: expected a readable file, got '" +
                                   settings.limit_file + "'");
  }
  return ParseRateSteps(*text, settings.limit_file, &spec->steps);
}

}  // namespace

ScanLengths::ScanLengths(uint64_t min, uint64_t max, ScanLengthDistribution distribution,
                         double theta)
    : min_(distribution == ScanLengthDistribution::kConstant ? max : min),
      span_(distribution == ScanLengthDistribution::kConstant ? 1 : max - min + 1) {
  if (distribution == ScanLengthDistribution::kZipfian) {
    zipf_ = std::make_unique<Zipf>(span_, theta);
  }
}

uint64_t ScanLengths::Next(Random& random) const {
  if (span_ == 1) return min_;
  return min_ + (zipf_ != nullptr ? zipf_->Next(random) : random.Below(span_));
}

Status Workload::Make(const Settings& settings, std::unique_ptr<Workload>* workload) {
  std::array<OperationChooser, 2> operations;
  if (Status s = MakeOperations(settings, &operations); !s.ok()) return s;
  ArrivalSpec arrivals;
  if (Status s = MakeMixArrivals(settings, &arrivals); !s.ok()) return s;
  workload->reset(new Workload(settings, operations, std::move(arrivals)));

  // What clients will make later must not fail then.
  for (const Stream stream : {Stream::kLoad, Stream::kMix}) {
    if (!(*workload)->paced(stream)) continue;
    Arrivals trial;
    const ArrivalSpec spec = (*workload)->ClientArrivals(stream, 0);
    if (Status s = Arrivals::Make(spec, &trial); !s.ok()) return s;
  }
  std::unique_ptr<KeyChooser> trial;
  const std::atomic<uint64_t> key_count{static_cast<uint64_t>(settings.record_count)};
  return (*workload)->MakeChooser(0, key_count, &trial);
}

Workload::Workload(const Settings& settings, const std::array<OperationChooser, 2>& operations,
                   ArrivalSpec mix_arrivals)
    : settings_(settings),
      first_(static_cast<uint64_t>(settings.insert_start)),
      ordered_(settings.insert_order == "ordered"),
      load_order_(static_cast<uint64_t>(settings.record_count), LoadOrderSeed(settings)),
      keys_(settings.key_prefix, static_cast<int>(settings.zero_padding)),
      values_({.size = settings.value_bytes(),
               .compressibility = settings.compressibility,
               .seed = static_cast<uint64_t>(settings.seed)}),
      operations_(operations),
      scan_lengths_(static_cast<uint64_t>(settings.min_scan_length),
                    static_cast<uint64_t>(settings.max_scan_length),
                    ScanDistributionOf(settings.scan_length_distribution), settings.zipfian_const),
      load_arrivals_(Arriving(settings, settings.load_target)),
      mix_arrivals_(std::move(mix_arrivals)) {}

uint64_t Workload::AgeOperations() const {
  if (!settings_.ages()) return 0;
  return static_cast<uint64_t>(
      std::llround(settings_.age * static_cast<double>(settings_.record_count)));
}

uint64_t Workload::AgeOperations(uint64_t client) const {
  const auto clients = static_cast<uint64_t>(settings_.thread_count);
  const uint64_t all = AgeOperations();
  return all / clients + (client < all % clients);
}

// Seeds of ageing are apart from the mix's, which would otherwise repeat what ageing wrote.
Random Workload::MakeRandom(Stream stream, uint64_t client) const {
  const auto seed = static_cast<uint64_t>(settings_.seed);
  if (stream == Stream::kAge) return Random(Mix(~Mix(seed)) + client);
  const auto mix_seed = static_cast<uint64_t>(settings_.mix_seed);
  return Random(Mix(stream == Stream::kLoad || mix_seed == 0 ? seed : mix_seed) + client);
}

double Workload::LiveBytes(uint64_t records) const {
  if (records == 0) return 0;
  std::vector<char> buffer(keys_.max_size());
  const size_t key_bytes = Key(records - 1, buffer.data()).size();
  return static_cast<double>(records) * static_cast<double>(key_bytes + settings_.value_bytes());
}

bool Workload::Does(Operation operation) const {
  return operations_[0].Share(operation) > 0 || operations_[1].Share(operation) > 0;
}

bool Workload::ParseKey(std::string_view key, uint64_t* index) const {
  if (!keys_.Parse(key, index) || *index < first_) return false;
  *index -= first_;
  return true;
}

TallyShape Workload::Shape() const {
  TallyShape shape;
  shape.paced = paced(Stream::kLoad) || paced(Stream::kMix);
  for (size_t i = 0; i < kMixOperationCount; ++i) {
    shape.used[i] = Does(static_cast<Operation>(i));
  }
  shape.used[static_cast<size_t>(Operation::kInsert)] |= settings_.do_load;
  shape.used[static_cast<size_t>(Operation::kUpdate)] |= settings_.ages();
  return shape;
}

Status Workload::MakeChooser(uint64_t client, const std::atomic<uint64_t>& key_count,
                             std::unique_ptr<KeyChooser>* chooser) const {
  KeyChooserSpec spec;
  spec.distribution = settings_.request_distribution;
  spec.record_count = static_cast<uint64_t>(settings_.record_count);
  spec.theta = settings_.zipfian_const;
  spec.hotspot_data_fraction = settings_.hotspot_data_fraction;
  spec.hotspot_operation_fraction = settings_.hotspot_operation_fraction;
  spec.exponential_percentile = settings_.exponential_percentile;
  spec.exponential_fraction = settings_.exponential_fraction;
  spec.seed = static_cast<uint64_t>(settings_.seed);
  spec.key_count = &key_count;
  spec.scattered = settings_.scattered;
  spec.thread = client;
  spec.thread_count = static_cast<uint64_t>(settings_.thread_count);
  return MakeKeyChooser(spec, chooser);
}

ArrivalSpec Workload::ClientArrivals(Stream stream, uint64_t client) const {
  ArrivalSpec spec = ArrivalsOf(stream);
  spec.thread = client;
  return spec;
}

}  // namespace kvdyno
