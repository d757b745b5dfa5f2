// Runs a fuzz target without libFuzzer: on its corpus, then on mutations of it.
//   <target>_replay CORPUS [--mutations N] [--seed S]
// The seed is printed; the same seed makes the same inputs. A crash is the finding: run with the
// seed under a debugger, or with the address sanitizer. One thread.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "kvdyno/base/testing/fuzz.h"

namespace {

using Input = std::vector<uint8_t>;
constexpr size_t kMaxBytes = size_t{64} << 10;

std::vector<Input> ReadCorpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(folder)) paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  Input Mutate(const std::vector<Input>& corpus) {
    Input input = corpus[Below(corpus.size())];
    for (uint64_t steps = 1 + Below(4); steps > 0; --steps) Step(corpus, &input);
    input.resize(std::min(input.size(), kMaxBytes));
    return input;
  }

 private:
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void Step(const std::vector<Input>& corpus, Input* input) {
    if (input->empty()) input->push_back(0);
    const size_t at = Below(input->size());
    const auto place = [&](size_t offset) {
      return input->begin() + static_cast<ptrdiff_t>(offset);
    };
    switch (Below(8)) {
      case 0:
        (*input)[at] ^= static_cast<uint8_t>(1u << Below(8));
        break;
      case 1:
        (*input)[at] = static_cast<uint8_t>(random_());
        break;
      case 2:
        input->resize(at);
        break;
      case 3:
        input->erase(place(at), place(std::min(input->size(), at + 1 + Below(16))));
        break;
      case 4:
        input->insert(place(at), 1 + Below(16), static_cast<uint8_t>(random_()));
        break;
      case 5:
        StoreInteresting(at, input);
        break;
      case 6: {  // a piece of itself elsewhere
        const Input piece(place(at), place(std::min(input->size(), at + 1 + Below(64))));
        input->insert(place(Below(input->size() + 1)), piece.begin(), piece.end());
        break;
      }
      default: {  // its head and another one's tail
        const Input& other = corpus[Below(corpus.size())];
        input->resize(at);
        input->insert(input->end(), other.begin() + static_cast<ptrdiff_t>(Below(other.size())),
                      other.end());
      }
    }
  }

  void StoreInteresting(size_t at, Input* input) {
    constexpr uint64_t kValues[] = {0,           1,          0x7f,       0x80,
                                    0xffff,      0x7fffffff, 0x80000000, 0xffffffff,
                                    0x100000000, 1ull << 48, 1ull << 63, UINT64_MAX};
    const uint64_t value = kValues[Below(std::size(kValues))];
    const size_t width = size_t{1} << Below(4);
    std::memcpy(input->data() + at, &value, std::min(width, input->size() - at));
  }

  std::mt19937_64 random_;
};

void Run(const Input& input) {
  // An allocation of exactly the size, so that the address sanitizer sees the first byte beyond.
  const Input exact(input);  // NOLINT(performance-unnecessary-copy-initialization)
  (void)LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t mutations = 20000, seed = std::random_device{}();
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--mutations") mutations = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (argc < 2 || !std::filesystem::is_directory(argv[1])) {
    std::fprintf(stderr, "usage: %s CORPUS [--mutations N] [--seed S]\n", argv[0]);
    return 2;
  }
  const std::vector<Input> corpus = ReadCorpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: expected seeds, got an empty folder\n", argv[1]);
    return 1;
  }
  std::printf("%zu seeds, %llu mutations, seed %llu\n", corpus.size(),
              static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  for (const Input& input : corpus) Run(input);
  Run({});
  Mutator mutator(seed);
  for (uint64_t i = 0; i < mutations; ++i) Run(mutator.Mutate(corpus));
  return 0;
}
