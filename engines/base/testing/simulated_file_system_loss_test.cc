// What a power loss leaves, over many seeds: single rules, and random calls against a plain model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "kvdyno/base/testing/simulated_file_system.h"

namespace kvdyno::testing {
namespace {

constexpr size_t kSector = 512;
constexpr size_t kPage = 4096;
constexpr uint64_t kSeeds = 200;

void Ok(const Status& status) { ASSERT_TRUE(status.ok()) << status.ToString(); }

void Put(SimulatedFileSystem* files, const std::string& path, std::string_view content, bool sync) {
  std::unique_ptr<WritableFile> file;
  Ok(files->Create(path, false, &file));
  Ok(file->Append(content));
  if (sync) Ok(file->Sync());
}

std::string Get(FileSystem* files, const std::string& path) {
  std::string content;
  Ok(ReadWholeFile(files, path, &content));
  return content;
}

// Everything there is, by name; directories are not looked into.
std::map<std::string, std::string> Everything(FileSystem* files) {
  std::map<std::string, std::string> all;
  std::vector<std::string> names;
  Ok(files->List("/", &names));
  for (const std::string& name : names) all[name] = Get(files, "/" + name);
  return all;
}

void Cycle(SimulatedFileSystem* files, Loss loss) {
  files->LosePower(loss);
  files->Restart();
}

// How many sectors of a kind `content` has, whose sectors were 'o' and were to become 'n'.
struct Sectors {
  size_t old_ones = 0, new_ones = 0, torn = 0;
  bool later_than_a_lost_one = false;

  explicit Sectors(const std::string& content) {
    for (size_t at = 0; at < content.size(); at += kSector) {
      const std::string sector = content.substr(at, kSector);
      const auto fresh = static_cast<size_t>(std::count(sector.begin(), sector.end(), 'n'));
      if (fresh == sector.size()) {
        ++new_ones;
        later_than_a_lost_one |= old_ones > 0;
      } else if (fresh == 0) {
        ++old_ones;
      } else {
        ++torn;
        EXPECT_EQ(sector.find_last_of('n') + 1, fresh) << "a torn sector has its beginning";
      }
    }
  }
};

TEST(SimulatedLoss, DecidesEachSectorOfAMapping) {
  size_t mixed = 0, none = 0, all = 0, torn = 0, reordered = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedFileSystem files(seed);
    const Loss loss = seed % 2 == 0 ? Loss::kRandom : Loss::kTorn;
    std::unique_ptr<MappedFile> mapping;
    Ok(files.Map("/m", 4 * kPage, &mapping));
    std::memset(mapping->data(), 'o', mapping->size());
    Ok(mapping->Sync());
    Ok(files.SyncDirectory("/"));
    std::memset(mapping->data() + kPage, 'n', 2 * kPage);
    Cycle(&files, loss);
    const std::string content = Get(&files, "/m");
    ASSERT_EQ(content.size(), 4 * kPage);
    EXPECT_EQ(content.substr(0, kPage) + content.substr(3 * kPage), std::string(2 * kPage, 'o'));
    const Sectors sectors(content.substr(kPage, 2 * kPage));
    EXPECT_LE(sectors.torn, loss == Loss::kTorn ? 1u : 0u);
    torn += sectors.torn;
    none += sectors.new_ones == 0;
    all += sectors.old_ones + sectors.torn == 0;
    mixed += sectors.new_ones > 0 && sectors.old_ones > 0;
    reordered += sectors.later_than_a_lost_one;
  }
  for (const size_t often : {mixed, none, all, torn, reordered}) EXPECT_GT(often, kSeeds / 50);
}

TEST(SimulatedLoss, LeavesZerosInsideTheKeptSizeOfAppends) {
  std::set<size_t> sizes;
  size_t holes = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedFileSystem files(seed);
    const std::string synced(1000, 's');
    std::unique_ptr<WritableFile> file;
    Ok(files.Create("/a", false, &file));
    Ok(file->Append(synced));
    Ok(file->Sync());
    Ok(files.SyncDirectory("/"));
    for (int i = 0; i < 10; ++i) Ok(file->Append(std::string(777, 'n')));
    Cycle(&files, Loss::kRandom);
    const std::string content = Get(&files, "/a");
    ASSERT_GE(content.size(), synced.size());
    ASSERT_LE(content.size(), 8770u);
    EXPECT_EQ(content.substr(0, synced.size()), synced);
    EXPECT_EQ(content.find_first_not_of(std::string("n\0", 2), synced.size()), std::string::npos);
    for (size_t at = 2 * kSector; at + kSector <= content.size(); at += kSector) {
      const std::string sector = content.substr(at, kSector);
      EXPECT_EQ(sector, std::string(kSector, sector[0])) << "whole sectors only";
      holes += sector[0] == '\0' && content.find('n', at) != std::string::npos;
    }
    sizes.insert(content.size());
  }
  EXPECT_TRUE(sizes.contains(1000) && sizes.contains(8770));
  EXPECT_GT(sizes.size(), 10u);
  EXPECT_GT(holes, 0u);
}

TEST(SimulatedLoss, KeepsTheOldStateOfARenameOrTheNew) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedFileSystem files(seed);
    const auto loss = static_cast<Loss>(seed % 4);
    const bool during = seed % 8 < 4;
    Put(&files, "/current", "old", true);
    Ok(files.SyncDirectory("/"));
    Put(&files, "/new", "new", true);
    if (during) files.LosePowerAfter(1, loss);
    EXPECT_EQ(files.Rename("/new", "/current").ok(), !during);
    if (!during) files.LosePower(loss);
    files.Restart();
    const std::string current = Get(&files, "/current");
    EXPECT_TRUE(current == "old" || current == "new") << current;
    EXPECT_FALSE(current == "new" && files.Exists("/new"));
    seen.insert(std::to_string(static_cast<int>(loss)) + (during ? " during " : " after ") +
                current);
  }
  // Without an interruption, dropping and keeping all have one outcome each.
  EXPECT_EQ(seen.size(), 14u);
}

TEST(SimulatedLoss, NeverLosesAFileThatOnlyMoved) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedFileSystem files(seed);
    Ok(files.CreateDirectory("/aside"));
    Put(&files, "/current", "first", true);
    Ok(files.SyncDirectory("/"));
    Ok(files.Rename("/current", "/aside/previous"));
    Put(&files, "/new", "second", true);
    Ok(files.Rename("/new", "/current"));
    if (seed % 3 == 0) files.LosePowerAfter(1, Loss::kRandom);
    const Status synced = files.SyncDirectory(seed % 2 == 0 ? "/aside" : "/");
    const bool durable = synced.ok();
    Cycle(&files, Loss::kRandom);
    if (files.Exists("/aside/previous")) {
      EXPECT_EQ(Get(&files, "/aside/previous"), "first");
      EXPECT_TRUE(!files.Exists("/current") || Get(&files, "/current") == "second");
    } else {
      EXPECT_FALSE(durable);
      EXPECT_EQ(Get(&files, "/current"), "first");
    }
    if (durable && seed % 2 == 1) {
      EXPECT_EQ(Get(&files, "/current"), "second");
    }
  }
}

TEST(SimulatedLoss, InterruptsSyncsAndAppendsInTheMiddle) {
  size_t nothing = 0, part = 0, everything = 0;
  std::set<size_t> appended;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedFileSystem files(seed);
    std::unique_ptr<MappedFile> mapping;
    Ok(files.Map("/m", 2 * kPage, &mapping));
    std::memset(mapping->data(), 'o', mapping->size());
    Ok(mapping->Sync());
    Put(&files, "/a", "", true);
    Ok(files.SyncDirectory("/"));
    std::memset(mapping->data(), 'n', mapping->size());
    files.LosePowerAfter(1, Loss::kDropAll);
    EXPECT_EQ(mapping->Sync(0, kPage).code(), Code::kIoError);
    files.Restart();
    const std::string content = Get(&files, "/m");
    EXPECT_EQ(content.substr(kPage), std::string(kPage, 'o')) << "not asked for";
    const Sectors sectors(content.substr(0, kPage));
    ++(sectors.new_ones == 0 ? nothing : sectors.old_ones == 0 ? everything : part);

    std::unique_ptr<WritableFile> file;
    Ok(files.Create("/a", false, &file));
    files.LosePowerAfter(1, Loss::kKeepAll);
    EXPECT_EQ(file->Append(std::string(100, 'x')).code(), Code::kIoError);
    files.Restart();
    appended.insert(Get(&files, "/a").size());
  }
  for (const size_t often : {nothing, part, everything}) EXPECT_GT(often, 0u);
  EXPECT_GT(appended.size(), 50u);
  EXPECT_LE(*appended.rbegin(), 100u);
}

// The plain model: whole strings, and names that lead to them.
class Model {
 public:
  Model(SimulatedFileSystem* files, uint64_t seed) : files_(files), random_(seed) {}

  void Step() {
    switch (Below(12)) {
      case 0:
      case 1:
        return Create();
      case 2:
      case 3:
      case 4:
        return Append();
      case 5:
        return Sync();
      case 6:
        return Rename();
      case 7:
        return Remove();
      case 8:
        return Truncate();
      case 9:
        return Punch();
      case 10:
        return Store();
      default:
        return SyncDirectory();
    }
  }

  void Lose(Loss loss) {
    writer_.reset();
    Cycle(files_, loss);
    const auto real = Everything(files_);
    if (loss == Loss::kKeepAll) {
      EXPECT_EQ(real, Contents(now_, &File::now));
    } else if (loss == Loss::kDropAll) {
      EXPECT_EQ(real, Contents(durable_, &File::durable));
    } else {
      CheckPlausible(real);
    }
    now_.clear();
    for (const auto& [name, content] : real) {
      now_[name] = std::make_shared<File>(File{content, content, content.size()});
    }
    durable_ = now_;
    had_.clear();
  }

 private:
  struct File {
    std::string now, durable;
    size_t smallest = 0;  // since the last sync
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  std::string AnyName() { return std::string(1, static_cast<char>('a' + Below(5))); }
  static std::map<std::string, std::string> Contents(const Names& names,
                                                     std::string File::* content) {
    std::map<std::string, std::string> all;
    for (const auto& [name, file] : names) all[name] = (*file).*content;
    return all;
  }

  void Create() {
    const std::string name = AnyName();
    Ok(files_->Create("/" + name, false, &writer_));
    auto& file = now_[name];
    if (!file) {
      file = std::make_shared<File>();
      had_.emplace(name, file);
    }
    file->now.clear();
    file->smallest = 0;
    written_ = file;
    at_ = 0;
  }
  void Append() {
    if (!writer_) return;
    const std::string bytes(Below(3) == 0 ? Below(3 * kPage) : Below(700),
                            static_cast<char>('A' + Below(26)));
    Ok(writer_->Append(bytes));
    if (written_->now.size() < at_ + bytes.size()) written_->now.resize(at_ + bytes.size());
    written_->now.replace(at_, bytes.size(), bytes);
    at_ += bytes.size();
  }
  void Sync() {
    if (!writer_) return;
    Ok(writer_->Sync());
    written_->durable = written_->now;
    written_->smallest = written_->now.size();
  }
  void Rename() {
    const std::string from = AnyName(), to = AnyName();
    const Status status = files_->Rename("/" + from, "/" + to);
    ASSERT_EQ(status.ok(), now_.contains(from)) << status.ToString();
    if (!status.ok() || from == to) return;
    had_.emplace(to, now_[from]);
    had_.emplace(from, nullptr);
    now_[to] = now_[from];
    now_.erase(from);
  }
  void Remove() {
    const std::string name = AnyName();
    const Status status = files_->Remove("/" + name);
    ASSERT_EQ(status.ok(), now_.erase(name) == 1) << status.ToString();
    if (status.ok()) had_.emplace(name, nullptr);
  }
  void Truncate() {
    const std::string name = AnyName();
    if (!now_.contains(name)) return;
    File& file = *now_[name];
    file.now.resize(Below(file.now.size() + 1 + Below(2) * kPage));
    file.smallest = std::min(file.smallest, file.now.size());
    Ok(files_->Truncate("/" + name, file.now.size()));
  }
  void Punch() {
    const std::string name = AnyName();
    if (!now_.contains(name)) return;
    std::string& content = now_[name]->now;
    const size_t first = Below(3), count = Below(3);
    Ok(files_->PunchHole("/" + name, first * kPage, count * kPage));
    const size_t end = std::min((first + count) * kPage, content.size() / kPage * kPage);
    for (size_t at = first * kPage; at < end; ++at) content[at] = '\0';
  }
  // Maps, stores, perhaps syncs, unmaps.
  void Store() {
    const std::string name = AnyName();
    if (!now_.contains(name) || now_[name]->now.empty()) return;
    File& file = *now_[name];
    std::unique_ptr<MappedFile> mapping;
    Ok(files_->Map("/" + name, file.now.size(), &mapping));
    EXPECT_EQ(std::string_view(mapping->data(), mapping->size()), file.now);
    const size_t offset = Below(file.now.size());
    const size_t length = Below(file.now.size() - offset + 1);
    std::memset(mapping->data() + offset, static_cast<int>('0' + Below(10)), length);
    std::memcpy(file.now.data() + offset, mapping->data() + offset, length);
    if (Below(2) == 0) return;
    Ok(mapping->Sync());
    file.durable = file.now;
    file.smallest = file.now.size();
  }
  void SyncDirectory() {
    Ok(files_->SyncDirectory("/"));
    durable_ = now_;
    had_.clear();
  }

  void CheckPlausible(const std::map<std::string, std::string>& real) {
    for (const auto& [name, file] : durable_) {
      EXPECT_TRUE(real.contains(name) || had_.contains(name)) << name << " was durable";
    }
    for (const auto& [name, content] : real) {
      bool plausible = durable_.contains(name) && Plausible(content, *durable_[name]);
      for (auto [at, end] = had_.equal_range(name); at != end; ++at) {
        plausible |= at->second && Plausible(content, *at->second);
      }
      EXPECT_TRUE(plausible) << name << " of " << content.size() << " bytes";
    }
  }
  static bool Plausible(const std::string& content, const File& file) {
    const auto mixed = [&](size_t end) {
      for (size_t at = 0; at < end; ++at) {
        if (content[at] != file.durable[at] && content[at] != file.now[at]) return false;
      }
      return true;
    };
    const auto appended = [&](size_t from) {
      for (size_t at = from; at < content.size(); ++at) {
        if (content[at] != '\0' && content[at] != file.now[at]) return false;
      }
      return true;
    };
    const size_t cut = file.smallest;  // a truncation, if there was one; else the durable size
    const bool as_cut =
        content.size() >= cut && content.size() <= file.now.size() && mixed(cut) && appended(cut);
    const bool as_uncut = content.size() == file.durable.size() && mixed(cut) &&
                          content.compare(cut, std::string::npos, file.durable, cut) == 0;
    return as_cut || as_uncut;
  }

  SimulatedFileSystem* files_;
  std::mt19937_64 random_;
  Names now_, durable_;
  std::multimap<std::string, std::shared_ptr<File>> had_;  // names' changes that are not durable
  std::unique_ptr<WritableFile> writer_;
  std::shared_ptr<File> written_;
  size_t at_ = 0;
};

TEST(SimulatedLoss, AgreesWithAPlainModel) {
  for (uint64_t seed = 0; seed < kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedFileSystem files(seed);
    Model model(&files, seed);
    for (int loss = 0; loss < 8; ++loss) {
      for (int step = 0; step < 40; ++step) model.Step();
      model.Lose(static_cast<Loss>((seed + static_cast<uint64_t>(loss)) % 4));
    }
  }
}

TEST(SimulatedLoss, IsTheSameForTheSameSeed) {
  const auto run = [](uint64_t seed) {
    SimulatedFileSystem files(seed);
    Model model(&files, 1);  // the same calls always
    for (int step = 0; step < 200; ++step) model.Step();
    files.LosePowerAfter(1, Loss::kTorn);
    EXPECT_FALSE(files.SyncDirectory("/").ok());
    files.Restart();
    return Everything(&files);
  };
  std::set<std::map<std::string, std::string>> outcomes;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto first = run(seed);
    EXPECT_EQ(first, run(seed)) << "seed " << seed;
    outcomes.insert(first);
  }
  EXPECT_GT(outcomes.size(), 5u);
}

}  // namespace
}  // namespace kvdyno::testing
