#include "app/cli.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

#include "app/config_file.h"
#include "app/version.h"

namespace mlxforge {
namespace {

struct Usage : CLI::Formatter {
  explicit Usage(const Command& command)
      : line(str("Usage: mlxforge ", command.name, " ", command.arguments, " [OPTIONS]\n\n")) {
    column_width(36);
  }
  std::string make_usage(const CLI::App*, std::string) const override { return line; }
  std::string make_positionals(const CLI::App*) const override { return ""; }
  std::string line;
};

struct Flags {
  std::map<const OptionField*, std::string> texts;
  std::vector<std::string> positionals;
};

std::string help_of(const OptionField& field) {
  const std::string fallback = field.is_switch() ? "" : field.show(Options{});
  return str(field.doc, fallback.empty() ? "" : " [" + fallback + "]");
}

void add_field(CLI::App& app, const OptionField& field, Flags& flags) {
  std::string& text = flags.texts[&field];
  if (field.is_switch()) {
    app.add_flag_callback(field.flag(), [&text] { text = "true"; }, help_of(field));
    return;
  }
  const auto take = [&text, is_list = field.is_list](const std::vector<std::string>& values) {
    if (!is_list) text.clear();
    for (const std::string& value : values) text += str(text.empty() ? "" : ",", value);
    if (text.empty()) throw CLI::ValidationError("expected a value, got nothing");
  };
  auto* option =
      app.add_option_function<std::vector<std::string>>(field.flag(), take, help_of(field));
  option->type_name(std::string(field.value))->expected(1)->allow_extra_args(false);
  option->multi_option_policy(field.is_list ? CLI::MultiOptionPolicy::TakeAll
                                            : CLI::MultiOptionPolicy::TakeLast);
}

// The flags of one command as CLI11 reads them; --help comes back as text.
std::variant<Flags, Message> parse_flags(const Command& command, std::vector<std::string> words) {
  CLI::App app{std::string(command.about)};
  app.set_version_flag("--version", std::string(kVersion));
  app.formatter(std::make_shared<Usage>(command));
  app.footer("Every flag has an environment twin, MLXFORGE_<NAME>; see docs/options.md.");
  Flags flags;
  for (const OptionField& field : option_fields())
    if (field.applies_to(command.name)) add_field(app, field, flags);
  app.add_option("arguments", flags.positionals);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    return Message{app.help()};
  } catch (const CLI::CallForVersion&) {
    return Message{str("mlxforge ", kVersion, "\n")};
  } catch (const CLI::ParseError& e) {
    throw UsageError(str(e.what(), "; see mlxforge ", command.name, " --help"));
  }
  return flags;
}

Options gather_options(const Flags& flags) {
  Options options;
  for (const auto& [field, text] : flags.texts)
    if (field->name == "config" && !text.empty()) set_option(options, *field, text, field->flag());
  if (options.config.empty())
    if (const char* file = std::getenv("MLXFORGE_CONFIG")) options.config = file;
  if (!options.config.empty()) set_options_from_file(options, options.config);
  set_options_from_environment(options);
  for (const auto& [field, text] : flags.texts)
    if (!text.empty()) set_option(options, *field, text, field->flag());
  return options;
}

bool model_flag_given(const Flags& flags) {
  for (const auto& [field, text] : flags.texts)
    if (field->name == "model") return !text.empty();
  return false;
}

bool looks_like_a_model(const std::string& word) {
  std::error_code ignored;
  return std::filesystem::is_directory(word, ignored) || word.ends_with(".gguf");
}

// Takes MODEL from the front of the arguments where it stands there, then counts them.
void take_arguments(Invocation& call, std::vector<std::string> words, bool model_is_known) {
  const Command& command = *call.command;
  if (!model_is_known && words.size() > command.required) {
    call.options.model = words.front();
    words.erase(words.begin());
  }
  const bool only_model =
      words.size() == 1 && command.required == 1 && !model_is_known && looks_like_a_model(words[0]);
  if (words.size() < command.required || only_model)
    throw UsageError(str(command.name, " needs ", command.arguments, "; see mlxforge ",
                         command.name, " --help"));
  if (words.size() > command.required + command.optional)
    throw UsageError(
        str(command.name, " does not understand \"", words.back(), "\"",
            find_command(words.back()) != nullptr ? " there: the command comes first" : "",
            "; see mlxforge ", command.name, " --help"));
  call.arguments = std::move(words);
}

Message overview() {
  std::string text =
      str("mlxforge ", kVersion,
          ", an LLM engine on Apple MLX\n\nUsage: mlxforge [COMMAND] [MODEL] [OPTIONS]\n\n");
  for (const Command& command : commands()) {
    std::string name = str("  ", command.name, " ", command.arguments);
    name.resize(std::max<size_t>(name.size() + 2, 52), ' ');
    text += str(name, command.about, "\n");
  }
  text +=
      "\nMODEL is a folder or a .gguf file; without it, the default model that set-up installed.\n"
      "Without COMMAND, mlxforge serves and mlxforge-cli generates. `mlxforge COMMAND --help` "
      "lists the options.\n";
  return {text};
}

}  // namespace

std::variant<Invocation, Message> parse_command_line(const std::vector<std::string>& words) {
  const bool is_cli =
      !words.empty() && std::filesystem::path(words[0]).filename() == "mlxforge-cli";
  std::vector<std::string> rest(words.begin() + std::min<size_t>(1, words.size()), words.end());
  if (!rest.empty() && (rest[0] == "--help" || rest[0] == "-h" || rest[0] == "help"))
    return overview();
  Invocation call;
  call.command = rest.empty() ? nullptr : find_command(rest[0]);
  if (call.command != nullptr)
    rest.erase(rest.begin());
  else
    call.command = find_command(is_cli ? "generate" : "serve");
  auto flags = parse_flags(*call.command, std::move(rest));
  if (auto* message = std::get_if<Message>(&flags)) return *message;
  const Flags& given = std::get<Flags>(flags);
  call.options = gather_options(given);
  if (call.options.print_config)
    return Message{options_in_effect(call.options, call.command->name)};
  take_arguments(call, given.positionals, model_flag_given(given));
  return call;
}

}  // namespace mlxforge
