#include "app/commands.h"

namespace mlxforge {
namespace {

constexpr Command kCommands[] = {
    {"serve", "[MODEL]", "Serve the model over an OpenAI-compatible HTTP API.", 0, 0, run_serve},
    {"generate", "MODEL PROMPT|IDS.npy [N=256]",
     "Continue PROMPT by at most N tokens. PROMPT alone asks the default model.", 1, 1,
     run_generate},
    {"chat", "[MODEL]", "Talk with the model in the terminal.", 0, 0, run_chat},
    {"bench", "[MODEL]", "Measure prefill and decode.", 0, 0, run_bench},
    {"inspect", "[MODEL]", "Tell what a model is; runs nothing.", 0, 0, run_inspect},
    {"dump-weights", "[MODEL]", "The same as inspect --weights.", 0, 0, run_dump_weights},
    {"logits", "[MODEL] --ids IDS.npy --out LOGITS.npy",
     "Write the logits at every position of IDS.npy.", 0, 0, run_logits},
    {"perplexity", "MODEL FILE",
     "Predict the text of FILE; --against float measures the arithmetic's loss.", 1, 0,
     run_perplexity},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands)
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace mlxforge
