// Reading CSV as RFC 4180 has it, but for line ends inside quotes.
#include "records_file.h"

#include <algorithm>
#include <charconv>

namespace kvdyno::sampler {
namespace {

constexpr std::string_view kNames[] = {"key", "value", "weight"};

// Field by field, without quotes. Strings of *fields are used again.
void Split(std::string_view line, std::vector<std::string>* fields) {
  size_t count = 0;
  bool quoted = false;
  const auto begin = [&] {
    if (fields->size() == count) fields->emplace_back();
    (*fields)[count++].clear();
  };
  begin();
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      (*fields)[count - 1] += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      begin();
    } else {
      (*fields)[count - 1] += c;
    }
  }
  fields->resize(count);
}

template <typename Number>
bool Parse(const std::string& text, Number* number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

}  // namespace

Status RecordsFile::Open(const std::string& path, RecordsFile* file) {
  file->path_ = path;
  file->stream_.open(path);
  if (!file->stream_ || !file->ReadLine()) {
    return Status::InvalidArgument(
        "records.file: expected a readable file with a line of names, got " + path);
  }
  for (const Column column : {kKey, kValue, kWeight}) {
    if (Status s = file->Find(kNames[column], column); !s.ok()) return s;
  }
  return Status::Ok();
}

Status RecordsFile::Find(std::string_view name, Column column) {
  const auto found = std::find(fields_.begin(), fields_.end(), name);
  if (found == fields_.end()) {
    return Status::InvalidArgument(place() + ": expected a column " + std::string(name) + ", got " +
                                   text_.substr(0, 200) + "; `kvdyno records` renames columns");
  }
  places_[column] = static_cast<size_t>(found - fields_.begin());
  return Status::Ok();
}

bool RecordsFile::ReadLine() {
  if (!std::getline(stream_, text_)) return false;
  ++line_;
  if (!text_.empty() && text_.back() == '\r') text_.pop_back();
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (line_ == 1 && text_.starts_with(kMark)) text_.erase(0, kMark.size());
  Split(text_, &fields_);
  return true;
}

Status RecordsFile::Next(sampling::Record* record, bool* ended) {
  do {
    *ended = !ReadLine();
  } while (!*ended && text_.empty());
  if (*ended) {
    return stream_.bad() ? Status::IoError(place() + ": cannot read the next line") : Status::Ok();
  }
  const size_t needed = 1 + *std::max_element(places_, places_ + kColumns);
  if (fields_.size() < needed) {
    return Status::InvalidArgument(place() + ": expected " + std::to_string(needed) +
                                   " fields or more, got " + std::to_string(fields_.size()));
  }
  constexpr const char* kWhole = "a whole number from 0, below 2^64";
  if (!Parse(fields_[places_[kKey]], &record->key)) return Wrong(kKey, kWhole);
  if (!Parse(fields_[places_[kValue]], &record->value)) return Wrong(kValue, kWhole);
  double& weight = record->weight;
  const bool number = Parse(fields_[places_[kWeight]], &weight);
  if (!number || !(weight >= 0 && weight <= sampling::kMaxWeight)) {
    return Wrong(kWeight, "a number from 0 to 1e290");
  }
  return Status::Ok();
}

Status RecordsFile::Wrong(Column column, const std::string& expected) const {
  return Status::InvalidArgument(place() + ", column " + std::string(kNames[column]) +
                                 ": expected " + expected + ", got '" +
                                 fields_[places_[column]].substr(0, 100) + "'");
}

}  // namespace kvdyno::sampler
