#include "files/json.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "files/mmap.h"
#include "files/quote.h"

namespace mlxforge {
namespace {

[[noreturn]] void fail_at(std::string_view text, size_t byte, std::string_view name) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  fail("files", name, ": expected JSON, got a syntax error at line ", line, ", column ", column);
}

// Builds the value from the parser's events. (nlohmann's own builder lets the last of two equal
// keys win, and with a callback it takes time quadratic in the members of an object.)
class Builder : public Json::json_sax_t {
 public:
  Builder(std::string_view text, std::string_view name, int max_depth)
      : text_(text), name_(name), max_depth_(static_cast<size_t>(max_depth)) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }  // never in JSON text

  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    const auto [member, is_new] = members.emplace(std::move(key), nullptr);
    if (!is_new)
      fail("files", name_, ": the key ", quoted(member->first), " appears twice in one object");
    member_ = &member->second;
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const Json::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow)
      fail("files", name_, ": expected JSON, got a number too large for a double");
    fail_at(text_, byte, name_);
  }

 private:
  // Where the next value goes: the root, the end of the open array, or the member whose key came
  // last.
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_array()) return open_.back()->emplace_back(std::move(value));
    return *member_ = std::move(value);
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (open_.size() == max_depth_)
      fail("files", name_, ": expected JSON at most ", max_depth_, " levels deep, got more");
    open_.push_back(&place(std::move(container)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string_view name_;
  size_t max_depth_;
  Json root_;
  std::vector<Json*> open_;  // the containers around the next value, outermost first
  Json* member_ = nullptr;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view name, int max_depth) {
  // nlohmann takes a NUL byte for the end of the text, and would ignore what follows.
  if (const size_t nul = text.find('\0'); nul != text.npos) fail_at(text, nul + 1, name);
  Builder builder(text, name, max_depth);
  Json::sax_parse(text, &builder);
  return builder.take();
}

Json parse_json_file(const std::filesystem::path& path) {
  return parse_json(MappedFile(path).text(), path.string());
}

}  // namespace mlxforge
