// The loaded model as requests see it. Built by the app when loading has finished, then constant;
// shared by all requests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/service.h"

namespace mlxforge {

class ChatTemplate;
class GrammarCompiler;
class ReasoningTokens;
class Tokenizer;
struct ToolFormat;

// Used where a request names no value: the model's generation_config, else these.
struct SamplingDefaults {
  double temperature = 1;
  int top_k = 0;  // 0: off
  double top_p = 1;
  double min_p = 0;
  double typical_p = 1;
  double repetition_penalty = 1;
};

// How prompts become embeddings.
struct EmbeddingModel {
  Pooling pooling = Pooling::last;
  int dimensions = 0;     // of the hidden states
  bool declared = false;  // the model's files say that it was trained for this, and how to pool
  std::string unusable;   // why they ask for something that is not supported; empty: they do not
};

struct ModelContext {
  std::string id;                    // in /v1/models and in every answer
  std::vector<std::string> aliases;  // further names that requests may use
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model has none, chat is refused
  const ToolFormat* tool_format = nullptr;            // how it writes tool calls
  bool template_reads_tools = true;                   // else they are written into its messages
  std::shared_ptr<const ReasoningTokens> reasoning;   // null: it does not reason before it answers
  std::shared_ptr<const GrammarCompiler> grammars;
  int max_ctx = 0;     // tokens, prompt and answer together
  int vocab_size = 0;  // ids below it may be sent
  SamplingDefaults defaults;
  EmbeddingModel embedding;
  bool allow_request_template = false;  // a chat request may bring its own
  EngineService* engine = nullptr;      // outlives the server's run
};

// Whether the request may be answered by this model: by its id, an alias, `default`, `mlxforge` or
// no name at all.
Status check_model(const std::string& name, const ModelContext& model);

// Whether all are from 0 to n_ids - 1.
Status check_ids(const std::vector<int32_t>& ids, int n_ids, const char* param);

}  // namespace mlxforge
