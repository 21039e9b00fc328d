// fuzz_stop_strings: a text cut anywhere shows the same as one piece, and never a stop string. The
// input is lines: the stop strings, an empty line, then the pieces.
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "text/stop_strings.h"

namespace mlxforge {
namespace {

std::string shown(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopStrings matcher(stops);
  std::string out;
  for (const std::string& piece : pieces) out += matcher.push(piece);
  return out + matcher.flush();
}

void run(std::string_view input) {
  std::vector<std::string> stops, pieces;
  bool in_stops = true;
  std::string whole;
  while (!input.empty()) {
    const std::string line(input.substr(0, input.find('\n')));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    if (in_stops && line.empty()) {
      in_stops = false;
    } else {
      (in_stops ? stops : pieces).push_back(line);
      if (!in_stops) whole += line;
    }
  }
  const std::string out = shown(stops, pieces);
  check(out == shown(stops, {whole}), "it matters where the text is cut");
  check(whole.starts_with(out), "it shows what was not there");
  for (const std::string& stop : stops) check(out.find(stop) == out.npos, "it shows a stop string");
}

}  // namespace
}  // namespace mlxforge

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mlxforge::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
