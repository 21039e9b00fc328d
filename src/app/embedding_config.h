// How a model's prompts become embeddings: sentence-transformers' files beside the weights, or a
// GGUF's pooling_type.
#pragma once

#include "files/model_folder.h"
#include "server/model_context.h"

namespace mlxforge {

// The last token's state where the files say nothing. Throws Error for a file that is not as
// sentence-transformers writes it.
EmbeddingModel embedding_model(const ModelFiles& files, int d_model);

}  // namespace mlxforge
