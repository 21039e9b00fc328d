#include "server/api/openapi.h"

#include <gtest/gtest.h>

#include <set>

#include "server/api/api.h"
#include "server/api/openapi_operations.h"
#include "server/openapi/schemas.h"

namespace mlxforge {
namespace {

using Names = std::set<std::string>;

Names keys(const OrderedJson& object) {
  Names out;
  for (const auto& [name, value] : object.items()) out.insert(name);
  return out;
}

Names names(const std::vector<FieldRule>& rules) {
  Names out;
  for (const FieldRule& rule : rules) out.insert(rule.name);
  return out;
}

TEST(OpenApi, HasTheEndpointsAndNoOthers) {
  Names served, described;
  for (const Endpoint& e : endpoints()) served.insert(str(e.method, " ", e.path));
  for (const Operation& o : operations()) described.insert(str(o.method, " ", o.path));
  EXPECT_EQ(served, described);
}

TEST(OpenApi, HasTheFieldsOfEachRequestAndNoOthers) {
  const OrderedJson schemas = openapi_document()["components"]["schemas"];
  for (const Operation& operation : operations()) {
    const auto& request = operation.request;
    EXPECT_EQ(request.schema != nullptr, operation.method == "POST") << operation.path;
    if (!request.fields) continue;
    const Names fields = names(request.fields());
    EXPECT_EQ(keys(schemas[request.schema]["properties"]), fields) << request.schema;
    EXPECT_EQ(fields.size(), request.fields().size()) << request.schema << " has one twice";
  }
}

TEST(OpenApi, DescribesNoFieldThatNoRequestHas) {
  Names all;
  for (const Operation& operation : operations())
    if (operation.request.fields) all.merge(names(operation.request.fields()));
  for (const std::string& name : keys(OrderedJson::parse(kOpenApiSchemas)["fields"]))
    EXPECT_TRUE(all.contains(name)) << name;
}

TEST(OpenApi, SaysWhatTheTablesSay) {
  const OrderedJson chat = openapi_document()["components"]["schemas"]["ChatCompletionRequest"];
  const OrderedJson null = {{"type", "null"}};
  const auto expect = [&](const char* field, const OrderedJson& schema) {
    EXPECT_EQ(chat["properties"][field]["anyOf"], OrderedJson::array({schema, null})) << field;
  };
  expect("top_p", {{"type", "number"}, {"minimum", 0}, {"maximum", 1}});
  expect("top_k", {{"type", "integer"}, {"minimum", -1}});
  expect("repetition_penalty", {{"type", "number"}, {"minimum", 0.01}, {"maximum", 100}});
  expect("modalities", {{"const", {"text"}}});
  EXPECT_EQ(chat["properties"]["messages"]["$ref"], "#/components/schemas/ChatMessages");
}

}  // namespace
}  // namespace mlxforge
