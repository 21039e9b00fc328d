#include "server/json.h"

#include <array>

namespace mlxforge {
namespace {

struct TooMuch {
  std::string what;
};

// Follows the parser and throws TooMuch at the first value that goes beyond a limit.
class LimitCheck {
 public:
  bool operator()(int depth, OrderedJson::parse_event_t event, OrderedJson&) {
    using Event = OrderedJson::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kMaxRequestDepth)
      throw TooMuch{str("is nested deeper than ", kMaxRequestDepth, " levels")};
    if (opens) keys_[depth] = 0;
    if (event == Event::key && ++keys_[depth - 1] > kMaxObjectKeys)
      throw TooMuch{str("has an object with more than ", kMaxObjectKeys, " keys")};
    return true;
  }

 private:
  std::array<int, kMaxRequestDepth> keys_{};  // of the open object at each depth
};

Status bad_body(const std::string& what) {
  return Status::invalid("the request's body " + what, "body");
}

}  // namespace

Result<OrderedJson> parse_body(std::string_view body) {
  if (body.empty()) return bad_body("is empty; send a JSON object");
  try {
    OrderedJson json = OrderedJson::parse(body, LimitCheck());
    if (!json.is_object()) return bad_body(str("must be a JSON object, got ", json.type_name()));
    return json;
  } catch (const TooMuch& limit) {
    return bad_body(limit.what);
  } catch (const OrderedJson::parse_error& e) {
    return bad_body(str("is not valid JSON in UTF-8 (at byte ", e.byte, ")"));
  } catch (const OrderedJson::exception&) {
    return bad_body("has a number that is out of range");
  }
}

std::string to_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace mlxforge
