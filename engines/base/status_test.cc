#include "kvdyno/base/status.h"

#include <gtest/gtest.h>

#include <set>

namespace kvdyno {
namespace {

TEST(Status, IsOkByDefault) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(status.not_found());
  EXPECT_EQ(status.ToString(), "ok");
}

TEST(Status, CarriesCodeAndMessage) {
  const Status status = Status::IoError("write /x/000012.log: expected 4096 bytes, wrote 512");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kIoError);
  EXPECT_EQ(status.ToString(), "io error: write /x/000012.log: expected 4096 bytes, wrote 512");
}

TEST(Status, NotFoundIsAnAnswerWithoutAMessage) {
  EXPECT_TRUE(Status::NotFound().not_found());
  EXPECT_FALSE(Status::NotFound().ok());
  EXPECT_EQ(Status::NotFound().ToString(), "not found");
}

TEST(Status, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (auto code = static_cast<int>(Code::kOk); code <= static_cast<int>(Code::kInternal); ++code) {
    names.insert(CodeName(static_cast<Code>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Code::kInternal) + 1);
  EXPECT_FALSE(names.contains("unknown code"));
}

TEST(Status, HoldsThePlaceOfDamage) {
  const Status plain = Status::Corruption("block checksum: expected 1, got 2");
  EXPECT_EQ(plain.file(), "");
  EXPECT_EQ(plain.offset(), 0u);
  const Status placed = plain.WithPlace("/x/000012.seg", 4096);
  EXPECT_EQ(placed.code(), Code::kCorruption);
  EXPECT_EQ(placed.message(), plain.message());
  EXPECT_EQ(placed.file(), "/x/000012.seg");
  EXPECT_EQ(placed.offset(), 4096u);
  EXPECT_EQ(placed.ToString(),
            "corruption: block checksum: expected 1, got 2 (/x/000012.seg at offset 4096)");
  EXPECT_EQ(Status::NotFound().WithPlace("f", 1).ToString(), "not found (f at offset 1)");
  EXPECT_EQ(Status::Ok().WithPlace("f", 1).ToString(), "ok");
}

TEST(Status, CopiesAreIndependent) {
  Status first = Status::NoSpace("one").WithPlace("f", 1);
  const Status copy = first;
  first = Status::ReadOnly("two");
  EXPECT_EQ(copy.ToString(), "no space: one (f at offset 1)");
  EXPECT_EQ(first.ToString(), "read only: two");
  first = copy;
  EXPECT_EQ(first.ToString(), copy.ToString());
  const Status& same = first;
  first = same;
  EXPECT_EQ(first.ToString(), copy.ToString());
  first = Status::Ok();
  EXPECT_EQ(first.message(), "");
  EXPECT_EQ(copy.message(), "one");
}

}  // namespace
}  // namespace kvdyno
