// The events of an SSE body as JSON, framing checked; "[DONE]" as a string.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/json.h"

namespace mlxforge {

inline std::vector<OrderedJson> events_of(const std::string& body) {
  std::vector<OrderedJson> out;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find("\n\n", at);
    const std::string line = body.substr(at, end - at);
    EXPECT_EQ(line.substr(0, 6), "data: ");
    EXPECT_EQ(line.find('\n'), std::string::npos);
    out.push_back(line == "data: [DONE]" ? OrderedJson("[DONE]")
                                         : OrderedJson::parse(line.substr(6)));
    at = end + 2;
  }
  return out;
}

// The same of a stream that went well to its end, without "[DONE]".
inline std::vector<OrderedJson> chunks_of(const std::string& body) {
  auto events = events_of(body);
  EXPECT_FALSE(events.empty());
  if (events.empty()) return {};
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  return events;
}

}  // namespace mlxforge
