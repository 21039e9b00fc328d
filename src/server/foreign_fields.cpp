#include "server/foreign_fields.h"

namespace mlxforge {
namespace {

using enum FieldType;

constexpr Field kForBoth[] = {
    // vLLM's
    later("allowed_token_ids", array, "null"),
    later("bad_words", array, "[]"),
    later("include_stop_str_in_output", boolean, "false"),
    later("kv_transfer_params", object, "null"),
    later("length_penalty", number, "1"),
    later("logits_processors", array, "[]"),
    later("prompt_embeds", any, "null"),
    later("return_token_ids", boolean, "false"),
    later("return_tokens_as_token_ids", boolean, "false"),
    later("skip_special_tokens", boolean, "true"),
    later("spaces_between_special_tokens", boolean, "true"),
    later("truncate_prompt_tokens", integer, "null"),
    later("use_beam_search", boolean, "false"),
    // llama.cpp's
    later("dynatemp_range", number, "0"),
    later("grammar", string, R"("")"),
    later("json_schema", object, "null"),
    later("lora", array, "[]"),
    later("mirostat", integer, "0"),
    later("n_predict", integer, "null"),
    later("n_probs", integer, "0"),
    later("repeat_penalty", number, "1"),
    later("samplers", any, "null"),
    later("top_n_sigma", number, "-1"),
    // SGLang's
    later("ebnf", string, "null"),
    later("regex", string, "null"),
    // Accepted: they say how, not what.
    {"cache_prompt", boolean},
    {"cache_salt", string},
    {"guided_decoding_backend", string},
    {"prompt_cache_retention", string},
};

constexpr Field kForChat[] = {
    later("add_special_tokens", boolean, "false"),
    later("best_of", integer, "1"),
    later("echo", boolean, "false"),
    later("suffix", string, R"("")"),
};

constexpr Field kForCompletions[] = {
    later("add_special_tokens", boolean, "true"),
};

}  // namespace

std::span<const Field> foreign_fields() { return kForBoth; }
std::span<const Field> foreign_chat_fields() { return kForChat; }
std::span<const Field> foreign_completion_fields() { return kForCompletions; }

}  // namespace mlxforge
