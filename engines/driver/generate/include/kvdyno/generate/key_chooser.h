// KeyChooser: which key an operation touches, by the distribution's name.
// Owns distributions over key indices; knows neither the keys' spelling nor the operations.
// A chooser belongs to one thread; threads share only the key count.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kvdyno/base/random.h"
#include "kvdyno/base/status.h"

namespace kvdyno {

// The distributions, by what they do with keys that are inserted during the run:
//
// follow the current key count
//   uniform                 every key alike
//   sequential              thread t of T walks t, t+T, t+2T ... and starts again at the end
//   latest                  the d-th newest key: Zipf(theta) over d
//   exponential             the d-th newest key: exponential over d; `exponential_percentile` % of
//                           draws fall on the newest `exponential_fraction` of record_count
// choose among the first record_count keys
//   zipfian (zipf-simple)   Zipf(theta)
//   zipf-composite          the range is cut into 2^14 equal slices (one per key when there are
//                           fewer keys): what the 14 most significant bits select. A slice is
//                           drawn Zipf(theta), and the key inside it, in key order, Zipf(theta)
//   zipf-composite-uniform  the same, and the key inside its slice is uniform
//   hotspot                 `hotspot_operation_fraction` of draws fall on
//                           `hotspot_data_fraction` of the keys, the others on the other keys,
//                           uniform in both
struct KeyChooserSpec {
  std::string distribution = "uniform";
  uint64_t record_count = 0;  // keys at the start; > 0
  double theta = 0.99;        // skew of the Zipf distributions; > 0
  double hotspot_data_fraction = 0.2;
  double hotspot_operation_fraction = 0.8;
  double exponential_percentile = 95;
  double exponential_fraction = 0.8571428571;
  uint64_t seed = 0;  // of the scattering: threads that share it agree on the popular keys

  // Keys 0 .. *key_count - 1 exist (acknowledged inserts); only grows, never below record_count.
  // Null: record_count.
  const std::atomic<uint64_t>* key_count = nullptr;

  // Popular keys, slices and hot keys are spread over the range by a pseudo-random permutation;
  // false: popularity falls with the key index.
  bool scattered = true;

  uint64_t thread = 0;  // of sequential: this thread, of so many
  uint64_t thread_count = 1;
};

class KeyChooser {
 public:
  virtual ~KeyChooser() = default;
  // The index of a key that exists.
  virtual uint64_t Next(Random& random) = 0;
};

// Every name that MakeKeyChooser knows, aliases included.
std::vector<std::string> DistributionNames();

// InvalidArgument names the parameter, what was expected and what was found.
Status MakeKeyChooser(const KeyChooserSpec& spec, std::unique_ptr<KeyChooser>* chooser);

}  // namespace kvdyno
