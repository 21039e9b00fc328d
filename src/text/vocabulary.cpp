#include "text/vocabulary.h"

#include <algorithm>
#include <utility>

namespace mlxforge {
namespace {

constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};

// A special token stands in the JSON files as its text, or as an object with "content" and flags.
std::string content_of(const Json& token) {
  if (token.is_string()) return token.get<std::string>();
  const auto content = token.is_object() ? token.find("content") : token.end();
  return content != token.end() && content->is_string() ? content->get<std::string>() : "";
}

std::string content_of(const Json& config, const char* name) {
  return config.contains(name) ? content_of(config[name]) : "";
}

std::optional<bool> flag(const Json& json, const char* name) {
  if (!json.is_object() || json.value(name, Json()).is_null()) return std::nullopt;
  const Json& value = json[name];
  if (!value.is_boolean())
    fail("text", "expected ", name, " to be true or false, got ", value.dump());
  return value.get<bool>();
}

// A token without an id is a named one, which is special whether or not it says so.
rs::DeclaredToken declared(const Json& token, int64_t id) {
  return {.id = id,
          .content = content_of(token),
          .single_word = flag(token, "single_word").value_or(false),
          .lstrip = flag(token, "lstrip").value_or(false),
          .rstrip = flag(token, "rstrip").value_or(false),
          .normalized = flag(token, "normalized").value_or(false),
          .special = id < 0 || flag(token, "special").value_or(false)};
}

int64_t id_in_key(const std::string& key) {
  if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != key.npos)
    fail("text", "expected ids as keys of added_tokens_decoder, got \"", key, "\"");
  return std::stoll(key);
}

std::optional<int32_t> id_of(const std::string& token, const rs::Tokenizer& tokenizer) {
  const int64_t id = token.empty() ? -1 : tokenizer.id_of(token);
  return id < 0 ? std::nullopt : std::optional(static_cast<int32_t>(id));
}

std::string ggml_key(std::string_view name) { return str("tokenizer.ggml.", name); }

rust::Vec<rust::String> strings(const GgufMetadata& metadata, const std::string& key) {
  rust::Vec<rust::String> out;
  if (!metadata.has(key)) return out;
  const auto views = metadata.array<std::string_view>(key);
  out.reserve(views.size());
  for (const std::string_view view : views) out.emplace_back(view.data(), view.size());
  return out;
}

template <class T>
rust::Vec<T> numbers(const GgufMetadata& metadata, const std::string& key) {
  rust::Vec<T> out;
  if (!metadata.has(key)) return out;
  for (const T value : metadata.array<T>(key)) out.push_back(value);
  return out;
}

std::optional<int32_t> gguf_id(const GgufMetadata& metadata, std::string_view role, int64_t limit) {
  const std::string key = ggml_key(str(role, "_token_id"));
  if (!metadata.has(key)) return std::nullopt;
  const auto id = metadata.get<int64_t>(key);
  if (id < 0 || id >= limit) fail("text", "expected ", key, " below ", limit, ", got ", id);
  return static_cast<int32_t>(id);
}

}  // namespace

std::vector<rs::DeclaredToken> declared_tokens(const Json& config) {
  std::map<int64_t, const Json*> by_id;
  const auto decoder = config.find("added_tokens_decoder");
  if (decoder != config.end() && decoder->is_object()) {
    for (const auto& [key, token] : decoder->items()) by_id[id_in_key(key)] = &token;
  }
  std::vector<rs::DeclaredToken> out;
  for (const auto& [id, token] : by_id) out.push_back(declared(*token, id));
  const auto add_named = [&](const Json& token) {
    if (!content_of(token).empty()) out.push_back(declared(token, -1));
  };
  for (const char* name : kNames) {
    if (config.contains(name)) add_named(config[name]);
  }
  for (const char* name : {"additional_special_tokens", "extra_special_tokens"}) {
    if (!config.contains(name) || !config[name].is_array()) continue;
    for (const Json& token : config[name]) add_named(token);
  }
  return out;
}

TokenRoles roles_of(const Json& config, const rs::Tokenizer& tokenizer) {
  TokenRoles roles;
  for (const char* name : kNames) {
    if (std::string text = content_of(config, name); !text.empty())
      roles.names[name] = std::move(text);
  }
  roles.bos = id_of(content_of(config, "bos_token"), tokenizer);
  roles.eos = id_of(content_of(config, "eos_token"), tokenizer);
  if (roles.eos) roles.stop_ids = {*roles.eos};
  const rs::Affixes affixes = tokenizer.affixes();
  roles.prefix.assign(affixes.prefix.begin(), affixes.prefix.end());
  roles.suffix.assign(affixes.suffix.begin(), affixes.suffix.end());
  const auto overrule = [&](const char* name, std::vector<int32_t>& affix,
                            std::optional<int32_t> id) {
    const std::optional<bool> add = flag(config, name);
    if (add) affix = *add && id ? std::vector{*id} : std::vector<int32_t>();
  };
  overrule("add_bos_token", roles.prefix, roles.bos);
  overrule("add_eos_token", roles.suffix, roles.eos);
  if (!roles.bos && !roles.prefix.empty()) roles.bos = roles.prefix.front();
  return roles;
}

rs::GgufVocab gguf_vocab(const GgufMetadata& metadata) {
  const auto text = [&](std::string_view name) {
    return rust::String(std::string(metadata.get_or<std::string_view>(ggml_key(name), "")));
  };
  rs::GgufVocab vocab = {
      .model = text("model"),
      .pre = text("pre"),
      .tokens = strings(metadata, ggml_key("tokens")),
      .scores = numbers<float>(metadata, ggml_key("scores")),
      .types = numbers<int32_t>(metadata, ggml_key("token_type")),
      .merges = strings(metadata, ggml_key("merges")),
      .special_ids = {},
      .unknown_id = metadata.get_or<int64_t>(ggml_key("unknown_token_id"), -1),
      .add_space_prefix = metadata.get_or<bool>(ggml_key("add_space_prefix"), true)};
  const auto limit = static_cast<int64_t>(vocab.tokens.size());
  for (const char* role : {"bos", "eos", "eot", "eom"}) {
    if (const auto id = gguf_id(metadata, role, limit)) vocab.special_ids.push_back(*id);
  }
  return vocab;
}

TokenRoles roles_of(const GgufMetadata& metadata, const rs::Tokenizer& tokenizer,
                    int32_t vocab_size) {
  TokenRoles roles;
  constexpr std::pair<const char*, const char*> kRoles[] = {
      {"bos", "bos_token"},     {"eos", "eos_token"}, {"unknown", "unk_token"},
      {"padding", "pad_token"}, {"cls", "cls_token"}, {"mask", "mask_token"}};
  for (const auto& [role, name] : kRoles) {
    if (const auto id = gguf_id(metadata, role, vocab_size))
      roles.names[name] = std::string(tokenizer.token(*id));
  }
  roles.bos = gguf_id(metadata, "bos", vocab_size);
  roles.eos = gguf_id(metadata, "eos", vocab_size);
  for (const char* role : {"eos", "eot", "eom"}) {
    const auto id = gguf_id(metadata, role, vocab_size);
    auto& stops = roles.stop_ids;
    if (id && std::find(stops.begin(), stops.end(), *id) == stops.end()) stops.push_back(*id);
  }
  const bool usual = metadata.get<std::string_view>(ggml_key("model")) == "llama" ||
                     metadata.get_or<std::string_view>(ggml_key("pre"), "").starts_with("llama");
  if (metadata.get_or<bool>(ggml_key("add_bos_token"), usual) && roles.bos)
    roles.prefix = {*roles.bos};
  if (metadata.get_or<bool>(ggml_key("add_eos_token"), false) && roles.eos)
    roles.suffix = {*roles.eos};
  return roles;
}

}  // namespace mlxforge
