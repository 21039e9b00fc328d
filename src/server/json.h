// JSON of requests and answers. Keys keep their order, because chat templates print objects as the
// client wrote them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace mlxforge {

using OrderedJson = nlohmann::ordered_json;

// Deeper documents would overflow the stack of those who walk them (templates, schema compilers).
inline constexpr size_t kMaxRequestDepth = 64;
// Finding a key takes time linear in their number.
inline constexpr size_t kMaxObjectKeys = 2048;

// A request's body: a JSON object in UTF-8, within both limits. Of equal keys the last one counts.
// The message of a failure never repeats the body's bytes.
Result<OrderedJson> parse_body(std::string_view body);

// The string that stands there; "" where none does.
std::string string_at(const OrderedJson& object, const char* key);

// Compact, always valid UTF-8: what is not becomes U+FFFD.
std::string to_text(const OrderedJson& json);

}  // namespace mlxforge
