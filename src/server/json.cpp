#include "server/json.h"

#include <utility>

#include "files/json_builder.h"

namespace mlxforge {
namespace {

// Stops at the first event that goes beyond a limit.
class Builder : public JsonBuilder<OrderedJson> {
 public:
  Builder() : JsonBuilder(kMaxRequestDepth) {}

  const std::string& failure() const { return failure_; }  // what is wrong with the body, or ""

  bool key(std::string& key) override {
    if (object().size() == kMaxObjectKeys)
      return fail_with(str("has an object with more than ", kMaxObjectKeys, " keys"));
    next_member(object()[std::move(key)]);
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const OrderedJson::exception& error) override {
    if (error.id == kNumberOverflow) return fail_with("has a number that is out of range");
    return fail_with(str("is not valid JSON in UTF-8 (at byte ", byte, ")"));
  }

 private:
  bool too_deep() override {
    return fail_with(str("is nested deeper than ", max_depth(), " levels"));
  }
  bool fail_with(std::string what) {
    failure_ = std::move(what);
    return false;
  }

  std::string failure_;
};

Status bad_body(const std::string& what) {
  return Status::invalid("the request's body " + what, "body");
}

}  // namespace

Result<OrderedJson> parse_body(std::string_view body) {
  if (body.empty()) return bad_body("is empty; send a JSON object");
  // nlohmann takes a NUL byte for the end of the text, and would ignore what follows.
  if (body.find('\0') != body.npos) return bad_body("has a NUL byte");
  Builder builder;
  OrderedJson::sax_parse(body, &builder);
  if (!builder.failure().empty()) return bad_body(builder.failure());
  OrderedJson root = builder.take();
  if (!root.is_object()) return bad_body(str("must be a JSON object, got ", root.type_name()));
  return root;
}

std::string string_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string to_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace mlxforge
