#include "files/json.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "files/json_builder.h"
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

class Builder : public JsonBuilder<Json> {
 public:
  Builder(std::string_view text, std::string_view name, int max_depth)
      : JsonBuilder(static_cast<size_t>(max_depth)), text_(text), name_(name) {}

  bool key(std::string& key) override {
    const auto [member, is_new] =
        object().get_ref<Json::object_t&>().emplace(std::move(key), nullptr);
    if (!is_new)
      fail("files", name_, ": the key ", quoted(member->first), " appears twice in one object");
    next_member(member->second);
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const Json::exception& error) override {
    if (error.id == kNumberOverflow)
      fail("files", name_, ": expected JSON, got a number too large for a double");
    fail_at(text_, byte, name_);
  }

 private:
  bool too_deep() override {
    fail("files", name_, ": expected JSON at most ", max_depth(), " levels deep, got more");
  }

  std::string_view text_;
  std::string_view name_;
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
