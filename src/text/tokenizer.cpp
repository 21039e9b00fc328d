#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "files/mmap.h"
#include "rust/bridge.h"
#include "text/utf8.h"

namespace mlxforge {
namespace {

constexpr std::array kSpecialNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                                      "pad_token", "cls_token", "mask_token"};

// A special token stands in the JSON files as its text, or as an object with "content" and flags.
std::string content_of(const Json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object() && token.contains("content") && token["content"].is_string())
    return token["content"].get<std::string>();
  return {};
}

rs::DeclaredToken declared(const Json& token, int64_t id) {
  const auto flag = [&](const char* name, bool absent) {
    return token.is_object() && token.contains(name) && token[name].is_boolean()
               ? token[name].get<bool>()
               : absent;
  };
  return {.id = id,
          .content = content_of(token),
          .single_word = flag("single_word", false),
          .lstrip = flag("lstrip", false),
          .rstrip = flag("rstrip", false),
          .normalized = flag("normalized", false),
          .special = id < 0 || flag("special", false)};
}

// The tokens that tokenizer_config.json adds to tokenizer.json's: with ids, then the named ones.
std::vector<rs::DeclaredToken> declared_tokens(const Json& config) {
  std::map<int64_t, const Json*> by_id;
  const auto decoder = config.find("added_tokens_decoder");
  if (decoder != config.end() && decoder->is_object()) {
    for (const auto& [key, token] : decoder->items()) {
      if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != key.npos)
        fail("text", "expected ids as keys of added_tokens_decoder, got \"", key, "\"");
      by_id[std::stoll(key)] = &token;
    }
  }
  std::vector<rs::DeclaredToken> out;
  for (const auto& [id, token] : by_id) out.push_back(declared(*token, id));
  for (const char* name : kSpecialNames) {
    if (config.contains(name) && !content_of(config[name]).empty())
      out.push_back(declared(config[name], -1));
  }
  for (const char* name : {"additional_special_tokens", "extra_special_tokens"}) {
    if (!config.contains(name) || !config[name].is_array()) continue;
    for (const Json& token : config[name]) {
      if (!content_of(token).empty()) out.push_back(declared(token, -1));
    }
  }
  return out;
}

// The elements of an array, or none where the key is absent.
rust::Vec<rust::String> strings(const GgufMetadata& metadata, std::string_view key) {
  rust::Vec<rust::String> out;
  if (!metadata.has(key)) return out;
  const auto views = metadata.array<std::string_view>(key);
  out.reserve(views.size());
  for (const std::string_view view : views) out.emplace_back(view.data(), view.size());
  return out;
}

template <class T>
rust::Vec<T> numbers(const GgufMetadata& metadata, std::string_view key) {
  rust::Vec<T> out;
  if (!metadata.has(key)) return out;
  for (const T value : metadata.array<T>(key)) out.push_back(value);
  return out;
}

constexpr std::string_view kGguf = "tokenizer.ggml.";
constexpr int32_t kUnknownType = 2;  // tokenizer.ggml.token_type

std::string ggml_key(std::string_view name) { return str(kGguf, name); }

rs::GgufVocab vocab_of(const GgufMetadata& metadata) {
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
      .unknown_id = -1,
      .add_space_prefix = metadata.get_or<bool>(ggml_key("add_space_prefix"), true)};
  for (const char* name : {"bos", "eos", "eot", "eom"}) {
    const std::string key = ggml_key(str(name, "_token_id"));
    if (metadata.has(key)) vocab.special_ids.push_back(metadata.get<uint32_t>(key));
  }
  const auto unknown = std::find(vocab.types.begin(), vocab.types.end(), kUnknownType);
  if (unknown != vocab.types.end()) vocab.unknown_id = unknown - vocab.types.begin();
  vocab.unknown_id =
      metadata.get_or<int64_t>(ggml_key("unknown_token_id"), int64_t{vocab.unknown_id});
  return vocab;
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(rust::Box<rs::Tokenizer> tokenizer)
      : rust(std::move(tokenizer)),
        table(checked("text", "tokenizer", [&] { return rust->table(); })) {}

  rust::Box<rs::Tokenizer> rust;
  rs::TokenTable table;
  std::vector<int32_t> prefix, suffix;  // what add_special puts around a text
  std::optional<int32_t> bos, eos;
  std::vector<int32_t> stop_ids;
  std::map<std::string, std::string> names;

  std::optional<int32_t> find(std::string_view token) const {
    const int64_t id = rust->id_of(rust::Str(token.data(), token.size()));
    return id < 0 ? std::nullopt : std::optional(static_cast<int32_t>(id));
  }
  std::optional<int32_t> named(const std::string& name) const {
    const auto found = names.find(name);
    return found == names.end() ? std::nullopt : find(found->second);
  }
  std::vector<int32_t> encode(std::string_view text, rust::Slice<const rs::Span> specials) const {
    const auto ids = checked("text", "encoding", [&] {
      return rust->encode(rust::Str(text.data(), text.size()), specials);
    });
    return {ids.begin(), ids.end()};
  }
  void read_config(const Json& config);
  void read_gguf(const GgufMetadata& metadata, std::string_view pre);
};

// tokenizer.json's post-processor says what stands around a text; explicit flags overrule it.
void Tokenizer::Impl::read_config(const Json& config) {
  for (const char* name : kSpecialNames) {
    if (config.contains(name) && !content_of(config[name]).empty())
      names[name] = content_of(config[name]);
  }
  bos = named("bos_token");
  eos = named("eos_token");
  if (eos) stop_ids = {*eos};
  const rs::Affixes affixes = checked("text", "tokenizer.json", [&] { return rust->affixes(); });
  prefix.assign(affixes.prefix.begin(), affixes.prefix.end());
  suffix.assign(affixes.suffix.begin(), affixes.suffix.end());
  const auto overrule = [&](const char* name, std::vector<int32_t>& affix,
                            std::optional<int32_t> id) {
    if (!config.contains(name) || !config[name].is_boolean()) return;
    affix = config[name].get<bool>() && id ? std::vector{*id} : std::vector<int32_t>();
  };
  overrule("add_bos_token", prefix, bos);
  overrule("add_eos_token", suffix, eos);
  if (!bos && !prefix.empty()) bos = prefix.front();
}

// Absent flags mean what the converter that leaves them out means: BOS for SentencePiece and
// Llama 3.
void Tokenizer::Impl::read_gguf(const GgufMetadata& metadata, std::string_view pre) {
  const auto id_of = [&](const std::string& name) -> std::optional<int32_t> {
    const std::string key = ggml_key(name + "_token_id");
    if (!metadata.has(key)) return std::nullopt;
    const auto id = metadata.get<int64_t>(key);
    if (id < 0 || id >= static_cast<int64_t>(table.ends.size()))
      fail("text", "expected ", key, " below ", table.ends.size(), ", got ", id);
    return static_cast<int32_t>(id);
  };
  const std::pair<const char*, const char*> roles[] = {
      {"bos", "bos_token"},     {"eos", "eos_token"}, {"unknown", "unk_token"},
      {"padding", "pad_token"}, {"cls", "cls_token"}, {"mask", "mask_token"}};
  for (const auto& [role, name] : roles) {
    if (const auto id = id_of(role)) names[name] = std::string(rust->token(*id));
  }
  bos = id_of("bos");
  eos = id_of("eos");
  for (const char* role : {"eos", "eot", "eom"}) {
    const auto id = id_of(role);
    if (id && std::find(stop_ids.begin(), stop_ids.end(), *id) == stop_ids.end())
      stop_ids.push_back(*id);
  }
  const bool usual = metadata.get_or<std::string_view>(ggml_key("model"), "") == "llama" ||
                     pre.starts_with("llama");
  if (metadata.get_or<bool>(ggml_key("add_bos_token"), usual) && bos) prefix = {*bos};
  if (metadata.get_or<bool>(ggml_key("add_eos_token"), false) && eos) suffix = {*eos};
}

Tokenizer Tokenizer::of(const ModelFiles& files) {
  if (files.gguf) return from_gguf(*files.gguf);
  if (files.tokenizer_json.empty())
    fail("text", "expected tokenizer.json in ", files.path.string(), ", there is none");
  Json config = files.tokenizer_config.is_object() ? files.tokenizer_config : Json::object();
  if (files.special_tokens_map.is_object()) {
    for (const auto& [name, token] : files.special_tokens_map.items()) config.emplace(name, token);
  }
  return from_json(MappedFile(files.tokenizer_json).text(), config);
}

Tokenizer Tokenizer::from_json(std::string_view tokenizer_json, const Json& config) {
  const Json known = config.is_object() ? config : Json::object();
  auto impl = std::make_unique<Impl>(checked("text", "tokenizer.json", [&] {
    const auto tokens = declared_tokens(known);
    return rs::tokenizer_from_json(rust::Str(tokenizer_json.data(), tokenizer_json.size()),
                                   {tokens.data(), tokens.size()});
  }));
  impl->read_config(known);
  return Tokenizer(std::move(impl));
}

Tokenizer Tokenizer::from_gguf(const GgufMetadata& metadata) {
  const rs::GgufVocab vocab = checked("text", "GGUF tokenizer", [&] { return vocab_of(metadata); });
  auto impl = std::make_unique<Impl>(
      checked("text", "GGUF tokenizer", [&] { return rs::tokenizer_from_gguf(vocab); }));
  impl->read_gguf(metadata, std::string(vocab.pre));
  return Tokenizer(std::move(impl));
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  const std::string clean = valid_utf8(text);
  std::vector<SpecialSpan> specials;
  if (options.parse_special) specials = find_specials(clean);
  std::vector<int32_t> ids = encode(clean, specials);
  if (options.add_special) {
    ids.insert(ids.begin(), impl_->prefix.begin(), impl_->prefix.end());
    ids.insert(ids.end(), impl_->suffix.begin(), impl_->suffix.end());
  }
  return ids;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text,
                                       std::span<const SpecialSpan> specials) const {
  std::vector<rs::Span> spans;
  for (const SpecialSpan& span : specials)
    spans.push_back({span.begin, span.end, static_cast<uint32_t>(span.id)});
  return impl_->encode(text, {spans.data(), spans.size()});
}

std::vector<SpecialSpan> Tokenizer::find_specials(std::string_view text) const {
  const auto spans = checked("text", "special tokens", [&] {
    return impl_->rust->specials(rust::Str(text.data(), text.size()));
  });
  std::vector<SpecialSpan> out;
  for (const rs::Span& span : spans)
    out.push_back({span.begin, span.end, static_cast<int32_t>(span.id)});
  return out;
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(impl_->table.ends.size()); }

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  return impl_->find(valid_utf8(token));
}

std::string Tokenizer::id_to_token(int32_t id) const {
  return id < 0 ? std::string() : std::string(impl_->rust->token(static_cast<uint32_t>(id)));
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  const auto& [bytes, ends, special, first_space] = impl_->table;
  if (id < 0 || id >= vocab_size()) return {};
  const size_t begin = id == 0 ? 0 : ends[id - 1];
  return {reinterpret_cast<const char*>(bytes.data()) + begin, ends[id] - begin};
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < vocab_size() && impl_->table.special[id];
}

FirstSpace Tokenizer::first_space() const {
  switch (impl_->table.first_space) {
    case rs::FirstSpace::OneDropped:
      return FirstSpace::one_dropped;
    case rs::FirstSpace::AllDropped:
      return FirstSpace::all_dropped;
    default:
      return FirstSpace::kept;
  }
}

std::optional<int32_t> Tokenizer::bos_id() const { return impl_->bos; }
std::optional<int32_t> Tokenizer::eos_id() const { return impl_->eos; }
const std::vector<int32_t>& Tokenizer::stop_ids() const { return impl_->stop_ids; }
bool Tokenizer::adds_bos() const { return impl_->bos && impl_->prefix == std::vector{*impl_->bos}; }
const std::map<std::string, std::string>& Tokenizer::special_names() const { return impl_->names; }

}  // namespace mlxforge
