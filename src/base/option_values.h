// How one option's value is read and shown. Every parse_* throws Error with what it expected and
// what it got.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/options.h"

namespace mlxforge {

int64_t parse_integer(std::string_view text, int64_t low, int64_t high);
// A command-line count such as generate's N: at least 1. Throws UsageError naming `what`.
int parse_count(std::string_view text, std::string_view what);
uint64_t parse_unsigned(std::string_view text);
float parse_real(std::string_view text, int high);  // at least 0; at most `high` unless that is 0
bool parse_bool(std::string_view text);             // true|1|false|0
// "auto" is 0. K, M, G, T and KiB, MiB, ... are powers of 1024, KB, MB, ... of 1000.
int64_t parse_bytes(std::string_view text);
// The same without "auto".
int64_t parse_size(std::string_view text, int64_t low, int64_t high);
std::string show_bytes(int64_t bytes);  // "auto", "4MiB", "1000"

int parse_mode(std::string_view text);  // a file's permissions, octal
std::string show_mode(int mode);

std::vector<std::string> split(std::string_view text, char separator);  // empty parts are dropped
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

// The names of an enum's values, in their order.
template <class Enum>
inline constexpr std::string_view kNames[] = {""};
template <>
inline constexpr std::string_view kNames<Device>[] = {"auto", "cpu", "cuda", "metal"};
template <>
inline constexpr std::string_view kNames<Activations>[] = {"auto", "int8", "float"};
template <>
inline constexpr std::string_view kNames<KvDtype>[] = {"auto", "f32", "f16", "bf16"};
template <>
inline constexpr std::string_view kNames<Against>[] = {"none", "float"};
template <>
inline constexpr std::string_view kNames<KernelChoice>[] = {"auto", "reference"};
template <>
inline constexpr std::string_view kNames<ReasoningChoice>[] = {"auto", "on", "off"};
template <>
inline constexpr std::string_view kNames<ToolParserChoice>[] = {"auto",    "hermes", "mistral-args",
                                                                "mistral", "llama3", "json"};
template <>
inline constexpr std::string_view kNames<LogFormat>[] = {"pretty", "json"};
template <>
inline constexpr std::string_view kNames<LogLevel>[] = {"debug", "info", "warn", "error"};

size_t parse_choice(std::string_view text, std::span<const std::string_view> names);

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <class T>
T parse_value(std::string_view text) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<T>(parse_choice(text, kNames<T>));
  else if constexpr (std::is_same_v<T, bool>)
    return parse_bool(text);
  else if constexpr (std::is_same_v<T, std::optional<uint64_t>>)
    return parse_unsigned(text);
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return split(text, ',');
  else if constexpr (std::is_same_v<T, std::vector<int>>) {
    std::vector<int> result;
    for (const std::string& part : split(text, ',')) result.push_back(parse_integer(part, 1, 4096));
    if (result.empty()) throw Error("expected at least one number");
    return result;
  } else
    return T(text);
}

template <class T>
std::string show_value(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(kNames<T>[static_cast<size_t>(value)]);
  else if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "";
  else if constexpr (std::is_same_v<T, std::optional<uint64_t>>)
    return value ? str(*value) : "";
  else if constexpr (kIsList<T>) {
    std::string result;
    for (const auto& part : value) result += str(result.empty() ? "" : ",", part);
    return result;
  } else
    return str(value);
}

}  // namespace mlxforge
