#include "server/api/input_items.h"

#include <algorithm>
#include <charconv>

#include "server/api/handlers.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/response_store.h"

namespace mlxforge {
namespace {

constexpr size_t kDefaultLimit = 20, kMaxLimit = 100;

OrderedJson text_parts(const OrderedJson& content, bool of_assistant) {
  if (!content.is_string()) return content;
  const char* type = of_assistant ? "output_text" : "input_text";
  OrderedJson part = {{"type", type}, {"text", content}};
  if (of_assistant) part["annotations"] = OrderedJson::array();
  return OrderedJson::array({std::move(part)});
}

OrderedJson listed(OrderedJson item) {
  if (!item.contains("type")) item["type"] = "message";
  if (!item.contains("status")) item["status"] = "completed";
  if (!item.contains("id")) item["id"] = random_id(item["type"] == "message" ? "msg_" : "item_");
  if (item["type"] == "message")
    item["content"] = text_parts(item["content"], item["role"] == "assistant");
  return item;
}

struct Page {
  std::string after;  // an id; empty: from the beginning
  size_t limit = kDefaultLimit;
  bool descending = true;
};

Status read_limit(std::string_view value, size_t& limit) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), limit);
  if (error == std::errc() && end == value.data() + value.size() && limit >= 1 &&
      limit <= kMaxLimit)
    return {};
  return Status::invalid("'limit' must be an integer from 1 to 100", "limit");
}

Status read_parameter(std::string_view name, std::string_view value, Page& page) {
  if (name == "limit") return read_limit(value, page.limit);
  if (name == "after") {
    page.after = value;
    return {};
  }
  if (name != "order")
    return Status::invalid(str("'", name, "' is not supported; 'after', 'limit' and 'order' are"),
                           std::string(name));
  page.descending = value == "desc";
  if (page.descending || value == "asc") return {};
  return Status::invalid("'order' must be asc or desc", "order");
}

Result<Page> read_page(std::string_view query) {
  Page page;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    if (Status status = read_parameter(pair.substr(0, equals), value, page); !status.ok())
      return status;
  }
  return page;
}

Result<OrderedJson> page_of(OrderedJson items, const Page& page) {
  if (page.descending) std::reverse(items.begin(), items.end());
  size_t begin = 0;
  if (!page.after.empty()) {
    while (begin < items.size() && items[begin]["id"] != page.after) ++begin;
    if (begin++ == items.size()) return Status::invalid("'after' is none of the items", "after");
  }
  const size_t end = std::min(items.size(), begin + page.limit);
  OrderedJson data = OrderedJson::array();
  for (size_t i = begin; i < end; ++i) data.push_back(items[i]);
  const bool empty = data.empty();
  return OrderedJson{{"object", "list"},
                     {"first_id", empty ? OrderedJson() : data.front()["id"]},
                     {"last_id", empty ? OrderedJson() : data.back()["id"]},
                     {"has_more", end < items.size()},
                     {"data", std::move(data)}};
}

}  // namespace

OrderedJson listed_items(const OrderedJson& input) {
  if (input.is_string())
    return OrderedJson::array({listed({{"role", "user"}, {"content", input}})});
  OrderedJson out = OrderedJson::array();
  for (const OrderedJson& item : input) out.push_back(listed(item));
  return out;
}

ApiResult input_items(const ApiCall& call) {
  const auto kept = call.server.responses->get(call.argument);
  if (!kept) return error_reply(not_kept(call.argument));
  const Result<Page> page = read_page(call.query);
  if (!page.ok()) return error_reply(page.status());
  const auto list = page_of(OrderedJson::parse(kept->input), page.value());
  return list.ok() ? HttpReply{.body = to_text(list.value())} : error_reply(list.status());
}

}  // namespace mlxforge
