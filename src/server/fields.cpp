#include "server/fields.h"

#include <cmath>

namespace mlxforge {
namespace {

bool is_integer(const OrderedJson& value) {
  if (!value.is_number_float()) return value.is_number_integer();
  const double real = value.get<double>();
  return real == std::floor(real);  // 10.0 and 1e20 are integers in JSON
}

struct TypeRule {
  const char* name;
  bool (*holds)(const OrderedJson&);
};

// Indexed by FieldType.
constexpr TypeRule kTypes[] = {
    {"a boolean", [](const OrderedJson& v) { return v.is_boolean(); }},
    {"an integer", [](const OrderedJson& v) { return is_integer(v); }},
    {"a number", [](const OrderedJson& v) { return v.is_number(); }},
    {"a string", [](const OrderedJson& v) { return v.is_string(); }},
    {"an array", [](const OrderedJson& v) { return v.is_array(); }},
    {"an object", [](const OrderedJson& v) { return v.is_object(); }},
    {"any value", [](const OrderedJson&) { return true; }},
};

Status check_type(const FieldRule& field, const OrderedJson& value) {
  const TypeRule& rule = kTypes[static_cast<int>(field.type)];
  if (rule.holds(value)) return {};
  return Status::invalid(str("'", field.name, "' must be ", rule.name, ", got ",
                             value.is_number() ? value.dump() : value.type_name()));
}

Status check_range(const FieldRule& field, const OrderedJson& value) {
  if (!value.is_number() || field.type == FieldType::any) return {};
  const double real = value.get<double>();
  if (real >= field.min && real <= field.max) return {};
  std::string rule = str("at least ", field.min);
  if (std::isfinite(field.max)) rule += str(" and at most ", field.max);
  return Status::invalid(str("'", field.name, "' must be ", rule, ", got ", value.dump()));
}

Status check_only(const FieldRule& field, const OrderedJson& value) {
  if (!field.only || value == OrderedJson::parse(field.only)) return {};
  const bool never = OrderedJson::parse(field.only).is_null();
  return Status::invalid(str("'", field.name, "' is not supported yet; leave it out",
                             never ? "" : " or send ", never ? "" : field.only));
}

}  // namespace

Status check_value(const FieldRule& rule, const OrderedJson& value) {
  for (const auto check : {check_type, check_range, check_only})
    if (Status status = check(rule, value); !status.ok()) return status;
  return {};
}

Status read_token_ids(const OrderedJson& list, const char* param, std::vector<int32_t>& ids) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const auto& id : list) {
    if (!id.is_number_integer() || id < 0 || id > kMost)
      return Status::invalid(
          str("'", param, "' must be a list of token ids, got ", id.dump().substr(0, 100)), param);
    ids.push_back(id.get<int32_t>());
  }
  return {};
}

}  // namespace mlxforge
