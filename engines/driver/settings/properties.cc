// Setting properties by name. Owned and used by the main thread, before others start.
#include "settings/properties.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace kvdyno {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\f";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// True when the table has the name; *status is then how setting it went.
bool SetIn(const std::vector<OptionDescriptor>& options, std::string_view name,
           std::string_view shown_name, std::string_view text, Status* status) {
  for (const OptionDescriptor& option : options) {
    if (option.name != name) continue;
    *status = option.set(text);
    if (!status->ok()) {
      *status = {status->code(), std::string(shown_name) + ": " + status->message()};
    }
    return true;
  }
  return false;
}

OptionNote Plain(std::string effect) { return {.effect = std::move(effect)}; }

}  // namespace

void Properties::DescribeCommon(CommonSettings* common) {
  common_ = common;
  DescribePlaces(common);
  DescribeReporting(common);
}

void Properties::DescribePlaces(CommonSettings* common) {
  CommonSettings& s = *common;
  const auto alias = [&](const char* word) {
    return " " + engine_name_ + "." + word + " is another spelling.";
  };
  table_.Text("data.dir", &s.data_dir,
              Plain("The store's directory; made when missing." + alias("dbname")));
  table_.Bool("data.destroy", &s.destroy_data,
              Plain("Removes everything in data.dir before the load." + alias("destroy")));
  table_.Text("dbname", &s.db_name,
              Plain("The engine; must be the one of this program. The same as -db."));
  table_.Text(
      "output.dir", &s.output_dir,
      Plain("Where outcome.json, latency.hlog, series.csv and events.csv go; empty: nowhere."));
  table_.Integer(
      "progress.fd", &s.progress_fd,
      {.effect = "Open file descriptor for progress lines; -1: none.", .min = -1, .max = 1 << 20});
  table_.Bytes("memory.cap", &s.memory_cap,
               {.effect = "Memory that the process's cgroup allows, for the engine; 0: no cap.",
                .scales = true});
  table_.Integer("threadcount", &s.thread_count,
                 {.effect = "Client threads; the same as -threads.", .min = 1, .max = 4096});
}

void Properties::DescribeReporting(CommonSettings* common) {
  CommonSettings& s = *common;
  table_.Bool("status", &s.status, Plain("Prints status lines; the same as -s."));
  table_.Seconds("status.interval", &s.status_interval,
                 {.effect = "Time between status lines.", .min = 0.1, .max = 86400});
  table_.Seconds("series.interval", &s.series_interval,
                 {.effect = "Time between rows of series.csv.", .min = 0.05, .max = 86400});
}

std::map<std::string, std::string> Properties::OtherSpellings() const {
  std::map<std::string, std::string> spellings = {{engine_name_ + ".dbname", "data.dir"}};
  // A foreign binding has this option itself.
  if (!engine_accepts_others()) spellings[engine_name_ + ".destroy"] = "data.destroy";
  return spellings;
}

bool Properties::Has(std::string_view name) const {
  const std::vector<OptionDescriptor>& known = table_.descriptors();
  return std::any_of(known.begin(), known.end(),
                     [&](const OptionDescriptor& option) { return option.name == name; });
}

Status Properties::Set(std::string_view name, std::string_view text) {
  Status status;
  const std::string prefix = engine_name_ + ".";
  const bool engines = name.starts_with(prefix);
  const std::string_view option = engines ? name.substr(prefix.size()) : name;
  if (engines && SetIn(engine_options_->descriptors(), option, name, text, &status)) return status;

  const auto spellings = OtherSpellings();
  const auto other = spellings.find(std::string(name));
  const std::string_view property = other == spellings.end() ? name : other->second;
  if (SetIn(table_.descriptors(), property, name, text, &status)) return status;
  if (engines && engine_options_->accepts_others()) return engine_options_->Set(option, text);
  return Unknown(name);
}

Status Properties::Unknown(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [spelling, property] : OtherSpellings()) known.push_back(spelling);
  for (const OptionDescriptor& option : table_.descriptors()) known.push_back(option.name);
  for (const OptionDescriptor& option : engine_options_->descriptors()) {
    known.push_back(engine_name_ + "." + option.name);
  }
  const std::string nearest = NearestWord(name, known);
  return Status::InvalidArgument(
      std::string(name) + ": expected a property of kvdyno-" + engine_name_ +
      ", got an unknown name; " +
      (nearest.empty() ? "--help lists them" : "did you mean '" + nearest + "'?"));
}

Status Properties::SetFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Status::InvalidArgument("-P " + path +
                                   ": expected a readable file: " + std::strerror(errno));
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = Trim(line);
    if (text.empty() || text.front() == '#' || text.front() == '!') continue;
    const std::string where = path + ":" + std::to_string(number) + ": ";
    const size_t equals = text.find('=');
    if (equals == text.npos) {
      return Status::InvalidArgument(where + "expected name=value, got '" + std::string(text) +
                                     "'");
    }
    const Status status = Set(Trim(text.substr(0, equals)), Trim(text.substr(equals + 1)));
    if (!status.ok()) return {status.code(), where + status.message()};
  }
  // A directory opens like a file and fails only here.
  if (file.bad()) {
    return Status::InvalidArgument("-P " + path + ": expected a readable file, got an error");
  }
  return Status::Ok();
}

std::map<std::string, std::string> Properties::Values() const {
  std::map<std::string, std::string> values = table_.Values();
  for (const auto& [name, value] : engine_options_->Values()) {
    values[engine_name_ + "." + name] = value;
  }
  return values;
}

}  // namespace kvdyno
