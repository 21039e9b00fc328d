// The first lines of a response, and the framing of a streamed body.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace mlxforge {

// How the body that follows is delimited.
struct Framing {
  enum class Body { sized, chunked, until_close };
  Body body = Body::sized;
  size_t size = 0;
  bool keep_alive = true;
  int http_minor = 1;  // the version of the request, 1.0 or 1.1
};

// Everything up to and with the empty line; `reply.body` is not read.
std::string response_head(const HttpReply& reply, const Framing& framing);

// One chunk of a chunked body; an empty one would end the body, so `data` is not empty.
std::string chunk(std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace mlxforge
