#include "text/fill_in_middle.h"

#include <algorithm>

namespace mlxforge {
namespace {

struct Markers {
  const char *prefix, *suffix, *middle;

  bool known_to(const Tokenizer& tokenizer) const {
    return tokenizer.token_to_id(prefix) && tokenizer.token_to_id(suffix) &&
           tokenizer.token_to_id(middle);
  }
};

constexpr Markers kMarkers[] = {
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},        // StarCoder, Refact, Granite
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},  // Qwen2.5-Coder, CodeGemma
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},  // DeepSeek-Coder
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},                          // Code Llama
};

}  // namespace

Result<std::vector<int32_t>> encode_fill_in_middle(const Tokenizer& tokenizer,
                                                   std::string_view prefix, std::string_view suffix,
                                                   const EncodeLimits& limits) {
  const auto known =
      std::ranges::find_if(kMarkers, [&](const Markers& m) { return m.known_to(tokenizer); });
  if (known == std::end(kMarkers))
    return Status::invalid("this model has no tokens for filling in the middle", "suffix");
  if (Status s = check_length(tokenizer, str(prefix, suffix), limits); !s.ok()) return s;
  std::vector<int32_t> ids;
  if (tokenizer.adds_bos()) ids.push_back(*tokenizer.bos_id());
  const auto append = [&](const char* marker, std::string_view text) {
    ids.push_back(tokenizer.token_to_id(marker).value());
    const std::vector<int32_t> more = tokenizer.encode(text, {}, limits.cancel);
    ids.insert(ids.end(), more.begin(), more.end());
  };
  append(known->prefix, prefix);
  append(known->suffix, suffix);
  append(known->middle, "");
  if (limits.cancel.is_set()) return cancelled();
  return ids;
}

}  // namespace mlxforge
