// Single keys: what is written is read, whatever its bytes.
#include "fixture.h"

namespace kvdyno::conformance {

namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

TEST_F(Conformance, FreshStoreHasNothing) {
  ExpectAbsent("key");
  ExpectRows({}, {});
}

TEST_F(Conformance, ReadsItsWrites) {
  ExpectPut("key", "value");
  ExpectGet("key", "value");
  ExpectAbsent("ke");
  ExpectAbsent("key1");
}

TEST_F(Conformance, InsertIsRead) {
  const Status inserted = session().Insert("key", "value");
  ASSERT_TRUE(inserted.ok()) << inserted.ToString();
  ExpectGet("key", "value");
}

TEST_F(Conformance, OverwriteReplacesTheWholeValue) {
  ExpectPut("key", "a long first value");
  ExpectPut("key", "short");
  ExpectGet("key", "short");
  ExpectPut("key", "longer than the first value was");
  ExpectGet("key", "longer than the first value was");
}

TEST_F(Conformance, DeleteRemovesOneKey) {
  ExpectPut("a", "1");
  ExpectPut("b", "2");
  const Status deleted = session().Delete("a");
  ASSERT_TRUE(deleted.ok()) << deleted.ToString();
  ExpectAbsent("a");
  ExpectGet("b", "2");
}

TEST_F(Conformance, DeletedKeyCanBeWrittenAgain) {
  ExpectPut("key", "first");
  ASSERT_TRUE(session().Delete("key").ok());
  ExpectPut("key", "second");
  ExpectGet("key", "second");
}

TEST_F(Conformance, DeleteOfAnAbsentKeyIsOk) {
  const Status deleted = session().Delete("never written");
  EXPECT_TRUE(deleted.ok()) << deleted.ToString();
}

TEST_F(Conformance, EmptyValueIsAValue) {
  ExpectPut("key", "");
  ExpectGet("key", "");
  ExpectRows({}, {{"key", ""}});
}

TEST_F(Conformance, ValuesKeepEveryByte) {
  std::string every_byte;
  for (int byte = 0; byte < 256; byte++) every_byte.push_back(static_cast<char>(byte));
  ExpectPut("key", every_byte);
  ExpectGet("key", every_byte);
}

TEST_F(Conformance, MebibyteValues) {
  for (uint64_t i = 0; i < 4; i++) ExpectPut(NumberedKey(i), RandomBytes(i, kMebibyte));
  for (uint64_t i = 0; i < 4; i++) ExpectGet(NumberedKey(i), RandomBytes(i, kMebibyte));
  Settle();
  for (uint64_t i = 0; i < 4; i++) ExpectGet(NumberedKey(i), RandomBytes(i, kMebibyte));
}

// More than any workload's key, and less than any engine's limit: LMDB's is 511 bytes.
TEST_F(Conformance, LongKeys) {
  const std::string stem(500, 'k');
  ExpectPut(stem + "a", "1");
  ExpectPut(stem + "b", "2");
  ExpectGet(stem + "a", "1");
  ExpectGet(stem + "b", "2");
  ExpectAbsent(stem);
}

// An engine may refuse a longer key, but then with an error.
TEST_F(Conformance, KeysOfAKibibyteWorkOrAreRefused) {
  const std::string key(1024, 'k');
  const Status put = session().Put(key, "value");
  if (put.ok()) {
    ExpectGet(key, "value");
  } else {
    EXPECT_EQ(put.code(), Code::kInvalidArgument) << put.ToString();
    EXPECT_FALSE(put.message().empty());
  }
}

// An engine may refuse the empty key, but then with an error.
TEST_F(Conformance, EmptyKeyWorksOrIsRefused) {
  const Status put = session().Put("", "value");
  if (put.ok()) {
    ExpectGet("", "value");
    ExpectRows({}, {{"", "value"}});
  } else {
    EXPECT_EQ(put.code(), Code::kInvalidArgument) << put.ToString();
    EXPECT_FALSE(put.message().empty());
  }
}

// As single gets would answer, whatever the order of the keys.
TEST_F(Conformance, MultiGetAnswersEachKey) {
  for (uint64_t i = 0; i < 100; i++) ExpectPut(NumberedKey(i), RandomBytes(i, 400));
  Settle();
  ExpectPut(NumberedKey(7), "in memory");
  ASSERT_TRUE(session().Delete(NumberedKey(8)).ok());
  const std::vector<std::string> keys = {NumberedKey(90), NumberedKey(7), NumberedKey(8),
                                         NumberedKey(90), "no such key",  NumberedKey(0)};
  std::vector<std::string> values(1, "left over");
  std::vector<Status> statuses;
  session().MultiGet({keys.begin(), keys.end()}, &values, &statuses);
  ASSERT_EQ(values.size(), keys.size());
  ASSERT_EQ(statuses.size(), keys.size());
  for (const size_t i : {0, 1, 3, 5}) ASSERT_TRUE(statuses[i].ok()) << statuses[i].ToString();
  EXPECT_TRUE(statuses[2].not_found()) << statuses[2].ToString();
  EXPECT_TRUE(statuses[4].not_found()) << statuses[4].ToString();
  EXPECT_EQ(values[1], "in memory");
  EXPECT_TRUE(values[0] == RandomBytes(90, 400) && values[3] == values[0]);
  EXPECT_TRUE(values[5] == RandomBytes(0, 400));
}

TEST_F(Conformance, MultiGetTakesBatchesOfAnySize) {
  for (uint64_t i = 0; i < 300; i++) ExpectPut(NumberedKey(i), std::to_string(i));
  std::vector<std::string> values;
  std::vector<Status> statuses;
  for (const uint64_t size : {300, 1, 0, 40}) {
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < size; i++) keys.push_back(NumberedKey(i));
    session().MultiGet({keys.begin(), keys.end()}, &values, &statuses);
    ASSERT_EQ(values.size(), size);
    ASSERT_EQ(statuses.size(), size);
    for (uint64_t i = 0; i < size; i++) {
      EXPECT_TRUE(statuses[i].ok()) << statuses[i].ToString();
      EXPECT_EQ(values[i], std::to_string(i));
    }
  }
}

TEST_F(Conformance, SessionsSeeEachOther) {
  const std::unique_ptr<Session> other = adapter().NewSession();
  ASSERT_TRUE(other->Put("key", "value").ok());
  ExpectGet("key", "value");
}

}  // namespace

}  // namespace kvdyno::conformance
