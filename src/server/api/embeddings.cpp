#include <openssl/evp.h>

#include "server/api/embed.h"
#include "server/api/handlers.h"
#include "server/embedding_inputs.h"

namespace mlxforge {
namespace {

using enum FieldType;

struct EmbeddingParams : RequestParams {
  OrderedJson input;
  bool base64 = false;
  std::optional<int> dimensions;
  int priority = 0;
};

Status set_encoding(OrderedJson& value, EmbeddingParams& params) {
  params.base64 = value == "base64";
  if (params.base64 || value == "float") return {};
  return Status::invalid("'encoding_format' must be \"float\" or \"base64\"");
}

constexpr FieldOf<EmbeddingParams> kFields[] = {
    {"model", string, set_string<&EmbeddingParams::model>},
    {"input", any, set_json<&EmbeddingParams::input>},
    {"encoding_format", string, set_encoding},
    {"dimensions", integer, set_integer<&EmbeddingParams::dimensions>, 1, kUnbounded},
    {"priority", integer, set_integer<&EmbeddingParams::priority>},
    // Accepted: they say who asks, not what.
    {"user", string},
    {"metadata", object},
};

// The numbers' bytes, little-endian, as OpenAI sends them.
std::string base64(const std::vector<float>& vector) {
  const auto n_bytes = static_cast<int>(vector.size() * sizeof(float));
  std::string out((n_bytes + 2) / 3 * 4 + 1, '\0');  // and a NUL
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(vector.data()), n_bytes);
  out.pop_back();
  return out;
}

Embedding::Render renderer(const std::string& model, bool as_base64) {
  return [=](const Embedding::Vectors& vectors, const Usage& usage) {
    OrderedJson data = OrderedJson::array();
    for (const auto& vector : vectors)
      data.push_back(
          {{"object", "embedding"},
           {"index", data.size()},
           {"embedding", as_base64 ? OrderedJson(base64(vector)) : OrderedJson(vector)}});
    return OrderedJson{
        {"object", "list"},
        {"data", std::move(data)},
        {"model", model},
        {"usage", {{"prompt_tokens", usage.prompt_tokens}, {"total_tokens", usage.prompt_tokens}}}};
  };
}

Result<Embedding> make(EmbeddingParams& params, const ApiCall& call) {
  const ModelContext& model = *call.server.model;
  const int dimensions = params.dimensions.value_or(model.embedding.dimensions);
  if (dimensions > model.embedding.dimensions)
    return Status::invalid(str("'dimensions' (", dimensions, ") must be at most ",
                               model.embedding.dimensions, ", what this model's embeddings have"),
                           "dimensions");
  const auto inputs = split_prompts(std::move(params.input), "input", kMaxEmbeddingInputs);
  if (!inputs.ok()) return inputs.status();
  auto requests =
      embedding_requests(inputs.value(), "input", params.priority, model, encode_limits(call, 0));
  if (!requests.ok()) return requests.status();
  return Embedding(std::move(*requests), "input", dimensions, renderer(model.id, params.base64));
}

}  // namespace

std::vector<FieldRule> embedding_fields() { return rules_of<EmbeddingParams>({kFields}); }

ApiResult embeddings(const ApiCall& call) { return embed<EmbeddingParams>(call, {kFields}, make); }

}  // namespace mlxforge
