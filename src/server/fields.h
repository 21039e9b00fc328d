// The fields of a request as a table: one line each with its type, its range and what it sets.
// Reading a body is a walk over its keys; every endpoint thereby treats null (the default), wrong
// types, ranges and unknown names in the same way.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/service.h"
#include "server/json.h"

namespace mlxforge {

// What a request for text asks for, as parsed. Absent optionals mean the model's defaults.
struct GenerationParams {
  std::string model;
  bool stream = false;
  bool include_usage = false;

  std::optional<double> temperature, top_p, min_p;
  std::optional<int> top_k;
  std::optional<uint64_t> seed;

  std::optional<int> max_tokens, max_completion_tokens;
  SamplingParams sampling;  // sampling_fields.h; the rest is filled in by engine_request
  std::optional<std::vector<std::string>> dry_breakers;
  int min_tokens = 0;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_ids;
  bool ignore_eos = false;

  OrderedJson input;  // messages or prompt; its endpoint checks it

  std::vector<std::string> unknown;  // names that no table knows: ignored, and reported
};

enum class FieldType { boolean, integer, number, string, array, object, any };

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct Field {
  const char* name;
  FieldType type;
  // May move from `value`, which is of the type and in range. Null: accepted, has no effect on the
  // answer.
  Status (*set)(OrderedJson& value, GenerationParams& params) = nullptr;
  double min = -kUnbounded;  // of integers and numbers, both ends allowed
  double max = kUnbounded;
  // The one value (as JSON) that may be sent; "null": none. For features that do not exist yet.
  const char* only = nullptr;
};

// A feature to come: `only` asks for nothing and passes, any other value is refused.
constexpr Field later(const char* name, FieldType type, const char* only, double min = -kUnbounded,
                      double max = kUnbounded) {
  return {.name = name, .type = type, .min = min, .max = max, .only = only};
}

using FieldTables = std::initializer_list<std::span<const Field>>;

// Reads `body` (an object) into `params`. The first failure ends it; its param is the field's name.
Status read_fields(OrderedJson& body, FieldTables tables, GenerationParams& params);

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

}  // namespace mlxforge
