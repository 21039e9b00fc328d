#include "server/foreign_fields.h"

#include <gtest/gtest.h>

#include "server/testing/api_fixture.h"

namespace mlxforge {
namespace {

using ForeignFields = Api;

// A value of the field's type that asks for something.
OrderedJson other_value(const Field& field) {
  switch (field.type) {
    case FieldType::boolean:
      return !field.only || OrderedJson::parse(field.only) == false;
    case FieldType::string:
      return "x";
    case FieldType::array:
      return OrderedJson::array({1});
    case FieldType::object:
      return {{"a", 1}};
    default:
      return 7;
  }
}

TEST_F(ForeignFields, PassWithTheValueThatAsksForNothingAlone) {
  const auto check = [&](std::span<const Field> fields, const auto& send) {
    for (const Field& field : fields) {
      const auto with = [&](const OrderedJson& value) {
        return send(str('"', field.name, "\":", value.dump()));
      };
      const OrderedJson passes = field.only ? OrderedJson::parse(field.only) : other_value(field);
      for (const OrderedJson& value : {passes, OrderedJson()})
        EXPECT_TRUE(std::get<Generation>(with(value)).headers.empty()) << field.name;
      if (field.only) expect_error(with(other_value(field)), 400, field.name, field.name);
    }
  };
  const auto to_chat = [&](const std::string& fields) { return chat(fields); };
  const auto to_completions = [&](const std::string& fields) { return complete(fields); };
  check(foreign_fields(), to_chat);
  check(foreign_fields(), to_completions);
  check(foreign_chat_fields(), to_chat);
  check(foreign_completion_fields(), to_completions);
}

}  // namespace
}  // namespace mlxforge
