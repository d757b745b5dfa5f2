// OptionTable: one engine's options, described once, for three readers: the property parser,
// `--describe` (from which the harness learns them) and the record.
// Owns descriptors and the binding to a struct's members; knows no engine.
// Built and filled before threads start; read-only afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/base/status.h"

namespace kvdyno {

enum class OptionType : uint8_t { kBool, kInteger, kReal, kBytes, kSeconds, kText, kChoice };

// "bool", "integer", "real", "bytes", "seconds", "text", "choice".
std::string_view OptionTypeName(OptionType type);

// What a person needs to know before setting an option.
struct OptionNote {
  std::string effect;  // one or two sentences: what grows or shrinks with it
  double min = 0;      // inclusive; ignored by bool, text and choice
  double max = std::numeric_limits<double>::max();
  bool shapes_data = false;       // changes what a load leaves on disk: a snapshot depends on it
  bool shapes_aged_data = false;  // does so only when the load is followed by ageing
  bool scales = false;            // grows and shrinks with the profile, like the cap and the data
  // Another spelling of the default, which property files written for YCSB-cpp may use ("0").
  std::string default_word = {};
};

// A size that is written as a word ("auto"): what the engine's own struct holds for it.
struct NamedBytes {
  std::string word;
  uint64_t value = 0;
};

struct OptionDescriptor {
  std::string name;  // without the engine's prefix: "write_buffer_size"
  OptionType type = OptionType::kText;
  OptionNote note;
  std::vector<std::string> choices;  // of kChoice
  std::vector<std::string> words;    // of kBytes: accepted beside sizes, outside of the range
  std::string default_text;          // as a property file would spell it
  std::function<Status(std::string_view)> set;
  std::function<std::string()> get;  // the value in force, as a property file would spell it
};

// Binds the members of an options struct. The members' initial values are the defaults, so
// that a default is written in one place. The struct must outlive the table and stay put.
class OptionTable {
 public:
  void Bool(std::string name, bool* value, OptionNote note);
  void Integer(std::string name, int64_t* value, OptionNote note);
  void Real(std::string name, double* value, OptionNote note);
  // Sizes in bytes. `words` may stand for values that are no sizes ("adaptive") or follow from
  // something else ("auto"); such a value is neither checked against the range nor scaled.
  void Bytes(std::string name, uint64_t* value, OptionNote note,
             const std::vector<NamedBytes>& words = {});
  void Seconds(std::string name, double* value, OptionNote note);  // seconds
  void Text(std::string name, std::string* value, OptionNote note);
  void Choice(std::string name, std::string* value, std::vector<std::string> choices,
              OptionNote note);

  // Names without a descriptor are no mistakes any more: Set stores their texts in *others, and
  // Values includes them. For engines whose options cannot be listed (foreign bindings).
  void AcceptOthers(std::map<std::string, std::string>* others) { others_ = others; }
  bool accepts_others() const { return others_ != nullptr; }

  // InvalidArgument names the option, what was expected (type, range, choices) and what was
  // found; for an unknown name it names the nearest known one.
  Status Set(std::string_view name, std::string_view text);

  const std::vector<OptionDescriptor>& descriptors() const { return descriptors_; }
  std::map<std::string, std::string> Values() const;

 private:
  void Add(OptionDescriptor descriptor);
  std::vector<OptionDescriptor> descriptors_;
  std::map<std::string, std::string>* others_ = nullptr;  // null: unknown names are refused
};

// The candidate closest to `word` by edit distance, or empty when nothing is near.
std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace kvdyno
