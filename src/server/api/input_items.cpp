#include "server/api/input_items.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "server/api/handlers.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/response_store.h"
#include "server/router.h"

namespace mlxforge {
namespace {

using enum FieldType;

OrderedJson text_parts(const OrderedJson& content, bool of_assistant) {
  if (!content.is_string()) return content;
  const char* type = of_assistant ? "output_text" : "input_text";
  OrderedJson part = {{"type", type}, {"text", content}};
  if (of_assistant) part["annotations"] = OrderedJson::array();
  return OrderedJson::array({std::move(part)});
}

OrderedJson listed(OrderedJson item) {
  if (item["type"].is_null()) item["type"] = "message";
  if (item["status"].is_null()) item["status"] = "completed";
  if (item["id"].is_null()) item["id"] = random_id(item["type"] == "message" ? "msg_" : "item_");
  if (item["type"] == "message")
    item["content"] = text_parts(item["content"], item["role"] == "assistant");
  return item;
}

struct Page {
  std::vector<std::string> unknown;
  std::string after;  // an id; empty: from the beginning
  int limit = 20;
  bool descending = true;
};

Status set_order(OrderedJson& value, Page& page) {
  page.descending = value == "desc";
  if (page.descending || value == "asc") return {};
  return Status::invalid("'order' must be asc or desc");
}

constexpr FieldOf<Page> kQuery[] = {
    {"limit", integer, set_integer<&Page::limit>, 1, 100},
    {"order", string, set_order},
    {"after", string, set_string<&Page::after>},
};

// In a query string only its field tells that a value is a number.
OrderedJson typed(const std::string& name, std::string value) {
  const auto field = std::ranges::find(kQuery, name, &FieldOf<Page>::name);
  if (field == std::end(kQuery) || field->type != integer) return value;
  int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  return error == std::errc() && stop == end ? OrderedJson(number) : OrderedJson(value);
}

OrderedJson values_in(std::string_view query) {
  OrderedJson values = OrderedJson::object();
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string name = valid_utf8(percent_decoded(pair.substr(0, equals)));
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    values[name] = typed(name, valid_utf8(percent_decoded(value)));
  }
  return values;
}

Result<Page> read_page(std::string_view query) {
  Page page;
  OrderedJson values = values_in(query);
  if (Status status = read_fields(values, {kQuery}, page); !status.ok()) return status;
  if (page.unknown.empty()) return page;
  const std::string& name = page.unknown.front();
  std::string known;
  for (const auto& field : kQuery) known += str(known.empty() ? "" : ", ", field.name);
  return Status::invalid(str("'", name, "' is not supported here; these are: ", known), name);
}

Result<OrderedJson> page_of(OrderedJson items, const Page& page) {
  if (page.descending) std::reverse(items.begin(), items.end());
  size_t begin = 0;
  if (!page.after.empty()) {
    while (begin < items.size() && items[begin]["id"] != page.after) ++begin;
    if (begin++ == items.size()) return Status::invalid("'after' is none of the items", "after");
  }
  const size_t end = std::min(items.size(), begin + static_cast<size_t>(page.limit));
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

std::vector<FieldRule> input_items_query() { return rules_of<Page>({kQuery}); }

ApiResult input_items(const ApiCall& call) {
  const auto kept = call.server.responses->get(call.argument);
  if (!kept) return error_reply(not_kept(call.argument));
  const Result<Page> page = read_page(call.query);
  if (!page.ok()) return error_reply(page.status());
  const auto list = page_of(OrderedJson::parse(kept->input), page.value());
  return list.ok() ? HttpReply{.body = to_text(list.value())} : error_reply(list.status());
}

}  // namespace mlxforge
