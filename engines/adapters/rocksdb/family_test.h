// What tests of a family member's engine share: its adapter on a directory of its own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kvdyno/api/adapter.h"

namespace kvdyno {

class FamilyTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Status Open(const std::map<std::string, std::string>& settings, uint64_t cap = 0) {
    for (const auto& [name, text] : settings) {
      if (Status set = adapter_->options().Set(name, text); !set.ok()) return set;
    }
    return adapter_->Open({.directory = directory_, .memory_cap_bytes = cap});
  }

  std::map<std::string, double> Sampled() {
    std::vector<Counter> counters;
    adapter_->Sample(&counters);
    std::map<std::string, double> values;
    for (const Counter& counter : counters) values[counter.name] = counter.value;
    return values;
  }

  // mkdtemp's template.
  std::string directory_ = std::filesystem::temp_directory_path() / "kvdyno-family-XXXXXX";
  std::unique_ptr<Adapter> adapter_ = MakeAdapter();
};

}  // namespace kvdyno
