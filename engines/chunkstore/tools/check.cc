// chunkstore_check: verifies every checksum and invariant of a closed store. Reads only.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "check/check.h"
#include "tools/render.h"

namespace {

constexpr char kUsage[] =
    R"(usage: chunkstore_check DIR [--json] [--quiet]

Verifies a chunk store from outside: CURRENT, the manifest and what it lists of
chunks and runs, the checksum of every block, the order of all entries, that
keys lie in their chunk's range, and the staging ring. Writes nothing. The
store should be closed: of an open one, files may vanish while they are read.

  --json    one JSON document instead of text
  --quiet   no progress on a terminal
  --help    this text

Each problem is one line with file and offset. Exit status: 0 none, 1 problems,
2 wrong usage or no store that could be checked.
)";

struct Arguments {
  std::string directory;
  bool json = false, quiet = false, help = false;
};

std::string Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      arguments->help = true;
      return {};
    }
    if (word == "--json") {
      arguments->json = true;
    } else if (word == "--quiet") {
      arguments->quiet = true;
    } else if (word.starts_with("--")) {
      return word + ": no such flag; --help lists them";
    } else if (!arguments->directory.empty()) {
      return "expected one directory, got " + word + " as well";
    } else {
      arguments->directory = word;
    }
  }
  return arguments->directory.empty() ? "expected a store's directory, got nothing" : "";
}

void ShowProgress(uint64_t done, uint64_t total) {
  constexpr double kMebibyte = 1 << 20;
  std::fprintf(stderr, "\r%.0f of %.0f MiB%s", static_cast<double>(done) / kMebibyte,
               static_cast<double>(total) / kMebibyte, done == total ? "\n" : "");
}

void ShowText(const std::string& directory, const chunkstore::CheckReport& report) {
  for (const std::string& problem : report.problems) std::printf("%s\n", problem.c_str());
  std::printf("%s: %llu files, %llu blocks, %llu entries, %zu problems\n", directory.c_str(),
              static_cast<unsigned long long>(report.files),
              static_cast<unsigned long long>(report.blocks),
              static_cast<unsigned long long>(report.entries), report.problems.size());
  if (!report.problems.empty()) {
    std::printf("If the store does not open, Store::Repair salvages what is readable.\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  const std::string problem = Parse(argc, argv, &arguments);
  if (!problem.empty()) {
    std::fprintf(stderr, "chunkstore_check: %s\n\n%s", problem.c_str(), kUsage);
    return 2;
  }
  if (arguments.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  chunkstore::CheckProgress progress;
  if (!arguments.quiet && isatty(STDERR_FILENO) != 0) progress = ShowProgress;
  chunkstore::CheckReport report;
  const chunkstore::Status status =
      chunkstore::CheckStore(kvdyno::FileSystem::Posix(), arguments.directory, &report, progress);
  if (!status.ok()) {
    std::fprintf(stderr, "chunkstore_check: %s: %s\n", arguments.directory.c_str(),
                 status.not_found() ? "expected a store, got a directory without CURRENT"
                                    : status.ToString().c_str());
    return 2;
  }
  chunkstore::CheckWarmth(kvdyno::FileSystem::Posix(), arguments.directory, &report);
  if (arguments.json) {
    const chunkstore::Json document = {{"directory", arguments.directory},
                                       {"files", report.files},
                                       {"blocks", report.blocks},
                                       {"entries", report.entries},
                                       {"problems", report.problems}};
    std::fputs(chunkstore::RenderJson(document).c_str(), stdout);
  } else {
    ShowText(arguments.directory, report);
  }
  return report.problems.empty() ? 0 : 1;
}
