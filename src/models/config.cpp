#include "models/config.h"

#include <cmath>

#include "base/check.h"

namespace mlxforge {

ConfigReader::ConfigReader(const Json& object, std::string name)
    : object_(object), name_(std::move(name)) {
  if (!object.is_object())
    fail("models", "expected ", name_, " to be an object, got ", object.type_name());
}

bool ConfigReader::has(std::string_view key) const {
  const auto it = object_.find(key);
  return it != object_.end() && !it->is_null();
}

const Json* ConfigReader::value(std::string_view key) {
  known_.emplace(key);
  return has(key) ? &*object_.find(key) : nullptr;
}

const Json& ConfigReader::at(std::string_view key) {
  const Json* found = value(key);
  if (!found) fail("models", "expected key '", key, "' in ", name_, ", got none");
  return *found;
}

void ConfigReader::mistyped(std::string_view key, std::string_view expected) const {
  fail("models", "expected '", key, "' in ", name_, " to be ", expected, ", got ",
       object_.find(key)->dump().substr(0, 80));
}

int ConfigReader::integer(std::string_view key, int max) {
  const Json& v = at(key);
  if (!v.is_number_integer() || v < 1 || v > max) {
    mistyped(key, str("an integer from 1 to ", max));
  }
  return v.get<int>();
}

int ConfigReader::integer_or(std::string_view key, int absent) {
  return value(key) ? integer(key) : absent;
}

double ConfigReader::number(std::string_view key) {
  const Json& v = at(key);
  if (!v.is_number() || !std::isfinite(v.get<double>())) mistyped(key, "a finite number");
  return v.get<double>();
}

double ConfigReader::number_or(std::string_view key, double absent) {
  return value(key) ? number(key) : absent;
}

bool ConfigReader::boolean_or(std::string_view key, bool absent) {
  const Json* v = value(key);
  if (!v) return absent;
  if (!v->is_boolean()) mistyped(key, "true or false");
  return v->get<bool>();
}

std::string ConfigReader::string(std::string_view key) {
  const Json& v = at(key);
  if (!v.is_string()) mistyped(key, "a string");
  return v.get<std::string>();
}

std::string ConfigReader::string_or(std::string_view key, std::string absent) {
  return value(key) ? string(key) : absent;
}

void ConfigReader::require(std::string_view key, const Json& expected) {
  const Json* v = value(key);
  if (v && *v != expected) mistyped(key, expected.dump() + " (nothing else is supported)");
}

void ConfigReader::ignore(std::initializer_list<std::string_view> inert) {
  known_.insert(inert.begin(), inert.end());
}

void ConfigReader::finish() const {
  for (const auto& [key, v] : object_.items()) {
    if (!known_.contains(key) && !v.is_null()) {
      fail("models", "expected only keys that are understood in ", name_, ", got '", key,
           "' = ", v.dump().substr(0, 80), "; it may change the result, so it is not ignored");
    }
  }
}

}  // namespace mlxforge
