// ProgramFixture: runs a whole driver inside the test program and reads what it leaves behind.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace kvdyno {

class ProgramFixture : public testing::Test {
 protected:
  using Main = int(int argc, char** argv);

  ProgramFixture(std::string program, Main* main) : program_(std::move(program)), main_(main) {
    std::string pattern = testing::TempDir() + "/kvdyno_driver_XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~ProgramFixture() override { std::filesystem::remove_all(root_); }

  // The arguments exactly as they are. Returns the exit status; output_ and errors_ are set.
  int DriveWith(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program_);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int exit_status = main_(static_cast<int>(argv.size()), argv.data());
    output_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return exit_status;
  }

  // Flags, then properties, with places to work in.
  int Drive(const std::vector<std::string>& flags, const std::vector<std::string>& properties) {
    std::vector<std::string> arguments = flags;
    const auto add = [&](const std::string& property) {
      arguments.insert(arguments.end(), {"-p", property});
    };
    add("data.dir=" + root_ + "/data");
    add("output.dir=" + root_ + "/output");
    for (const std::string& property : properties) add(property);
    return DriveWith(arguments);
  }

  std::string Output(const std::string& file) const {
    std::ifstream stream(root_ + "/output/" + file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  }

  nlohmann::json OutcomeJson() const { return nlohmann::json::parse(Output("outcome.json")); }

  std::vector<std::string> PhaseNames() const {
    std::vector<std::string> names;
    const nlohmann::json outcome = OutcomeJson();
    for (const auto& phase : outcome["phases"]) names.push_back(phase["name"]);
    return names;
  }

  // Fails the test and returns an empty object when there is no such phase.
  nlohmann::json Phase(const std::string& name) const {
    const nlohmann::json outcome = OutcomeJson();
    for (const auto& phase : outcome["phases"]) {
      if (phase["name"] == name) return phase;
    }
    ADD_FAILURE() << "no phase " << name;
    return {};
  }

  double MetricOf(const std::string& phase, const std::string& metric) const {
    const nlohmann::json metrics = Phase(phase)["metrics"];
    if (metrics.contains(metric)) return metrics[metric]["value"];
    ADD_FAILURE() << "no metric " << metric << " in " << phase;
    return 0;
  }

  std::string root_;
  std::string output_;
  std::string errors_;

 private:
  const std::string program_;
  Main* const main_;
};

}  // namespace kvdyno
