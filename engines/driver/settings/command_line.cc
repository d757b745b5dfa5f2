// Reading the command line, on the main thread before others start. Owns nothing.
#include "settings/command_line.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace kvdyno {
namespace {

struct Flag {
  const char* name;
  const char* argument;  // null: the flag takes none
  const char* property;  // a driver without it has no such flag; null: every driver has it
  const char* effect;
  std::function<Status(Properties*, const std::string&, Command*)> apply;
};

Status ApplyPair(Properties* properties, const std::string& pair, Command* /*command*/) {
  const size_t equals = pair.find('=');
  if (equals == pair.npos) {
    return Status::InvalidArgument("-p: expected name=value, got '" + pair + "'");
  }
  return properties->Set(pair.substr(0, equals), pair.substr(equals + 1));
}

Status ApplyDraws(Properties* /*properties*/, const std::string& text, Command* command) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, command->draws);
  if (error != std::errc() || stop != end || command->draws == 0) {
    return Status::InvalidArgument("--draw: expected a count of draws, got '" + text + "'");
  }
  command->action = Action::kDraw;
  return Status::Ok();
}

const std::vector<Flag>& Flags() {
  const auto truth = [](const char* property) {
    return [property](Properties* p, const std::string&, Command*) {
      return p->Set(property, "true");
    };
  };
  const auto text = [](const char* property) {
    return [property](Properties* p, const std::string& value, Command*) {
      return p->Set(property, value);
    };
  };
  static const std::vector<Flag> flags = {
      {"-load", nullptr, "doload", "load the records", truth("doload")},
      {"-run", nullptr, "dotransaction", "run the mix", truth("dotransaction")},
      {"-t", nullptr, "dotransaction", "the same as -run", truth("dotransaction")},
      {"-db", "NAME", "dbname", "the engine, which must be this program's", text("dbname")},
      {"-P", "FILE", nullptr, "read properties from a file",
       [](Properties* p, const std::string& file, Command*) { return p->SetFile(file); }},
      {"-p", "NAME=VALUE", nullptr, "set a property", ApplyPair},
      {"-threads", "N", "threadcount", "client threads", text("threadcount")},
      {"-s", nullptr, "status", "print status lines", truth("status")},
      {"--draw", "COUNT", "requestdistribution",
       "run nothing; print what so many draws from the mix choose, as CSV", ApplyDraws},
  };
  return flags;
}

std::vector<Flag> FlagsOf(const Properties& properties) {
  std::vector<Flag> flags;
  for (const Flag& flag : Flags()) {
    if (flag.property == nullptr || properties.Has(flag.property)) flags.push_back(flag);
  }
  return flags;
}

bool Has(const std::vector<std::string>& arguments, std::initializer_list<const char*> spellings) {
  return std::any_of(spellings.begin(), spellings.end(), [&](const char* spelling) {
    return std::find(arguments.begin(), arguments.end(), spelling) != arguments.end();
  });
}

Status UnknownFlag(const std::string& argument, const std::vector<Flag>& flags) {
  std::vector<std::string> known = {"--help", "--version", "--describe"};
  for (const Flag& flag : flags) known.push_back(flag.name);
  const std::string nearest = NearestWord(argument, known);
  return Status::InvalidArgument(
      argument + ": expected a flag, got an unknown word; " +
      (nearest.empty() ? "--help lists them" : "did you mean '" + nearest + "'?"));
}

void AppendOptions(const std::vector<OptionDescriptor>& options, const std::string& prefix,
                   std::string* text) {
  for (const OptionDescriptor& option : options) {
    const std::string value = option.default_text.empty() ? "(empty)" : option.default_text;
    *text += "  " + prefix + option.name + "=" + value + "  [" +
             std::string(OptionTypeName(option.type));
    for (size_t i = 0; i < option.choices.size(); ++i) {
      *text += (i == 0 ? ": " : ", ") + option.choices[i];
    }
    for (const std::string& word : option.words) *text += " or " + word;
    *text += "]\n      " + option.note.effect + "\n";
  }
}

}  // namespace

Status ParseCommandLine(const std::vector<std::string>& arguments, Properties* properties,
                        Command* command) {
  command->action = Has(arguments, {"--help", "-h"}) ? Action::kHelp
                    : Has(arguments, {"--version"})  ? Action::kVersion
                    : Has(arguments, {"--describe"}) ? Action::kDescribe
                                                     : Action::kRun;
  if (command->action != Action::kRun) return Status::Ok();
  const std::vector<Flag> flags = FlagsOf(*properties);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto flag = std::find_if(flags.begin(), flags.end(),
                                   [&](const Flag& f) { return arguments[i] == f.name; });
    if (flag == flags.end()) return UnknownFlag(arguments[i], flags);
    if (flag->argument != nullptr && ++i == arguments.size()) {
      return Status::InvalidArgument(std::string(flag->name) + ": expected " + flag->argument +
                                     ", got the end of the command line");
    }
    if (Status s = flag->apply(properties, arguments[i], command); !s.ok()) return s;
  }
  return Status::Ok();
}

std::string HelpText(const Usage& usage, const Properties& properties,
                     const OptionTable& engine_options) {
  const std::string& engine = properties.engine_name();
  std::string text = "kvdyno-" + engine + ": " + usage.purpose + "\n\nUsage: kvdyno-" + engine +
                     " " + usage.arguments + "\n\nFlags:\n";
  for (const Flag& flag : FlagsOf(properties)) {
    std::string spelling = flag.name;
    if (flag.argument != nullptr) spelling += std::string(" ") + flag.argument;
    spelling.resize(std::max(spelling.size(), size_t{16}), ' ');
    text += "  " + spelling + "  " + flag.effect + "\n";
  }
  text +=
      "  --describe        print engine, options and properties as JSON\n"
      "  --help, -h        print this\n"
      "  --version         print versions\n"
      "\nProperties, with their defaults:\n";
  AppendOptions(properties.table().descriptors(), "", &text);
  text += "\nOptions of " + engine + ":\n";
  AppendOptions(engine_options.descriptors(), engine + ".", &text);
  text +=
      "\nExit status: 0 done; 1 wrong usage; 2 the engine or the system failed; 3 data read is not "
      "data\nwritten; 4 interrupted.\n";
  return text;
}

}  // namespace kvdyno
