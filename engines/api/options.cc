#include "kvdyno/api/options.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <utility>

#include "kvdyno/base/units.h"

namespace kvdyno {
namespace {

Status Expected(std::string_view expected, std::string_view text) {
  return Status::InvalidArgument("expected " + std::string(expected) + ", got '" +
                                 std::string(text) + "'");
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

std::string WordOf(const std::vector<NamedBytes>& words, uint64_t value) {
  for (const NamedBytes& named : words) {
    if (named.value == value) return named.word;
  }
  return {};
}

// Accepts words beside what the option reads already, and spells them.
void AcceptWords(uint64_t* value, const std::vector<NamedBytes>& words, OptionDescriptor* option) {
  option->words.reserve(words.size());
  for (const NamedBytes& named : words) option->words.push_back(named.word);
  option->set = [value, words, known = Joined(option->words),
                 set = option->set](std::string_view text) {
    for (const NamedBytes& named : words) {
      if (named.word != text) continue;
      *value = named.value;
      return Status::Ok();
    }
    Status status = set(text);
    if (status.ok()) return status;
    return Status(status.code(), status.message() + "; known words: " + known);
  };
  option->get = [value, words, get = option->get] {
    const std::string word = WordOf(words, *value);
    return word.empty() ? get() : word;
  };
}

// The shortest spelling that reads back as the same number.
template <typename Number>
std::string Spell(Number value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

// Without an exponent, which durations do not have.
std::string SpellSeconds(double seconds) {
  std::array<char, 400> buffer;  // the smallest double has 325 digits, the largest 309
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), seconds,
                                    std::chars_format::fixed);
  return std::string(buffer.data(), result.ptr) + "s";
}

Status ParseInteger(std::string_view text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size()) return Status::Ok();
  return Expected("an integer", text);
}

Status ParseReal(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size()) return Status::Ok();
  return Expected("a number", text);
}

// How a numeric type is read and written.
template <typename Number>
struct Notation {
  OptionType type;
  Status (*parse)(std::string_view, Number*);
  std::string (*spell)(Number);
};
constexpr Notation<int64_t> kInteger = {OptionType::kInteger, ParseInteger, Spell<int64_t>};
constexpr Notation<double> kReal = {OptionType::kReal, ParseReal, Spell<double>};
constexpr Notation<uint64_t> kBytes = {OptionType::kBytes, ParseBytes, FormatBytes};
constexpr Notation<double> kSeconds = {OptionType::kSeconds, ParseSeconds, SpellSeconds};

// A bound that the type cannot reach is none.
template <typename Number>
Status CheckRange(Number value, std::string_view text, const OptionNote& note,
                  const Notation<Number>& notation) {
  if (static_cast<double>(value) >= note.min && static_cast<double>(value) <= note.max) {
    return Status::Ok();
  }
  const bool open = note.max >= static_cast<double>(std::numeric_limits<Number>::max());
  const std::string min = notation.spell(static_cast<Number>(note.min));
  if (open) return Expected(min + " or more", text);
  return Expected("from " + min + " to " + notation.spell(static_cast<Number>(note.max)), text);
}

template <typename Number>
OptionDescriptor Numeric(std::string name, Number* value, OptionNote note,
                         const Notation<Number>& notation) {
  OptionDescriptor option;
  option.name = std::move(name);
  option.type = notation.type;
  option.set = [value, note, notation](std::string_view text) {
    Number parsed = 0;
    if (Status status = notation.parse(text, &parsed); !status.ok()) return status;
    if (Status status = CheckRange(parsed, text, note, notation); !status.ok()) return status;
    *value = parsed;
    return Status::Ok();
  };
  option.get = [value, notation] { return notation.spell(*value); };
  option.note = std::move(note);
  return option;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j - 1] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

// "; did you mean 'x'?", or nothing.
std::string Suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = NearestWord(word, candidates);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace

std::string_view OptionTypeName(OptionType type) {
  static constexpr std::array<std::string_view, 7> kNames = {"bool",    "integer", "real",  "bytes",
                                                             "seconds", "text",    "choice"};
  return kNames[static_cast<size_t>(type)];
}

void OptionTable::Bool(std::string name, bool* value, OptionNote note) {
  OptionDescriptor option;
  option.name = std::move(name);
  option.type = OptionType::kBool;
  option.note = std::move(note);
  option.set = [value](std::string_view text) {
    if (text != "true" && text != "false") return Expected("true or false", text);
    *value = text == "true";
    return Status::Ok();
  };
  option.get = [value] { return *value ? "true" : "false"; };
  Add(std::move(option));
}

void OptionTable::Integer(std::string name, int64_t* value, OptionNote note) {
  Add(Numeric(std::move(name), value, std::move(note), kInteger));
}

void OptionTable::Real(std::string name, double* value, OptionNote note) {
  Add(Numeric(std::move(name), value, std::move(note), kReal));
}

void OptionTable::Bytes(std::string name, uint64_t* value, OptionNote note,
                        const std::vector<NamedBytes>& words) {
  OptionDescriptor option = Numeric(std::move(name), value, std::move(note), kBytes);
  if (!words.empty()) AcceptWords(value, words, &option);
  Add(std::move(option));
}

void OptionTable::Seconds(std::string name, double* value, OptionNote note) {
  Add(Numeric(std::move(name), value, std::move(note), kSeconds));
}

void OptionTable::Text(std::string name, std::string* value, OptionNote note) {
  OptionDescriptor option;
  option.name = std::move(name);
  option.type = OptionType::kText;
  option.note = std::move(note);
  option.set = [value](std::string_view text) {
    *value = text;
    return Status::Ok();
  };
  option.get = [value] { return *value; };
  Add(std::move(option));
}

void OptionTable::Choice(std::string name, std::string* value, std::vector<std::string> choices,
                         OptionNote note) {
  OptionDescriptor option;
  option.name = std::move(name);
  option.type = OptionType::kChoice;
  option.note = std::move(note);
  option.choices = std::move(choices);
  option.set = [value, choices = option.choices](std::string_view text) {
    for (const std::string& choice : choices) {
      if (choice != text) continue;
      *value = choice;
      return Status::Ok();
    }
    const Status status = Expected("one of " + Joined(choices), text);
    return Status::InvalidArgument(status.message() + Suggestion(text, choices));
  };
  option.get = [value] { return *value; };
  Add(std::move(option));
}

void OptionTable::Add(OptionDescriptor option) {
  option.default_text = option.get();
  assert(option.set(option.default_text).ok() && "an option's default must be valid");
  if (const std::string& word = option.note.default_word; !word.empty()) {
    option.note.effect += " " + word + ": the default.";
    option.set = [set = option.set, word, text = option.default_text](std::string_view asked) {
      return set(asked == word ? std::string_view(text) : asked);
    };
  }
  descriptors_.push_back(std::move(option));
}

Status OptionTable::Set(std::string_view name, std::string_view text) {
  std::vector<std::string> names;
  for (OptionDescriptor& option : descriptors_) {
    if (option.name == name) {
      Status status = option.set(text);
      if (status.ok()) return status;
      return {status.code(), "option " + option.name + ": " + status.message()};
    }
    names.push_back(option.name);
  }
  if (others_ != nullptr) {
    others_->insert_or_assign(std::string(name), std::string(text));
    return Status::Ok();
  }
  return Status::InvalidArgument("option " + std::string(name) + ": expected a known option" +
                                 Suggestion(name, names));
}

std::map<std::string, std::string> OptionTable::Values() const {
  std::map<std::string, std::string> values;
  for (const OptionDescriptor& option : descriptors_) values.emplace(option.name, option.get());
  if (others_ != nullptr) values.insert(others_->begin(), others_->end());
  return values;
}

std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates) {
  // Farther than a third of the word plus one is a different word, not a slip.
  size_t best_distance = (word.size() + 2) / 3 + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace kvdyno
