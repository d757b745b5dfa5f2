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

}  // namespace
}  // namespace kvdyno
