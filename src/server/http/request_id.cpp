#include "server/http/request_id.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace mlxforge {
namespace {

constexpr size_t kLongest = 128;

bool is_fit(std::string_view id) {
  return !id.empty() && id.size() <= kLongest &&
         std::ranges::all_of(id, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::string request_id(std::string_view sent) {
  if (is_fit(sent)) return std::string(sent);
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id = "req_";
  for (int i = 0; i < 24; ++i) id += "0123456789abcdef"[random() % 16];
  return id;
}

}  // namespace mlxforge
