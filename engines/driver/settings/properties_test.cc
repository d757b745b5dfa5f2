// Properties and the command line as people write them.
#include "settings/core_properties.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "settings/command_line.h"

namespace kvdyno {
namespace {

class PropertiesTest : public testing::Test {
 protected:
  PropertiesTest() { engine_.Bytes("cache_size", &cache_size_, {.effect = "Cache."}); }

  Status Parse(const std::vector<std::string>& arguments) {
    return ParseCommandLine(arguments, &properties_, &command_);
  }
  std::string File(const std::string& text) {
    const std::string path = testing::TempDir() + "/kvdyno_properties_test";
    std::ofstream(path) << text;
    return path;
  }
  const Settings& settings() const { return properties_.settings(); }

  uint64_t cache_size_ = 1024;
  OptionTable engine_;
  CoreProperties properties_{"toy", &engine_};
  Command command_;
};

void ExpectMentions(const Status& status, const std::vector<std::string>& words) {
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  for (const std::string& word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos)
        << status.message() << " does not mention " << word;
  }
}

TEST_F(PropertiesTest, LaterOnesWinInTheOrderOfTheLine) {
  const std::string file = File("# a comment\n\n recordcount = 5000000000 \nthreadcount=3\r\n");
  ASSERT_TRUE(Parse({"-threads", "2", "-P", file, "-p", "seed=1", "-p", "seed=9", "-load"}).ok());
  EXPECT_EQ(settings().record_count, 5'000'000'000);
  EXPECT_EQ(settings().thread_count, 3);
  EXPECT_EQ(settings().seed, 9);
  EXPECT_TRUE(settings().do_load);
  EXPECT_FALSE(settings().do_transaction);
}

TEST_F(PropertiesTest, FlagsAreYcsbs) {
  ASSERT_TRUE(Parse({"-t", "-s", "-db", "toy", "-p", "operationcount=7"}).ok());
  EXPECT_TRUE(settings().do_transaction);
  EXPECT_TRUE(settings().status);
  EXPECT_EQ(settings().db_name, "toy");
}

TEST_F(PropertiesTest, SizesAndDurationsHaveUnits) {
  ASSERT_TRUE(properties_.Set("measure.bytes", "64MiB").ok());
  ASSERT_TRUE(properties_.Set("measure.seconds", "250ms").ok());
  EXPECT_EQ(settings().measure_bytes, 64u << 20);
  EXPECT_DOUBLE_EQ(settings().measure_seconds, 0.25);
}

TEST_F(PropertiesTest, OtherSpellingsMeanTheSame) {
  ASSERT_TRUE(properties_.Set("toy.dbname", "/data").ok());
  ASSERT_TRUE(properties_.Set("limit.ops", "100").ok());
  EXPECT_EQ(settings().data_dir, "/data");
  EXPECT_EQ(settings().target, 100);
  ASSERT_TRUE(properties_.Set("toy.destroy", "true").ok());
  EXPECT_TRUE(settings().destroy_data);
  ASSERT_TRUE(properties_.Set("toy.format", "single").ok());
  ExpectMentions(properties_.Set("toy.format", "row"), {"toy.format", "single", "row"});
}

// As the files that come with YCSB are written.
TEST_F(PropertiesTest, WorkloadFilesOfYcsbWorkUnchanged) {
  const std::string file = File(
      "# A mix of our own\n"
      "#   in the form of theirs\n\n"
      "operationcount=5000\nrecordcount=100000\n"
      "workload=com.yahoo.ycsb.workloads.CoreWorkload\n\n"
      "readallfields=true\nwriteallfields=false\n\n"
      "readproportion=0.5\nupdateproportion=0\nscanproportion=0.25\ninsertproportion=0\n"
      "readmodifywriteproportion=0.25\n\n"
      "requestdistribution=latest\nmaxscanlength=10\nscanlengthdistribution=uniform\n\n");
  const Status parsed = Parse({"-load", "-run", "-db", "toy", "-P", file, "-p", "toy.dbname=/d"});
  ASSERT_TRUE(parsed.ok()) << parsed.ToString();
  EXPECT_TRUE(settings().Check("toy").ok());
  EXPECT_EQ(settings().record_count, 100000);
  EXPECT_EQ(settings().max_scan_length, 10);
}

TEST_F(PropertiesTest, ADirectoryIsNoFile) {
  ExpectMentions(Parse({"-P", testing::TempDir()}), {"-P", testing::TempDir(), "readable file"});
}

TEST_F(PropertiesTest, AForeignBindingKeepsItsOwnOptions) {
  std::map<std::string, std::string> others;
  engine_.AcceptOthers(&others);
  for (const char* name : {"toy.format", "toy.destroy", "toy.dbname"}) {
    ASSERT_TRUE(properties_.Set(name, "row").ok()) << name;
  }
  EXPECT_EQ(others, (std::map<std::string, std::string>{{"destroy", "row"}, {"format", "row"}}));
  EXPECT_EQ(settings().data_dir, "row");
}

TEST_F(PropertiesTest, EngineOptionsArePropertiesWithItsPrefix) {
  ASSERT_TRUE(properties_.Set("toy.cache_size", "2KiB").ok());
  EXPECT_EQ(cache_size_, 2048u);
  EXPECT_EQ(properties_.Values().at("toy.cache_size"), "2KiB");
  EXPECT_EQ(properties_.Values().at("recordcount"), "1000");
}

TEST_F(PropertiesTest, UnknownNamesGetTheNearestOne) {
  ExpectMentions(properties_.Set("recordcout", "1"), {"recordcout", "'recordcount'"});
  ExpectMentions(properties_.Set("toy.cache_sizes", "1"), {"'toy.cache_size'"});
  ExpectMentions(properties_.Set("operation_count", "1"), {"'operationcount'"});
  ExpectMentions(Parse({"-laod"}), {"-laod", "'-load'"});
}

TEST_F(PropertiesTest, WrongValuesSayWhatWasExpected) {
  ExpectMentions(properties_.Set("recordcount", "-5"), {"recordcount", "1", "-5"});
  ExpectMentions(properties_.Set("recordcount", "many"), {"integer", "many"});
  ExpectMentions(properties_.Set("requestdistribution", "zipfan"), {"'zipfian'"});
  ExpectMentions(properties_.Set("readproportion", "-0.5"), {"readproportion", "-0.5"});
  ExpectMentions(properties_.Set("readallfields", "false"), {"readallfields", "true", "false"});
  ExpectMentions(properties_.Set("toy.cache_size", "3 parrots"), {"toy.cache_size", "parrots"});
}

TEST_F(PropertiesTest, FilesAreNamedWithTheLine) {
  ExpectMentions(Parse({"-P", File("seed=1\nfieldlenght=3\n")}),
                 {"kvdyno_properties_test:2", "fieldlenght", "'fieldlength'"});
  ExpectMentions(Parse({"-P", File("seed\n")}), {"kvdyno_properties_test:1", "name=value"});
  ExpectMentions(Parse({"-P", "/nowhere"}), {"/nowhere"});
  ExpectMentions(Parse({"-p"}), {"-p", "NAME=VALUE"});
  ExpectMentions(Parse({"-p", "seed"}), {"-p", "name=value", "seed"});
}

TEST_F(PropertiesTest, HelpListsEveryName) {
  ASSERT_TRUE(Parse({"-nonsense", "--help"}).ok());
  EXPECT_EQ(command_.action, Action::kHelp);
  const std::string help = HelpText({"measures toys.", "-run"}, properties_, engine_);
  for (const auto& [name, value] : properties_.Values()) {
    EXPECT_NE(help.find("  " + name + "="), std::string::npos) << name;
  }
}

class CheckTest : public PropertiesTest {
 protected:
  CheckTest() {
    for (const char* pair : {"dotransaction=true", "operationcount=1", "data.dir=/data"}) Put(pair);
  }
  void Put(const std::string& pair) {
    const size_t equals = pair.find('=');
    ASSERT_TRUE(properties_.Set(pair.substr(0, equals), pair.substr(equals + 1)).ok());
  }
  Status Check(const std::vector<std::string>& pairs) {
    for (const std::string& pair : pairs) Put(pair);
    return settings().Check("toy");
  }
};

TEST_F(CheckTest, ACompleteRunIsFine) { EXPECT_TRUE(Check({}).ok()); }
TEST_F(CheckTest, NothingToDo) { ExpectMentions(Check({"dotransaction=false"}), {"-load"}); }
TEST_F(CheckTest, NoPlace) { ExpectMentions(Check({"data.dir="}), {"data.dir"}); }
TEST_F(CheckTest, NoEnd) { ExpectMentions(Check({"operationcount=0"}), {"measure.seconds"}); }
TEST_F(CheckTest, AnotherEngine) { ExpectMentions(Check({"dbname=other"}), {"kvdyno-other"}); }
TEST_F(CheckTest, EmptyingAStoreThatIsOnlyRead) {
  ExpectMentions(Check({"data.destroy=true"}), {"data.destroy", "-load"});
  EXPECT_TRUE(Check({"doload=true"}).ok());
}
TEST_F(CheckTest, HugeValues) {
  ExpectMentions(Check({"fieldcount=1000", "fieldlength=1MiB"}), {"fieldlength", "268435456"});
}
TEST_F(CheckTest, DeletesWriteKeys) {
  const Status status = Check({"measure.bytes=1MiB", "operationcount=0", "readproportion=0",
                               "updateproportion=0", "deleteproportion=1"});
  EXPECT_TRUE(status.ok()) << status.ToString();
}
TEST_F(CheckTest, ScanLengthsCross) {
  ExpectMentions(Check({"minscanlength=9", "maxscanlength=8"}), {"minscanlength", "8", "9"});
}
TEST_F(CheckTest, KeysThatWouldNotSort) {
  ExpectMentions(Check({"zeropadding=3", "recordcount=1001"}), {"zeropadding", "1000"});
  EXPECT_TRUE(Check({"recordcount=1000"}).ok());
}
TEST_F(CheckTest, BytesThatAreNeverWritten) {
  ExpectMentions(Check({"operationcount=0", "measure.bytes=1MiB", "updateproportion=0"}),
                 {"measure.bytes"});
}

}  // namespace
}  // namespace kvdyno
