// fuzz_json: any text gives an Error or a value that survives being written and read again.
#include "base/check.h"
#include "files/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxforge;
  try {
    const Json json = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
    check(parse_json(json.dump(), "fuzz again") == json, "changed by a round trip");
  } catch (const Error&) {
  }
  return 0;
}
