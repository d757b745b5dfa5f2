// Properties: one table of a run's settings, for the command line, --help, --describe and the record.
// Borrows the engine's options, which are properties with the engine's prefix ("rocksdb.write_buffer_size"), and the
// settings that it fills; describes those that every driver has. A driver's own table derives from it and describes
// the others.
// Filled by one thread before any other starts; read-only afterwards.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "kvdyno/api/options.h"
#include "kvdyno/base/status.h"
#include "settings/common_settings.h"

namespace kvdyno {

class Properties {
 public:
  // The options must outlive this object.
  Properties(std::string engine_name, OptionTable* engine_options)
      : engine_name_(std::move(engine_name)), engine_options_(engine_options) {}
  virtual ~Properties() = default;
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;

  // InvalidArgument names the property, what was expected and what was found; for an unknown name
  // the nearest known one, the engine's included.
  Status Set(std::string_view name, std::string_view text);

  // Sets all of a property file: "name=value" lines; empty lines and those that begin with # or !
  // are skipped. Errors name file and line.
  Status SetFile(const std::string& path);

  const CommonSettings& common() const { return *common_; }
  const OptionTable& table() const { return table_; }
  const std::string& engine_name() const { return engine_name_; }
  // Whether this driver has the property.
  bool Has(std::string_view name) const;

  // Every property in force, the engine's included.
  std::map<std::string, std::string> Values() const;

 protected:
  // For the constructor of a driver's own table, whose member the settings are.
  void DescribeCommon(CommonSettings* common);
  // Further spellings, each with the property that it stands for.
  virtual std::map<std::string, std::string> OtherSpellings() const;
  // A foreign binding has options that are not listed.
  bool engine_accepts_others() const { return engine_options_->accepts_others(); }

  OptionTable table_;

 private:
  void DescribePlaces(CommonSettings* common);
  void DescribeReporting(CommonSettings* common);
  Status Unknown(std::string_view name) const;

  const std::string engine_name_;
  OptionTable* const engine_options_;
  const CommonSettings* common_ = nullptr;
};

}  // namespace kvdyno
