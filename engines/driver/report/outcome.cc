// Spelling outcomes and descriptions as JSON. Pure functions, but for writing the file.
#include "report/outcome.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "build_identity.h"

namespace kvdyno {
namespace {

using Json = nlohmann::ordered_json;

Json DurabilityJson(const std::optional<Durability>& durability) {
  if (!durability) return nullptr;
  const auto word = [](bool survives) { return survives ? "kept" : "lost"; };
  Json json;
  json["process"] = word(durability->survives_process);
  json["power"] = word(durability->survives_power);
  json["power_loss_seconds"] = nullptr;
  if (durability->power_loss_seconds) json["power_loss_seconds"] = *durability->power_loss_seconds;
  json["consistent_prefix"] = durability->consistent_prefix;
  json["note"] = durability->note;
  return json;
}

Json LibraryJson(const std::optional<LibraryFacts>& library) {
  if (!library) return nullptr;
  Json json = {{"origin", library->origin},     {"assertions", nullptr},
               {"checksum", library->checksum}, {"allocator", library->allocator},
               {"compiler", library->compiler}, {"flags", library->flags}};
  if (library->assertions) json["assertions"] = *library->assertions;
  return json;
}

// Without a log, the engine's own promises do not hold.
std::optional<Durability> DurabilityOf(const DriverFacts& driver, const Engine& engine, bool sync) {
  if (driver.log) return engine.durability(sync);
  return Durability{.note = "writes skip the log: what the engine has written out survives"};
}

void AddIdentity(const DriverFacts& driver, Engine* engine, bool sync, Json* json) {
  (*json)["driver"] = {{"name", driver.name}, {"version", DriverVersion()}};
  (*json)["engine"] = {{"name", engine->engine_name()},
                       {"version", engine->engine_version()},
                       {"summary", engine->summary()},
                       {"caveats", engine->caveats()},
                       {"write_once_files", engine->write_once_files()},
                       {"durability", DurabilityJson(DurabilityOf(driver, *engine, sync))},
                       {"library", LibraryJson(engine->library())}};
  (*json)["build"] = {{"compiler", KVDYNO_COMPILER},
                      {"flags", KVDYNO_CXX_FLAGS},
                      {"type", KVDYNO_BUILD_TYPE},
                      {"sanitizer", KVDYNO_SANITIZER}};
}

Json PhaseJson(const PhaseResult& phase) {
  Json json;
  json["name"] = phase.name;
  if (!phase.covers.empty()) json["covers"] = phase.covers;
  json["started_at"] = phase.started_at;
  json["seconds"] = phase.seconds;
  json["metrics"] = Json::object();
  for (const auto& [name, metric] : MetricsOf(phase)) {
    // JSON has no word for what is not a finite number; such a metric does not exist.
    if (!std::isfinite(metric.value)) continue;
    json["metrics"][name] = {{"value", metric.value}, {"unit", metric.unit}};
  }
  return json;
}

Json OptionJson(const OptionDescriptor& option) {
  Json json;
  json["name"] = option.name;
  json["type"] = OptionTypeName(option.type);
  json["default"] = option.default_text;
  json["effect"] = option.note.effect;
  const bool numeric = option.type == OptionType::kInteger || option.type == OptionType::kReal ||
                       option.type == OptionType::kBytes || option.type == OptionType::kSeconds;
  if (numeric) {
    json["min"] = option.note.min;
    if (option.note.max < std::numeric_limits<double>::max()) json["max"] = option.note.max;
  }
  if (!option.choices.empty()) json["choices"] = option.choices;
  if (!option.words.empty()) json["words"] = option.words;
  json["shapes_data"] = option.note.shapes_data;
  json["shapes_aged_data"] = option.note.shapes_aged_data;
  json["scales"] = option.note.scales;
  return json;
}

Json CostJson(const Cost& cost) {
  Json json = {{"of", cost.of}, {"amount", cost.amount}, {"times", cost.times}};
  if (!cost.where.empty()) json["where"] = cost.where;
  return json;
}

Json OptionsJson(const std::vector<OptionDescriptor>& options) {
  Json json = Json::array();
  for (const OptionDescriptor& option : options) json.push_back(OptionJson(option));
  return json;
}

// Engines' messages may hold bytes that are not UTF-8: keys, file names.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status SystemError(const std::string& action, const std::string& path) {
  return Status::IoError(action + " " + path + ": " + std::strerror(errno));
}

}  // namespace

std::string DriverVersion() { return KVDYNO_VERSION; }

std::string OutcomeJson(const Outcome& outcome, const DriverFacts& driver,
                        const Properties& properties, Engine* engine) {
  Json json;
  json["schema_version"] = "kvdyno.outcome/1";
  AddIdentity(driver, engine, properties.common().sync, &json);
  json["status"] = !outcome.error.ok() ? "failed" : outcome.interrupted ? "interrupted" : "ok";
  json["error"] = nullptr;
  if (!outcome.error.ok()) {
    json["error"] = {{"code", CodeName(outcome.error.code())},
                     {"phase", outcome.error_phase},
                     {"message", outcome.error.message()}};
  }
  json["options"] = engine->options().Values();
  json["properties"] = properties.Values();
  json["phases"] = Json::array();
  for (const PhaseResult& phase : outcome.phases) json["phases"].push_back(PhaseJson(phase));
  json["series"] = nullptr;
  if (!outcome.series.file.empty()) {
    json["series"] = {{"file", outcome.series.file},
                      {"interval_seconds", outcome.series.interval_seconds},
                      {"columns", outcome.series.columns}};
  }
  json["histograms"] = nullptr;
  if (!outcome.histograms.empty()) json["histograms"] = outcome.histograms;
  json["events"] = nullptr;
  if (!outcome.events.empty()) json["events"] = outcome.events;
  return Dump(json);
}

std::string DescribeJson(const DriverFacts& driver, const Properties& properties, Engine* engine) {
  Json json;
  json["schema_version"] = "kvdyno.describe/1";
  AddIdentity(driver, engine, properties.common().sync, &json);
  json["options"] = OptionsJson(engine->options().descriptors());
  json["accepts_other_options"] = engine->options().accepts_others();
  json["properties"] = OptionsJson(properties.table().descriptors());
  json["phases"] = driver.phases;
  json["operations"] = Json::array();
  for (const Operation operation : driver.operations) {
    json["operations"].push_back(OperationName(operation));
  }
  if (driver.skips_log) json["skips_log"] = true;
  for (const Cost& cost : driver.costs) json["costs"].push_back(CostJson(cost));
  return Dump(json);
}

Status WriteFileAtomically(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "w");
  if (file == nullptr) return SystemError("create", temporary);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  Status status = written ? Status::Ok() : SystemError("write", temporary);
  if (std::fclose(file) != 0 && status.ok()) status = SystemError("close", temporary);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError("rename to", path);
  }
  if (!status.ok()) std::remove(temporary.c_str());
  return status;
}

}  // namespace kvdyno
