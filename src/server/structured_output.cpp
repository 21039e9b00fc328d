#include "server/structured_output.h"

#include <algorithm>
#include <utility>

#include "text/grammar.h"

namespace mlxforge {
namespace {

using enum FieldType;
using Params = GenerationParams;
using Kind = GrammarSource::Kind;

constexpr size_t kMaxChoices = 1024;

Status wrong(const std::string& name, const char* what) {
  return Status::invalid(str("'", name, "' must be ", what));
}

// Each reads one way to say what an answer must be like; `name` is what the client calls it.
using Reader = Status (*)(OrderedJson& value, const std::string& name, Params& params);

Status set_source(Params& params, const std::string& name, Kind kind, std::string text) {
  if (!params.grammar.text.empty())
    return Status::invalid(str("'", name, "' and '", params.grammar_field,
                               "' both constrain the answer; send one of them"));
  params.grammar.kind = kind;
  params.grammar.text = std::move(text);
  params.grammar_field = name;
  return {};
}

Status read_schema(OrderedJson& value, const std::string& name, Params& params) {
  if (!value.is_object() && !value.is_boolean()) return wrong(name, "a JSON schema");
  return set_source(params, name, Kind::json_schema, to_text(value));
}

// vLLM takes a schema in a string, too.
Status read_json(OrderedJson& value, const std::string& name, Params& params) {
  if (!value.is_string()) return read_schema(value, name, params);
  auto schema = parse_body(value.get_ref<const std::string&>());
  return schema.ok() ? read_schema(*schema, name, params) : wrong(name, "a JSON schema");
}

Status read_json_object(OrderedJson& value, const std::string& name, Params& params) {
  if (!value.is_boolean()) return wrong(name, "a boolean");
  if (value == false) return {};
  return set_source(params, name, Kind::json_schema, R"({"type":"object"})");
}

template <Kind kind>
Status read_text(OrderedJson& value, const std::string& name, Params& params) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    return wrong(name, "a string that is not empty");
  return set_source(params, name, kind, std::move(value.get_ref<std::string&>()));
}

Status read_choice(OrderedJson& value, const std::string& name, Params& params) {
  const auto fits = [](const OrderedJson& choice) {
    return choice.is_string() && !choice.get_ref<const std::string&>().empty();
  };
  if (!value.is_array() || value.empty() || value.size() > kMaxChoices ||
      !std::ranges::all_of(value, fits))
    return wrong(name, "a list of 1 to 1024 strings, none of them empty");
  return set_source(params, name, Kind::choice, to_text(value));
}

Status read_no_blanks(OrderedJson& value, const std::string& name, Params& params) {
  if (!value.is_boolean()) return wrong(name, "a boolean");
  params.grammar.blanks = value == false;
  return {};
}

struct Part {
  std::string_view name;
  Reader read;  // null: read by somebody else
};

Status read_parts(OrderedJson& object, const std::string& field, std::span<const Part> parts,
                  Params& params) {
  for (auto& [name, value] : object.items()) {
    const auto part = std::ranges::find(parts, name, &Part::name);
    const std::string full_name = field + "." + name;
    if (part == parts.end()) {
      params.unknown.push_back(full_name);
    } else if (part->read && !value.is_null()) {
      if (Status status = part->read(value, full_name, params); !status.ok()) return status;
    }
  }
  return {};
}

Status read_later(OrderedJson&, const std::string& name, Params&) {
  return Status::invalid(str("'", name, "' is not supported yet; leave it out"));
}

constexpr Part kStructuredOutputs[] = {
    {"json", read_json},
    {"json_object", read_json_object},
    {"regex", read_text<Kind::regex>},
    {"choice", read_choice},
    {"grammar", read_text<Kind::lark>},
    {"disable_any_whitespace", read_no_blanks},
    {"whitespace_pattern", read_later},
    {"disable_additional_properties", read_later},
    {"structural_tag", read_later},
};

Status set_structured_outputs(OrderedJson& value, Params& params) {
  return read_parts(value, "structured_outputs", kStructuredOutputs, params);
}

// These two say nothing about the answer: a schema is held, `strict` or not.
Status check_text(OrderedJson& value, const std::string& name, Params&) {
  return value.is_string() ? Status{} : wrong(name, "a string");
}
Status check_flag(OrderedJson& value, const std::string& name, Params&) {
  return value.is_boolean() ? Status{} : wrong(name, "a boolean");
}

constexpr Part kTextFormat[] = {{"type", nullptr}};
constexpr Part kObjectFormat[] = {{"type", nullptr}, {"schema", read_schema}};
constexpr Part kSchemaFormat[] = {{"type", nullptr},
                                  {"name", check_text},
                                  {"description", check_text},
                                  {"strict", check_flag},
                                  {"schema", read_schema}};

// With a `schema`, as llama.cpp and others take it, that is the form.
Status read_object_format(OrderedJson& value, const std::string& name, Params& params) {
  OrderedJson any = value["schema"].is_null();
  if (Status status = read_json_object(any, name, params); !status.ok()) return status;
  return read_parts(value, name, kObjectFormat, params);
}

Status read_schema_format(OrderedJson& value, const std::string& name, Params& params) {
  if (!value.is_object() || !value.contains("schema") || value["schema"].is_null())
    return wrong(name, "an object with a 'schema'");
  return read_parts(value, name, kSchemaFormat, params);
}

// In chat and completions a schema stands one level deeper.
Status set_response_format(OrderedJson& value, Params& params) {
  constexpr Part kParts[] = {{"type", nullptr}, {"json_schema", read_schema_format}};
  if (string_at(value, "type") != "json_schema")
    return read_answer_format(value, "response_format", params);
  if (value["json_schema"].is_null())
    return Status::invalid(R"('response_format' of the type "json_schema" needs a 'json_schema')");
  return read_parts(value, "response_format", kParts, params);
}

constexpr Field kFields[] = {
    {"response_format", object, set_response_format},
    {"structured_outputs", object, set_structured_outputs},
    {"guided_json", any, [](OrderedJson& v, Params& p) { return read_json(v, "guided_json", p); }},
    {"guided_regex", string,
     [](OrderedJson& v, Params& p) { return read_text<Kind::regex>(v, "guided_regex", p); }},
    {"guided_choice", array,
     [](OrderedJson& v, Params& p) { return read_choice(v, "guided_choice", p); }},
    {"guided_grammar", string,
     [](OrderedJson& v, Params& p) { return read_text<Kind::lark>(v, "guided_grammar", p); }},
    later("guided_whitespace_pattern", string, "null"),
};

}  // namespace

std::span<const Field> structured_output_fields() { return kFields; }

Status read_answer_format(OrderedJson& value, const std::string& name, Params& params) {
  const std::string type = string_at(value, "type");
  if (type == "text") return read_parts(value, name, kTextFormat, params);
  if (type == "json_object") return read_object_format(value, name, params);
  if (type == "json_schema") return read_schema_format(value, name, params);
  return wrong(name, R"(an object of the "type" "text", "json_object" or "json_schema")");
}

Result<std::shared_ptr<const Grammar>> compile_grammar(const GenerationParams& params,
                                                       const ModelContext& model) {
  if (params.grammar.text.empty()) return std::shared_ptr<const Grammar>();
  auto grammar = model.grammars->compile(params.grammar);
  if (grammar.ok()) return grammar;
  const std::string& name = params.grammar_field;
  return Status::invalid(str("'", name, "' cannot be used: ", grammar.status().message),
                         name.substr(0, name.find('.')));
}

}  // namespace mlxforge
