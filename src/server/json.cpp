#include "server/json.h"

#include <vector>

namespace mlxforge {
namespace {

// Builds the value from the parser's events and stops at the first that goes beyond a limit.
// (nlohmann's own builder with a callback takes time quadratic in the members of an object.)
class Builder : public OrderedJson::json_sax_t {
 public:
  OrderedJson root;
  std::string failure;  // what is wrong with the body; empty: nothing

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(OrderedJson::binary_t&) override { return false; }  // never in JSON text

  bool start_object(size_t) override { return open(OrderedJson::object()); }
  bool start_array(size_t) override { return open(OrderedJson::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    OrderedJson& object = *open_.back();
    if (object.size() == kMaxObjectKeys)
      return fail_with(str("has an object with more than ", kMaxObjectKeys, " keys"));
    member_ = &object[std::move(key)];
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const OrderedJson::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) return fail_with("has a number that is out of range");
    return fail_with(str("is not valid JSON in UTF-8 (at byte ", byte, ")"));
  }

 private:
  // The root, the end of the open array, or the member whose key came last.
  OrderedJson& place(OrderedJson value) {
    if (open_.empty()) return root = std::move(value);
    if (open_.back()->is_array()) return open_.back()->emplace_back(std::move(value));
    return *member_ = std::move(value);
  }
  bool put(OrderedJson value) {
    place(std::move(value));
    return true;
  }
  bool open(OrderedJson container) {
    if (open_.size() == kMaxRequestDepth)
      return fail_with(str("is nested deeper than ", kMaxRequestDepth, " levels"));
    open_.push_back(&place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool fail_with(std::string what) {
    failure = std::move(what);
    return false;
  }

  std::vector<OrderedJson*> open_;  // the containers around the next value, outermost first
  OrderedJson* member_ = nullptr;
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
  if (!builder.failure.empty()) return bad_body(builder.failure);
  if (!builder.root.is_object())
    return bad_body(str("must be a JSON object, got ", builder.root.type_name()));
  return std::move(builder.root);
}

std::string to_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace mlxforge
