// /v1/rerank in Jina's and Cohere's shape: documents by the cosine of their embeddings to the
// query's.
#include <algorithm>
#include <limits>
#include <numeric>

#include "server/api/embed.h"
#include "server/api/handlers.h"
#include "server/embedding_inputs.h"

namespace mlxforge {
namespace {

using enum FieldType;

struct RerankParams : RequestParams {
  std::string query;
  OrderedJson documents;
  int top_n = std::numeric_limits<int>::max();
  bool return_documents = true;
  int priority = 0;
};

constexpr FieldOf<RerankParams> kFields[] = {
    {"model", string, set_string<&RerankParams::model>},
    {"query", string, set_string<&RerankParams::query>},
    {"documents", array, set_json<&RerankParams::documents>},
    {"top_n", integer, set_integer<&RerankParams::top_n>, 1, kUnbounded},
    {"return_documents", boolean, set_boolean<&RerankParams::return_documents>},
    {"priority", integer, set_integer<&RerankParams::priority>},
    {"user", string},  // accepted: it says who asks, not what
};

// The documents' texts, the query in front.
Result<std::vector<OrderedJson>> texts(RerankParams& params) {
  if (params.query.empty()) return Status::invalid("'query' must not be empty", "query");
  if (!params.documents.is_array() || params.documents.empty() ||
      params.documents.size() >= kMaxEmbeddingInputs)
    return Status::invalid(
        str("'documents' must be a list of 1 to ", kMaxEmbeddingInputs - 1, " documents"),
        "documents");
  std::vector<OrderedJson> out = {params.query};
  for (const OrderedJson& document : params.documents) {
    const OrderedJson text =
        document.is_object() ? document.value("text", OrderedJson()) : document;
    if (!text.is_string())
      return Status::invalid("'documents' must be strings, or objects with a string 'text'",
                             "documents");
    out.push_back(text);
  }
  return out;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Embedding::Render renderer(const std::string& model, const RerankParams& params,
                           std::vector<OrderedJson> texts) {
  return [=, top_n = params.top_n, with_text = params.return_documents](
             const Embedding::Vectors& vectors, const Usage& usage) {
    std::vector<std::pair<double, size_t>> ranking;  // best first, equal ones in order
    for (size_t i = 1; i < vectors.size(); ++i)
      ranking.emplace_back(-dot(vectors[0], vectors[i]), i - 1);
    std::ranges::sort(ranking);
    ranking.resize(std::min<size_t>(ranking.size(), top_n));
    OrderedJson results = OrderedJson::array();
    for (const auto& [score, index] : ranking) {
      results.push_back({{"index", index}, {"relevance_score", -score}});
      if (with_text) results.back()["document"] = {{"text", texts[index + 1]}};
    }
    return OrderedJson{{"model", model},
                       {"usage", {{"total_tokens", usage.prompt_tokens}}},
                       {"results", std::move(results)}};
  };
}

Result<Embedding> make(RerankParams& params, const ApiCall& call) {
  const ModelContext& model = *call.server.model;
  if (!model.embedding.declared)
    return Status::invalid(
        "this model was not trained to rank: its files declare no embedding "
        "(1_Pooling/config.json, "
        "or pooling_type in a GGUF), and it has no score head; /v1/embeddings works with it",
        "model");
  const auto inputs = texts(params);
  if (!inputs.ok()) return inputs.status();
  auto requests = embedding_requests(inputs.value(), "documents", params.priority, model,
                                     encode_limits(call, 0));
  if (!requests.ok()) return requests.status();
  return Embedding(std::move(*requests), "documents", model.embedding.dimensions,
                   renderer(model.id, params, inputs.value()));
}

}  // namespace

std::vector<FieldRule> rerank_fields() { return rules_of<RerankParams>({kFields}); }

ApiResult rerank(const ApiCall& call) { return embed<RerankParams>(call, {kFields}, make); }

}  // namespace mlxforge
