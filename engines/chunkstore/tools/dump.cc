// chunkstore_dump: shows what the files of a closed store hold. Reads only.
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "manifest/text.h"
#include "tools/dump_document.h"
#include "tools/render.h"

namespace {

constexpr char kUsage[] =
    R"(usage: chunkstore_dump manifest DIR [--limit N] [--json]
       chunkstore_dump chunk DIR KEY [--id] [--json]
       chunkstore_dump funk DIR KEY [--id] [--limit N] [--json]
       chunkstore_dump segment DIR NUMBER [--json]
       chunkstore_dump ring DIR [--limit N] [--json]
       chunkstore_dump warmth DIR [--limit N] [--json]

Shows what the files of a chunk store hold. Writes nothing. The store should be
closed: of an open one, files may vanish while they are read.

  manifest   the store's state, and its chunks in key order
  chunk      the chunk that holds KEY: its range and where its runs lie
  funk       the same, with the blocks and entries of every run
  segment    the runs found in one segment file, referred to or not
  ring       the stages that are not flushed yet, and their entries
  warmth     what the last close saved of each chunk: its use, its log's index

  KEY        any bytes; \xNN is a byte in hexadecimal, \\ a backslash
  --id       KEY is a chunk's number instead
  --limit N  chunks or entries (of a run or stage) shown; default 100, 0: all
  --json     one JSON document instead of text
  --help     this text

Keys are printed in the form that KEY takes. Exit status: 0 shown, 1 it could
not be read, 2 wrong usage.
)";

struct Arguments {
  chunkstore::DumpRequest request;
  bool json = false;
  bool help = false;
};

bool ParseNumber(const std::string& text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// The problem, or nothing.
std::string Parse(int argc, char** argv, Arguments* arguments) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      arguments->help = true;
      return {};
    }
    if (word == "--json") {
      arguments->json = true;
    } else if (word == "--id") {
      arguments->request.by_id = true;
    } else if (word == "--limit") {
      ++i;
      if (i == argc || !ParseNumber(argv[i], &arguments->request.limit)) {
        return "--limit: expected a number, got " + std::string(i < argc ? argv[i] : "nothing");
      }
    } else if (word.starts_with("--")) {
      return word + ": no such flag; --help lists them";
    } else {
      words.push_back(word);
    }
  }
  if (words.empty()) return "expected what to show, got nothing";
  chunkstore::DumpRequest& request = arguments->request;
  request.what = words[0];
  const bool takes_key = request.what == "chunk" || request.what == "funk";
  const bool takes_number = request.what == "segment" || (takes_key && request.by_id);
  if (!takes_key && !takes_number && request.what != "manifest" && request.what != "ring" &&
      request.what != "warmth") {
    return "expected manifest, chunk, funk, segment, ring or warmth, got " + request.what;
  }
  const size_t expected = takes_key || takes_number ? 3 : 2;
  if (words.size() != expected) {
    return request.what + ": expected " + std::to_string(expected - 1) + " arguments, got " +
           std::to_string(words.size() - 1);
  }
  request.directory = words[1];
  if (takes_number && !ParseNumber(words[2], &request.number)) {
    return request.what + ": expected a number, got " + words[2];
  }
  if (takes_key && !takes_number && !chunkstore::Unescaped(words[2], &request.key)) {
    return request.what + ": expected a key with escapes like \\x0a, got " + words[2];
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  const std::string problem = Parse(argc, argv, &arguments);
  if (!problem.empty()) {
    std::fprintf(stderr, "chunkstore_dump: %s\n\n%s", problem.c_str(), kUsage);
    return 2;
  }
  if (arguments.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  chunkstore::Json document;
  const chunkstore::Status status =
      chunkstore::Dump(kvdyno::FileSystem::Posix(), arguments.request, &document);
  const std::string text =
      arguments.json ? chunkstore::RenderJson(document) : chunkstore::RenderText(document);
  if (!document.empty()) std::fputs(text.c_str(), stdout);
  if (status.ok()) return 0;
  std::fprintf(stderr, "chunkstore_dump: %s\n", status.ToString().c_str());
  return 1;
}
