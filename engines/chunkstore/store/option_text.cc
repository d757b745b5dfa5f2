#include "chunkstore/option_text.h"

#include <array>
#include <charconv>
#include <variant>

#include "kvdyno/base/units.h"

namespace chunkstore {

using kvdyno::Status;

namespace {

// A size, and the word for its one value that is none; without a word when it has no such value.
struct Size {
  uint64_t Options::* member;
  const char* word = nullptr;
  uint64_t word_value = 0;
};
constexpr Size Auto(uint64_t Options::* member) { return {member, "auto", Options::kAuto}; }
constexpr Size Adaptive(uint64_t Options::* member) {
  return {member, "adaptive", Options::kAdaptive};
}

using Member = std::variant<bool Options::*, int Options::*, double Options::*, Size,
                            Durability Options::*, LogLookup Options::*>;
struct Field {
  std::string_view name;
  Member member;
};

constexpr std::array kFields = {
    Field{"create_if_missing", &Options::create_if_missing},
    Field{"error_if_exists", &Options::error_if_exists},
    Field{"read_only", &Options::read_only},
    Field{"durability", &Options::durability},
    Field{"checkpoint_interval_s", &Options::checkpoint_interval_s},
    Field{"memory_budget", Auto(&Options::memory_budget)},
    Field{"trim_heap", &Options::trim_heap},
    Field{"munk_cache_size", Adaptive(&Options::munk_cache_size)},
    Field{"row_cache_size", Adaptive(&Options::row_cache_size)},
    Field{"block_cache_size", Adaptive(&Options::block_cache_size)},
    Field{"stage_size", Auto(&Options::stage_size)},
    Field{"chunk_size", Auto(&Options::chunk_size)},
    Field{"block_size", Size{&Options::block_size}},
    Field{"table_filter_bits", &Options::table_filter_bits},
    Field{"log_lookup", &Options::log_lookup},
    Field{"bloom_split", &Options::bloom_split},
    Field{"bloom_bits", &Options::bloom_bits},
    Field{"log_limit", Auto(&Options::log_limit)},
    Field{"munk_log_limit", Auto(&Options::munk_log_limit)},
    Field{"log_debt_limit", Auto(&Options::log_debt_limit)},
    Field{"direct_io", &Options::direct_io},
    Field{"verify_checksums", &Options::verify_checksums},
    Field{"max_open_files", Size{&Options::max_open_files}},
    Field{"background_threads", &Options::background_threads},
};

constexpr std::array<std::string_view, 3> kDurabilityWords = {"none", "async", "sync"};
constexpr std::array<std::string_view, 2> kLogLookupWords = {"index", "bloom"};
constexpr std::array<std::string_view, 2> kTruthWords = {"false", "true"};

Status Expected(std::string_view expected, std::string_view text) {
  return Status::InvalidArgument("expected " + std::string(expected) + ", got '" +
                                 std::string(text) + "'");
}

// The position of `text` among the words is the value.
template <typename Value, size_t n>
Status ReadWord(const std::array<std::string_view, n>& words, std::string_view text, Value* value) {
  std::string known;
  for (size_t i = 0; i < n; i++) {
    if (words[i] == text) {
      *value = static_cast<Value>(i);
      return Status::Ok();
    }
    known.append(known.empty() ? "" : " or ").append(words[i]);
  }
  return Expected(known, text);
}

template <typename Number>
Status ReadNumber(std::string_view text, Number* value) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return Expected("a number", text);
  *value = number;
  return Status::Ok();
}

template <typename Number>
std::string SpellNumber(Number value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

struct Reader {
  std::string_view text;
  Options* options;

  Status operator()(bool Options::* member) const {
    return ReadWord(kTruthWords, text, &(options->*member));
  }
  Status operator()(int Options::* member) const { return ReadNumber(text, &(options->*member)); }
  Status operator()(double Options::* member) const {
    return ReadNumber(text, &(options->*member));
  }
  Status operator()(Durability Options::* member) const {
    return ReadWord(kDurabilityWords, text, &(options->*member));
  }
  Status operator()(LogLookup Options::* member) const {
    return ReadWord(kLogLookupWords, text, &(options->*member));
  }
  Status operator()(const Size& size) const {
    if (size.word != nullptr && text == size.word) {
      options->*size.member = size.word_value;
      return Status::Ok();
    }
    return kvdyno::ParseBytes(text, &(options->*size.member));
  }
};

struct Speller {
  const Options& options;

  std::string operator()(bool Options::* member) const {
    return std::string(kTruthWords[options.*member ? 1 : 0]);
  }
  std::string operator()(int Options::* member) const { return SpellNumber(options.*member); }
  std::string operator()(double Options::* member) const { return SpellNumber(options.*member); }
  std::string operator()(Durability Options::* member) const {
    return std::string(kDurabilityWords[static_cast<size_t>(options.*member)]);
  }
  std::string operator()(LogLookup Options::* member) const {
    return std::string(kLogLookupWords[static_cast<size_t>(options.*member)]);
  }
  std::string operator()(const Size& size) const {
    const uint64_t value = options.*size.member;
    if (size.word != nullptr && value == size.word_value) return size.word;
    return kvdyno::FormatBytes(value);
  }
};

const Field* Find(std::string_view name) {
  for (const Field& field : kFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace

Status SetOption(std::string_view name, std::string_view text, Options* options) {
  const Field* field = Find(name);
  if (field == nullptr) {
    return Status::InvalidArgument("option " + std::string(name) +
                                   ": expected a member of chunkstore::Options");
  }
  Status read = std::visit(Reader{text, options}, field->member);
  if (read.ok()) return read;
  return {read.code(), "option " + std::string(name) + ": " + read.message()};
}

bool GetOption(std::string_view name, const Options& options, std::string* text) {
  const Field* field = Find(name);
  if (field == nullptr) return false;
  *text = std::visit(Speller{options}, field->member);
  return true;
}

}  // namespace chunkstore
