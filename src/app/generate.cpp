// generate: one prompt, its continuation on standard output, everything else on standard error.
#include <algorithm>
#include <string>

#include "app/answer.h"
#include "app/commands.h"
#include "app/console.h"
#include "app/npy.h"
#include "base/option_values.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

// What was generated. Text goes to standard output as it grows, unless it is wanted whole.
struct Output {
  std::optional<Detokenizer> detokenizer;  // none: ids are wanted, not text
  bool whole = false;
  std::string text;
  std::vector<int32_t> ids;

  void take(const StepEvent& event) {
    ids.insert(ids.end(), event.tokens.begin(), event.tokens.end());
    if (!detokenizer) return;
    const std::string piece = text_of(event, *detokenizer);
    text += piece;
    if (!whole) print(piece);
  }
};

bool is_ids(const std::string& prompt) { return prompt.ends_with(".npy"); }

std::vector<int32_t> encode_prompt(const Session& session, const Options& options,
                                   const std::string& prompt) {
  if (is_ids(prompt)) return read_ids(prompt, session.vocab_size);
  if (options.raw || session.chat_template == nullptr)
    return encode_text(session.text(), prompt).value();
  ChatInput input;
  input.messages.push_back({{"role", "user"}, {"content", prompt}});
  auto ids = encode_chat(session.text(), *session.chat_template, input);
  if (!ids.ok()) fail("app", ids.status().message);
  return std::move(ids).value();
}

std::string joined(const std::vector<int32_t>& ids) {
  std::string text;
  for (int32_t id : ids) text += str(text.empty() ? "" : " ", id);
  return text;
}

void log_timings(const Timings& t) {
  const auto rate = [](int n, double ms) { return ms > 0 ? static_cast<int>(n * 1000 / ms) : 0; };
  log_info("prompt ", t.prompt_n, " tokens at ", rate(t.prompt_n, t.prompt_ms), " tok/s, answer ",
           t.predicted_n, " tokens at ", rate(t.predicted_n - 1, t.predicted_ms), " tok/s");
}

std::string json_line(const Session& session, const Output& output, size_t n_prompt,
                      const StepEvent& last, uint64_t seed) {
  nlohmann::ordered_json json;
  json["model"] = session.files.name;
  json["prompt_tokens"] = n_prompt;
  json["completion_tokens"] = output.ids.size();
  json["finish_reason"] = last.finish == FinishReason::stop ? "stop" : "length";
  json["seed"] = seed;
  json["ids"] = output.ids;
  if (output.detokenizer) json["text"] = output.text;
  return json.dump() + "\n";
}

}  // namespace

int run_generate(const Options& options, Arguments arguments) {
  const std::string& prompt = arguments[0];
  const int n = arguments.size() > 1 ? parse_count(arguments[1], "N") : 256;
  StepQueue queue;
  prepare_device(options);
  const std::unique_ptr<Session> session = load_session(options, queue.sink());

  Request request;
  request.prompt = encode_prompt(*session, options, prompt);
  request.sampling = sampling_params(options.sampling);
  request.max_tokens = n;
  request.ignore_eos = options.ignore_eos;
  const size_t n_prompt = request.prompt.size();
  const uint64_t seed = request.sampling.seed;
  Output output{.whole = options.json};
  if (!is_ids(prompt)) output.detokenizer.emplace(session->text());
  const StepEvent last =
      run_request(*session->worker, queue, std::move(request), [&](const StepEvent& event) {
        output.take(event);
        return true;
      });
  if (options.json)
    print(json_line(*session, output, n_prompt, last, seed));
  else
    print(output.detokenizer ? "\n" : joined(output.ids) + "\n");
  log_timings(last.timings);
  return 0;
}

}  // namespace mlxforge
