#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "files/mmap.h"
#include "rust/bridge.h"
#include "text/vocabulary.h"

namespace mlxforge {

struct Tokenizer::Impl {
  explicit Impl(rust::Box<rs::Tokenizer> tokenizer)
      : rust(std::move(tokenizer)), table(rust->table()) {
    for (size_t id = 0, begin = 0; id < table.ends.size(); begin = table.ends[id++])
      if (table.ends[id] == begin + 1) is_token[table.bytes[begin]] = true;
  }

  rust::Box<rs::Tokenizer> rust;
  rs::TokenTable table;
  std::array<bool, 256> is_token = {};  // the byte by itself
  TokenRoles roles;

  int32_t vocab_size() const { return static_cast<int32_t>(table.ends.size()); }
};

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
  return Tokenizer(checked("text", "tokenizer.json", [&] {
    const auto tokens = declared_tokens(known);
    auto impl = std::make_unique<Impl>(rs::tokenizer_from_json(
        {tokenizer_json.data(), tokenizer_json.size()}, {tokens.data(), tokens.size()}));
    impl->roles = roles_of(known, *impl->rust);
    return impl;
  }));
}

Tokenizer Tokenizer::from_gguf(const GgufMetadata& metadata) {
  return Tokenizer(checked("text", "GGUF tokenizer", [&] {
    auto impl = std::make_unique<Impl>(rs::tokenizer_from_gguf(gguf_vocab(metadata)));
    impl->roles = roles_of(metadata, *impl->rust, impl->vocab_size());
    return impl;
  }));
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  const std::string clean = valid_utf8(text);
  std::vector<SpecialSpan> specials;
  if (options.parse_special) specials = find_specials(clean);
  std::vector<int32_t> ids = encode(clean, specials, options.cancel);
  if (options.add_special) {
    ids.insert(ids.begin(), impl_->roles.prefix.begin(), impl_->roles.prefix.end());
    ids.insert(ids.end(), impl_->roles.suffix.begin(), impl_->roles.suffix.end());
  }
  return ids;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, std::span<const SpecialSpan> specials,
                                       const CancelFlag& cancel) const {
  std::vector<rs::Span> spans;
  for (const SpecialSpan& span : specials)
    spans.push_back({span.begin, span.end, static_cast<uint32_t>(span.id)});
  const auto ids = checked("text", "encoding", [&] {
    return impl_->rust->encode({text.data(), text.size()}, {spans.data(), spans.size()}, cancel);
  });
  return {ids.begin(), ids.end()};
}

std::vector<SpecialSpan> Tokenizer::find_specials(std::string_view text) const {
  const auto spans = checked("text", "special tokens",
                             [&] { return impl_->rust->specials({text.data(), text.size()}); });
  std::vector<SpecialSpan> out;
  for (const rs::Span& span : spans)
    out.push_back({span.begin, span.end, static_cast<int32_t>(span.id)});
  return out;
}

int32_t Tokenizer::vocab_size() const { return impl_->vocab_size(); }

size_t Tokenizer::fewest_tokens(std::string_view text) const {
  const size_t longest = impl_->table.longest;
  if (longest == 0) return 0;
  const size_t covered = std::ranges::count_if(
      text, [&](char c) { return impl_->is_token[static_cast<unsigned char>(c)]; });
  return (covered + longest - 1) / longest;
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const int64_t id = impl_->rust->id_of(valid_utf8(token));
  return id < 0 ? std::nullopt : std::optional(static_cast<int32_t>(id));
}

std::string Tokenizer::id_to_token(int32_t id) const {
  return id < 0 ? std::string() : std::string(impl_->rust->token(static_cast<uint32_t>(id)));
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  const auto& bytes = impl_->table.bytes;
  const auto& ends = impl_->table.ends;
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

std::optional<int32_t> Tokenizer::bos_id() const { return impl_->roles.bos; }
std::optional<int32_t> Tokenizer::eos_id() const { return impl_->roles.eos; }
const std::vector<int32_t>& Tokenizer::stop_ids() const { return impl_->roles.stop_ids; }

bool Tokenizer::adds_bos() const {
  return impl_->roles.bos && impl_->roles.prefix == std::vector{*impl_->roles.bos};
}

const std::map<std::string, std::string>& Tokenizer::special_names() const {
  return impl_->roles.names;
}

}  // namespace mlxforge
