// Typed reading of a config object that forgets nothing: every key must be read or be listed as
// inert, so a key that changes the maths and is not understood is a load error that names it. null
// counts as absent.
#pragma once

#include <climits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "files/json.h"

namespace mlxforge {

class ConfigReader {
 public:
  // `name` is what errors call the object ("config.json", "rope_scaling").
  ConfigReader(const Json& object, std::string name);

  bool has(std::string_view key) const;
  int integer(std::string_view key, int max = INT_MAX);  // from 1 to max
  int integer_or(std::string_view key, int absent);
  double number(std::string_view key);  // finite
  double number_or(std::string_view key, double absent);
  bool boolean_or(std::string_view key, bool absent);
  std::string string(std::string_view key);
  std::string string_or(std::string_view key, std::string absent);
  const Json* value(std::string_view key);  // null when absent

  // The key has this value or is absent; anything else would change the maths.
  void require(std::string_view key, const Json& value);
  void ignore(std::initializer_list<std::string_view> inert);
  // Throws Error when a key was neither read nor ignored.
  void finish() const;

 private:
  const Json& at(std::string_view key);
  [[noreturn]] void mistyped(std::string_view key, std::string_view expected) const;

  const Json& object_;
  std::string name_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace mlxforge
