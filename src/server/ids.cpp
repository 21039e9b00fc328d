#include "server/ids.h"

#include <chrono>
#include <random>

namespace mlxforge {

std::string random_id(const char* prefix) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id = prefix;
  for (int i = 0; i < 24; ++i) id += kDigits[random() % 16];
  return id;
}

int64_t unix_seconds() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace mlxforge
