// /tokenize and /detokenize, in vLLM's shapes.
#include "server/api/handlers.h"
#include "server/api/read_params.h"
#include "server/chat_params.h"
#include "server/error.h"
#include "server/ignored_fields.h"
#include "server/tools.h"
#include "text/detokenizer.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

using enum FieldType;
using Ids = std::vector<int32_t>;

struct TokenizeParams : ChatParams {
  std::optional<std::string> prompt;
  std::optional<bool> add_special_tokens;
  OrderedJson tools = OrderedJson::array();
  bool return_token_strs = false;
};

constexpr FieldOf<TokenizeParams> kPromptFields[] = {
    {"model", string, set_string<&TokenizeParams::model>},
    {"prompt", string, set_string<&TokenizeParams::prompt>},
    {"tools", array,
     [](OrderedJson& value, TokenizeParams& params) {
       Status status = check_tools(value);
       params.tools = std::move(value);
       return status;
     }},
    {"add_special_tokens", boolean, set_boolean<&TokenizeParams::add_special_tokens>},
    {"return_token_strs", boolean, set_boolean<&TokenizeParams::return_token_strs>},
};

const FieldTablesOf<TokenizeParams> kTokenizeFields = {kChatFields<TokenizeParams>, kPromptFields};

struct DetokenizeParams : RequestParams {
  std::optional<Ids> tokens;
};

constexpr FieldOf<DetokenizeParams> kIdFields[] = {
    {"model", string, set_string<&DetokenizeParams::model>},
    {"tokens", array,
     [](OrderedJson& value, DetokenizeParams& params) {
       return read_token_ids(value, "tokens", params.tokens.emplace());
     }},
};

const FieldTablesOf<DetokenizeParams> kDetokenizeFields = {kIdFields};

Result<Ids> encode(TokenizeParams& params, const ApiCall& call) {
  const ModelContext& model = *call.server.model;
  const EncodeLimits limits = {.cancel = call.cancel};  // it may be longer than the context
  if (params.prompt.has_value() == !params.messages.is_null())
    return Status::invalid("expected either 'prompt' or 'messages'", "prompt");
  if (params.prompt && !params.tools.empty())
    return Status::invalid("'tools' goes with 'messages'", "tools");
  if (params.prompt && params.add_special_tokens.value_or(true))
    return encode_text(*model.tokenizer, *params.prompt, limits);
  if (params.prompt) return model.tokenizer->encode(*params.prompt, {}, call.cancel);
  if (params.add_special_tokens.value_or(false))
    return Status::invalid("the chat template adds the special tokens; leave this field out",
                           "add_special_tokens");
  auto input = chat_input(params);
  if (!input.ok()) return input.status();
  show_tools(std::move(params.tools), model, *input);
  return encode_conversation(params, *input, model, limits);
}

OrderedJson token_strings(const Ids& ids, const Tokenizer& tokenizer) {
  OrderedJson out = OrderedJson::array();
  for (const int32_t id : ids) out.push_back(tokenizer.id_to_token(id));
  return out;
}

Result<OrderedJson> tokenized(TokenizeParams& params, const ApiCall& call) {
  const ModelContext& model = *call.server.model;
  const Result<Ids> ids = encode(params, call);
  if (!ids.ok()) return ids.status();
  OrderedJson out = {{"count", ids.value().size()},
                     {"max_model_len", model.max_ctx},
                     {"tokens", ids.value()},
                     {"token_strs", nullptr}};
  if (params.return_token_strs) out["token_strs"] = token_strings(ids.value(), *model.tokenizer);
  return out;
}

Result<OrderedJson> detokenized(DetokenizeParams& params, const ApiCall& call) {
  const ModelContext& model = *call.server.model;
  if (!params.tokens) return Status::invalid("'tokens' is missing", "tokens");
  if (Status s = check_ids(*params.tokens, model.tokenizer->vocab_size(), "tokens"); !s.ok())
    return s;
  Detokenizer detokenizer(*model.tokenizer, Detokenizer::Specials::shown);
  std::string text;
  for (const int32_t id : *params.tokens) {
    if (call.cancel.is_set()) return cancelled();
    text += detokenizer.push(id);
  }
  return OrderedJson{{"prompt", text + detokenizer.flush()}};
}

template <class Params>
ApiResult answer(const ApiCall& call, const FieldTablesOf<Params>& tables,
                 Result<OrderedJson> (*make)(Params&, const ApiCall&)) {
  auto params = read_params<Params>(call, tables);
  if (!params.ok()) return error_reply(params.status());
  const Result<OrderedJson> out = make(*params, call);
  if (!out.ok()) return error_reply(out.status());
  return HttpReply{.body = to_text(out.value()), .headers = report_ignored(params->unknown)};
}

}  // namespace

std::vector<FieldRule> tokenize_fields() { return rules_of(kTokenizeFields); }
std::vector<FieldRule> detokenize_fields() { return rules_of(kDetokenizeFields); }

ApiResult tokenize(const ApiCall& call) { return answer(call, kTokenizeFields, tokenized); }

ApiResult detokenize(const ApiCall& call) { return answer(call, kDetokenizeFields, detokenized); }

}  // namespace mlxforge
