#include "files/json.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "files/mmap.h"
#include "files/quote.h"

namespace mlxforge {
namespace {

// Watches a parse: one set of keys for each open object or array.
class Watcher {
 public:
  Watcher(std::string_view name, int max_depth) : name_(name), max_depth_(max_depth) {}

  bool on_event(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) open();
    if (event == Event::object_end || event == Event::array_end) keys_.pop_back();
    if (event == Event::key) add_key(parsed.get_ref<const std::string&>());
    return true;
  }

 private:
  void open() {
    if (static_cast<int>(keys_.size()) == max_depth_)
      fail("files", name_, ": expected JSON at most ", max_depth_, " levels deep, got more");
    keys_.emplace_back();
  }
  void add_key(const std::string& key) {
    if (!keys_.back().insert(key).second)
      fail("files", name_, ": the key ", quoted(key), " appears twice in one object");
  }

  std::string_view name_;
  int max_depth_;
  std::vector<std::set<std::string>> keys_;
};

[[noreturn]] void fail_at(std::string_view text, size_t byte, std::string_view name) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  fail("files", name, ": expected JSON, got a syntax error at line ", line, ", column ", column);
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name, int max_depth) {
  // nlohmann takes a NUL byte for the end of the text, and would ignore what follows.
  if (const size_t nul = text.find('\0'); nul != text.npos) fail_at(text, nul + 1, name);
  Watcher watcher(name, max_depth);
  try {
    return Json::parse(text, [&](int, Json::parse_event_t event, const Json& parsed) {
      return watcher.on_event(event, parsed);
    });
  } catch (const Json::parse_error& e) {
    fail_at(text, e.byte, name);
  } catch (const Json::out_of_range&) {
    fail("files", name, ": expected JSON, got a number too large for a double");
  }
}

Json parse_json_file(const std::filesystem::path& path) {
  return parse_json(MappedFile(path).text(), path.string());
}

}  // namespace mlxforge
