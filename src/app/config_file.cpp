#include "app/config_file.h"

#include "files/json.h"

namespace mlxforge {
namespace {

const OptionField* find_field(std::string_view name) {
  for (const OptionField& field : option_fields())
    if (field.name == name && name != "config") return &field;
  return nullptr;
}

std::string text_of(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  if (!value.is_array())
    throw UsageError(
        str("[options] ", where, ": expected a string, a number, true, false or a list of them"));
  std::string text;
  for (const Json& item : value) {
    if (item.is_structured())
      throw UsageError(str("[options] ", where, ": expected a list of strings or numbers"));
    text += str(text.empty() ? "" : ",", text_of(item, where));
  }
  return text;
}

}  // namespace

void set_options_from_file(Options& options, const std::filesystem::path& file) {
  Json json;
  try {
    json = parse_json_file(file);
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
  if (!json.is_object())
    throw UsageError(str("[options] ", file.string(), ": expected a JSON object of options"));
  for (const auto& [name, value] : json.items()) {
    const std::string where = str(file.string(), ", \"", name, "\"");
    const OptionField* field = find_field(name);
    if (field == nullptr)
      throw UsageError(
          str("[options] ", where, ": there is no such option; docs/options.md lists them"));
    set_option(options, *field, text_of(value, where), where);
  }
}

}  // namespace mlxforge
