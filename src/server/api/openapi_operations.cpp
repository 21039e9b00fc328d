#include "server/api/openapi_operations.h"

#include "server/api/generate.h"
#include "server/api/handlers.h"

namespace mlxforge {
namespace {

template <const GenerateEndpoint& endpoint>
std::vector<FieldRule> fields_of() {
  return rules_of(endpoint.fields);
}

constexpr Operation kOperations[] = {
    {"GET", "/", "A page to chat on", {.content_type = "text/html"}},
    {"GET", "/health", "What the server is doing", {.schema = "Health", .status_503 = "Health"}},
    {"GET", "/metrics", "Counts and times for Prometheus", {.content_type = "text/plain"}},
    {"GET", "/openapi.json", "This document", {"Document"}},
    {"GET", "/v1/models", "The model that is served", {"ModelList"}},
    {"GET", "/v1/models/{model}", "The same by one of its names", {"Model"}},
    {"POST",
     "/v1/chat/completions",
     "The next message of a conversation",
     {.schema = "ChatCompletion", .event = "ChatCompletionChunk"},
     {"ChatCompletionRequest", fields_of<kChatCompletions>}},
    {"POST",
     "/v1/completions",
     "The continuation of a text",
     {.schema = "Completion", .event = "CompletionChunk"},
     {"CompletionRequest", fields_of<kCompletions>}},
    {"POST",
     "/v1/messages",
     "The next message of a conversation, for Anthropic's clients",
     {.schema = "Message", .event = "MessageEvent"},
     {"MessageRequest", fields_of<kMessages>}},
    {"POST",
     "/v1/messages/count_tokens",
     "How long a prompt is",
     {"InputTokens"},
     {"MessageRequest"}},
    {"POST",
     "/v1/responses",
     "The answer to an input",
     {.schema = "Response", .event = "ResponseEvent"},
     {"ResponseRequest", fields_of<kResponses>}},
    {"GET", "/v1/responses/{id}", "A response that is kept", {"Response"}},
    {"GET",
     "/v1/responses/{id}/input_items",
     "The input of a response that is kept",
     {"ListedItems"},
     {},
     input_items_query},
    {"DELETE", "/v1/responses/{id}", "Forgets a response", {"DeletedResponse"}},
    {"POST",
     "/v1/embeddings",
     "Texts as vectors",
     {"EmbeddingList"},
     {"EmbeddingRequest", embedding_fields}},
    {"POST",
     "/v1/rerank",
     "Documents in the order of their likeness to a query",
     {"Ranking"},
     {"RerankRequest", rerank_fields}},
    {"POST",
     "/tokenize",
     "A text or a conversation as token ids",
     {"Tokens"},
     {"TokenizeRequest", tokenize_fields}},
    {"POST",
     "/detokenize",
     "Token ids as text",
     {"Text"},
     {"DetokenizeRequest", detokenize_fields}},
};

}  // namespace

std::span<const Operation> operations() { return kOperations; }

}  // namespace mlxforge
