#include "server/api/openapi.h"

#include <algorithm>
#include <cmath>

#include "server/api/handlers.h"
#include "server/api/openapi_operations.h"
#include "server/openapi/schemas.h"

namespace mlxforge {
namespace {

constexpr char kAbout[] =
    "A field of a request that is null has its default. One that is not listed here is ignored and "
    "reported in the header x-ignored-fields; with --strict it is refused.";

OrderedJson reference(const std::string& schema) {
  return {{"$ref", "#/components/schemas/" + schema}};
}

OrderedJson either(OrderedJson one, OrderedJson other) {
  return {{"anyOf", OrderedJson::array({std::move(one), std::move(other)})}};
}

OrderedJson number(double value) {
  return value == std::floor(value) ? OrderedJson(static_cast<int64_t>(value)) : OrderedJson(value);
}

OrderedJson schema_of(const FieldRule& rule) {
  constexpr const char* kTypes[] = {"boolean", "integer", "number", "string", "array", "object"};
  if (rule.only) return {{"const", OrderedJson::parse(rule.only)}};
  OrderedJson schema = OrderedJson::object();
  if (rule.type != FieldType::any) schema["type"] = kTypes[static_cast<int>(rule.type)];
  if (std::isfinite(rule.min)) schema["minimum"] = number(rule.min);
  if (std::isfinite(rule.max)) schema["maximum"] = number(rule.max);
  return schema;
}

// `shared`: schemas of fields by their names, for requests that have none of their own for them.
void add_fields(OrderedJson& request, const std::vector<FieldRule>& rules,
                const OrderedJson& shared) {
  const OrderedJson required = request.value("required", OrderedJson::array());
  for (const FieldRule& rule : rules) {
    OrderedJson& property = request["properties"][rule.name];
    if (property.is_null()) property = shared.value(rule.name, schema_of(rule));
    if (std::ranges::find(required, OrderedJson(rule.name)) == required.end())
      property = either(std::move(property), {{"type", "null"}});
  }
}

OrderedJson body(const char* content_type, OrderedJson schema) {
  return {{"content", {{content_type, {{"schema", std::move(schema)}}}}}};
}

// As OpenAPI 3.2 has it, the schema is that of each event.
OrderedJson events_of(const char* schema) {
  const OrderedJson text = {{"type", "string"}};
  const OrderedJson data = {{"type", "string"},
                            {"contentMediaType", "application/json"},
                            {"contentSchema", reference(schema)}};
  const OrderedJson event = {{"type", "object"},
                             {"required", OrderedJson::array({"data"})},
                             {"properties", {{"event", text}, {"data", data}}}};
  return {{"text/event-stream", {{"schema", event}}}};
}

OrderedJson answer_of(const Operation::Answer& answer) {
  OrderedJson schema = answer.schema ? reference(answer.schema) : OrderedJson{{"type", "string"}};
  OrderedJson out = {{"description", "The answer."}};
  out.update(body(answer.content_type, std::move(schema)));
  if (answer.event) out["content"].update(events_of(answer.event));
  return out;
}

struct Failure {
  const char* status;
  const char* description;
  bool before_routing = false;  // nobody knows yet whose client asks
};

constexpr Failure kFailures[] = {
    {"400", "The request cannot be understood or cannot be done."},
    {"401", "An API key is needed, and none or another one came."},
    {"403", "A web page or a host name that this server does not answer."},
    {"404", "There is no such thing, or no such model."},
    {"408", "The request took too long to arrive.", true},
    {"413", "The body is too large.", true},
    {"429", "The queue is full, or the key has used up its minute."},
    {"431", "The headers are too large.", true},
    {"500", "The server failed at this request."},
    {"503", "The server is loading, draining, failed or too busy."},
};

OrderedJson responses_of(const Operation& operation) {
  const bool anthropic = operation.path.starts_with("/v1/messages");
  OrderedJson out = {{"200", answer_of(operation.answer)}};
  for (const auto& [status, description, before_routing] : kFailures) {
    OrderedJson schema = reference(anthropic && !before_routing ? "AnthropicError" : "Error");
    if (operation.answer.status_503 && status == std::string_view("503"))
      schema = either(reference(operation.answer.status_503), std::move(schema));
    out[status] = {{"description", description}};
    out[status].update(body("application/json", std::move(schema)));
  }
  return out;
}

// The {...} in a path, and what its query may hold.
OrderedJson parameters_of(const Operation& operation) {
  OrderedJson out = OrderedJson::array();
  const std::string_view path = operation.path;
  if (const size_t brace = path.find('{'); brace != path.npos) {
    const std::string name(path.substr(brace + 1, path.find('}') - brace - 1));
    out.push_back(
        {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  if (!operation.query) return out;
  for (const FieldRule& rule : operation.query())
    out.push_back({{"name", rule.name}, {"in", "query"}, {"schema", schema_of(rule)}});
  return out;
}

OrderedJson json_of(const Endpoint& endpoint, const Operation& operation) {
  OrderedJson out = {{"summary", operation.summary},
                     {"parameters", parameters_of(operation)},
                     {"responses", responses_of(operation)}};
  if (const char* schema = operation.request.schema) {
    out["requestBody"] = body("application/json", reference(schema));
    out["requestBody"]["required"] = true;
  }
  if (endpoint.is_public) out["security"] = OrderedJson::array();
  return out;
}

const Operation& operation_of(const Endpoint& endpoint) {
  const auto found = std::ranges::find_if(operations(), [&](const Operation& operation) {
    return operation.method == endpoint.method && operation.path == endpoint.path;
  });
  check(found != operations().end(), endpoint.path, " is not among the operations");
  return *found;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

OrderedJson components() {
  const OrderedJson files = OrderedJson::parse(kOpenApiSchemas);
  OrderedJson schemas = OrderedJson::object();
  for (const auto& [name, file] : files.items())
    if (name != "fields") schemas.update(file);
  for (const Operation& operation : operations())
    if (const auto& request = operation.request; request.fields)
      add_fields(schemas.at(request.schema), request.fields(), files.at("fields"));
  return {{"schemas", std::move(schemas)},
          {"securitySchemes",
           {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
            {"x-api-key", {{"type", "apiKey"}, {"in", "header"}, {"name", "x-api-key"}}}}}};
}

}  // namespace

OrderedJson openapi_document() {
  OrderedJson paths = OrderedJson::object();
  for (const Endpoint& endpoint : endpoints())
    paths[std::string(endpoint.path)][lower(endpoint.method)] =
        json_of(endpoint, operation_of(endpoint));
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "mlxforge"}, {"version", "1"}, {"description", kAbout}}},
          {"security", OrderedJson::array({{{"bearer", OrderedJson::array()}},
                                           {{"x-api-key", OrderedJson::array()}}})},
          {"paths", std::move(paths)},
          {"components", components()}};
}

ApiResult openapi(const ApiCall&) {
  static const std::string document = to_text(openapi_document());
  return HttpReply{.body = document};
}

}  // namespace mlxforge
