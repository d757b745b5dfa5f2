// What the driver writes, against the JSON schemas that the harness reads by.
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "testing/driver_fixture.h"

namespace kvdyno {
namespace {

using nlohmann::json;

json LoadSchema(const std::string& name) {
  std::ifstream file(std::string(KVDYNO_SCHEMA_DIR) + "/" + name);
  EXPECT_TRUE(file) << name;
  return json::parse(file);
}

// Empty when the document is valid.
std::string Problems(const std::string& schema_name, const json& document) {
  const json schema_json = LoadSchema(schema_name);
  valijson::Schema schema;
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  const auto fetch = [](const std::string& uri) {
    return new json(LoadSchema(uri.substr(uri.rfind('/') + 1)));
  };
  const auto release = [](const json* fetched) { delete fetched; };
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json), schema, fetch,
                        release);

  valijson::Validator validator;
  valijson::ValidationResults results;
  validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), &results);
  std::string problems;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& part : error.context) problems += part;
    problems += ": " + error.description + "\n";
  }
  return problems;
}

class Schema : public DriverFixture {};

TEST_F(Schema, Describe) {
  ASSERT_EQ(DriveWith({"--describe"}), 0);
  const json document = json::parse(output_);
  EXPECT_EQ(Problems("describe.schema.json", document), "");
  EXPECT_EQ(document["options"].size(), 2u);
  json broken = document;
  broken["properties"][0].erase("effect");
  EXPECT_NE(Problems("describe.schema.json", broken), "");
}

TEST_F(Schema, OutcomeOfARunThatWentWell) {
  ASSERT_EQ(Drive({"-load", "-run"}, {"operationcount=100", "target=10000", "warmup.seconds=0.05"}),
            0);
  json document = OutcomeJson();
  EXPECT_EQ(Problems("outcome.schema.json", document), "");
  EXPECT_EQ(document["events"], "events.csv");
  document["phases"][0]["metrics"]["operations"] = 7;
  EXPECT_NE(Problems("outcome.schema.json", document), "");
}

TEST_F(Schema, OutcomeOfAFailure) {
  engine_.hook = [](std::string_view call, std::string_view) {
    return call == "open" ? Status::IoError("no \xff disk") : Status::Ok();
  };
  ASSERT_EQ(Drive({"-load"}, {}), 2);
  EXPECT_EQ(Problems("outcome.schema.json", OutcomeJson()), "");
}

}  // namespace
}  // namespace kvdyno
