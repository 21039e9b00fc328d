// One function for each kind of option: from its names and the path to its member to the field that
// reads and shows it. For the field list in options.cpp.
#pragma once

#include "base/option_values.h"

namespace mlxforge {

// Members are named by a path of member pointers: field<&Options::engine,
// &EngineOptions::threads>(...).
template <auto First, auto... Rest>
auto& member(auto& object) {
  if constexpr (sizeof...(Rest) == 0)
    return object.*First;
  else
    return member<Rest...>(object.*First);
}

struct Text {
  std::string_view name, value, commands, doc;
};

template <auto... Path>
using Value = std::remove_cvref_t<decltype(member<Path...>(std::declval<Options&>()))>;

// All but parse.
template <auto... Path>
constexpr OptionField described(const Text& text) {
  return {.name = text.name,
          .value = text.value,
          .commands = text.commands,
          .doc = text.doc,
          .is_list = kIsList<Value<Path...>>,
          .show = [](const Options& o) { return show_value(member<Path...>(o)); }};
}

constexpr OptionField secret(OptionField field) {
  field.is_secret = true;
  return field;
}

template <auto... Path>
constexpr OptionField field(const Text& text) {
  OptionField result = described<Path...>(text);
  result.parse = [](Options& o, std::string_view s) {
    member<Path...>(o) = parse_value<Value<Path...>>(s);
  };
  return result;
}

// A whole number within [kLow, kHigh].
template <int64_t kLow, int64_t kHigh, auto... Path>
constexpr OptionField number(const Text& text) {
  OptionField result = described<Path...>(text);
  result.parse = [](Options& o, std::string_view s) {
    member<Path...>(o) = static_cast<Value<Path...>>(parse_integer(s, kLow, kHigh));
  };
  return result;
}

// A real number of at least 0, and at most kHigh unless that is 0.
template <int kHigh, auto... Path>
constexpr OptionField real(const Text& text) {
  OptionField result = described<Path...>(text);
  result.parse = [](Options& o, std::string_view s) { member<Path...>(o) = parse_real(s, kHigh); };
  return result;
}

template <auto... Path>
constexpr OptionField bytes(const Text& text) {
  OptionField result = described<Path...>(text);
  result.parse = [](Options& o, std::string_view s) { member<Path...>(o) = parse_bytes(s); };
  result.show = [](const Options& o) { return show_bytes(member<Path...>(o)); };
  return result;
}

// A file's permissions.
template <auto... Path>
constexpr OptionField mode(const Text& text) {
  OptionField result = described<Path...>(text);
  result.parse = [](Options& o, std::string_view s) { member<Path...>(o) = parse_mode(s); };
  result.show = [](const Options& o) { return show_mode(member<Path...>(o)); };
  return result;
}

// Bytes within [kLow, kHigh].
template <int64_t kLow, int64_t kHigh, auto... Path>
constexpr OptionField size(const Text& text) {
  OptionField result = bytes<Path...>(text);
  result.parse = [](Options& o, std::string_view s) {
    member<Path...>(o) = parse_size(s, kLow, kHigh);
  };
  return result;
}

}  // namespace mlxforge
