// The fields of a request as a table: one line each with its type, its range and what it sets in
// the endpoint's parameters. Reading a body is a walk over its keys; every endpoint thereby treats
// null (the default), wrong types, ranges and unknown names in the same way.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/json.h"

namespace mlxforge {

// What the parameters of every endpoint begin with.
struct RequestParams {
  std::string model;
  std::vector<std::string> unknown;  // names that no table knows: ignored, and reported
};

enum class FieldType { boolean, integer, number, string, array, object, any };

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct FieldRule {
  const char* name;
  FieldType type;
  double min, max;
  const char* only;
};

template <class Params>
struct FieldOf {
  const char* name;
  FieldType type;
  // May move from `value`, which is of the type and in range. Null: accepted, has no effect on the
  // answer.
  Status (*set)(OrderedJson& value, Params& params) = nullptr;
  double min = -kUnbounded;  // of integers and numbers, both ends allowed
  double max = kUnbounded;
  // The one value (as JSON) that may be sent; "null": none. For features that do not exist yet.
  const char* only = nullptr;

  FieldRule rule() const { return {name, type, min, max, only}; }
};

template <class Params>
using FieldTablesOf = std::vector<std::span<const FieldOf<Params>>>;

template <class Params>
std::vector<FieldRule> rules_of(const FieldTablesOf<Params>& tables) {
  std::vector<FieldRule> rules;
  for (const auto& table : tables)
    for (const auto& field : table) rules.push_back(field.rule());
  return rules;
}

// Whether `value` is of the field's type, in its range and supported.
Status check_value(const FieldRule& rule, const OrderedJson& value);

// Reads `body` (an object) into `params`. The first failure ends it; its param is the field's name.
template <class Params>
Status read_fields(OrderedJson& body, const FieldTablesOf<Params>& tables, Params& params) {
  const auto find = [&](std::string_view name) -> const FieldOf<Params>* {
    for (const auto& table : tables)
      for (const auto& field : table)
        if (field.name == name) return &field;
    return nullptr;
  };
  for (auto& [name, value] : body.items()) {
    const auto* field = find(name);
    if (!field) params.unknown.push_back(name);
    if (!field || value.is_null()) continue;
    Status status = check_value(field->rule(), value);
    if (status.ok() && field->set) status = field->set(value, params);
    if (status.ok()) continue;
    status.param = field->name;
    return status;
  }
  return {};
}

// Appends the ids in `list`; one that is no integer from 0 to 2^31 - 1 is an error that shows it.
Status read_token_ids(const OrderedJson& list, const char* param, std::vector<int32_t>& ids);

// The value of an `integer` field, clamped to T.
template <class T>
T to_integer(const OrderedJson& value) {
  if (value.is_number_unsigned())
    return static_cast<T>(std::min<uint64_t>(value.get<uint64_t>(), std::numeric_limits<T>::max()));
  const double real = value.get<double>();
  if (real <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (real >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return value.is_number_integer() ? static_cast<T>(value.get<int64_t>()) : static_cast<T>(real);
}

// Setters of fields that are one member of the parameters.
template <auto member, class Params>
Status set_boolean(OrderedJson& value, Params& params) {
  params.*member = value.get<bool>();
  return {};
}
template <auto member, class Params>
Status set_integer(OrderedJson& value, Params& params) {
  params.*member = to_integer<int>(value);
  return {};
}
template <auto member, class Params>
Status set_number(OrderedJson& value, Params& params) {
  params.*member = value.get<double>();
  return {};
}
template <auto member, class Params>
Status set_string(OrderedJson& value, Params& params) {
  params.*member = std::move(value.get_ref<std::string&>());
  return {};
}
// Checked by the endpoint.
template <auto member, class Params>
Status set_json(OrderedJson& value, Params& params) {
  params.*member = std::move(value);
  return {};
}

}  // namespace mlxforge
