#include "base/option_values.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace mlxforge {
namespace {

[[noreturn]] void expected(const std::string& what, std::string_view got) {
  throw Error(str("expected ", what, ", got \"", got, "\""));
}

// Nothing unless all of text is one number of T.
template <class T>
std::optional<T> whole_integer(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Standard C's strtod, since not every C++ library has from_chars for it; hexadecimal, nan and inf
// are not numbers here.
std::optional<double> whole_real(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != text.npos) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// The factor of a unit such as "", "B", "K", "KiB" or "KB"; 0 for anything else.
double unit_factor(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  const size_t power = std::string_view("KMGT").find(unit[0]);
  if (power == std::string_view::npos) return 0;
  if (unit.size() == 1 || unit.substr(1) == "iB") return std::pow(1024.0, power + 1);
  return unit.substr(1) == "B" ? std::pow(1000.0, power + 1) : 0;
}

// At least 1; 0 for what is no size.
int64_t whole_bytes(std::string_view text) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = whole_real(text.substr(0, end));
  const double bytes = number ? *number * unit_factor(text.substr(end)) : 0;
  return bytes >= 1 && bytes <= 1e18 ? static_cast<int64_t>(bytes) : 0;
}

}  // namespace

int64_t parse_integer(std::string_view text, int64_t low, int64_t high) {
  const auto value = whole_integer<int64_t>(text);
  if (!value || *value < low || *value > high)
    expected(str("a whole number from ", low, " to ", high), text);
  return *value;
}

int parse_count(std::string_view text, std::string_view what) try {
  return static_cast<int>(parse_integer(text, 1, 1 << 30));
} catch (const Error& e) {
  throw UsageError(str("[options] ", what, ": ", e.what()));
}

uint64_t parse_unsigned(std::string_view text) {
  const auto value = whole_integer<uint64_t>(text);
  if (!value) expected("a whole number from 0 to 2^64-1", text);
  return *value;
}

float parse_real(std::string_view text, int high) {
  const auto value = whole_real(text);
  if (!value || *value < 0 || *value > std::numeric_limits<float>::max() ||
      (high != 0 && *value > high))
    expected(high == 0 ? std::string("a number of at least 0") : str("a number from 0 to ", high),
             text);
  return static_cast<float>(*value);
}

bool parse_bool(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  expected("true or false", text);
}

int64_t parse_bytes(std::string_view text) {
  if (text == "auto") return 0;
  const int64_t bytes = whole_bytes(text);
  if (bytes == 0) expected("auto or a size such as 512MiB or 2G", text);
  return bytes;
}

int64_t parse_size(std::string_view text, int64_t low, int64_t high) {
  const int64_t bytes = whole_bytes(text);
  if (bytes < low || bytes > high)
    expected(str("a size from ", show_bytes(low), " to ", show_bytes(high)), text);
  return bytes;
}

std::string show_bytes(int64_t bytes) {
  if (bytes == 0) return "auto";
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return str(bytes, unit);
}

int parse_mode(std::string_view text) {
  int mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc() || end != text.data() + text.size() || mode < 0 || mode > 0777)
    expected("octal permissions such as 660", text);
  return mode;
}

std::string show_mode(int mode) {
  char text[8];
  return {text, std::to_chars(text, text + sizeof text, mode, 8).ptr};
}

size_t parse_choice(std::string_view text, std::span<const std::string_view> names) {
  std::string all;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
    all += str(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  }
  expected(all, text);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  for (size_t at = 0; (at = result.find(from, at)) != std::string::npos; at += to.size())
    result.replace(at, from.size(), to);
  return result;
}

}  // namespace mlxforge
