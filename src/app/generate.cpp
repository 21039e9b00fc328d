// generate: one prompt, its continuation on standard output, everything else on standard error.
#include <algorithm>
#include <string>

#include "app/answer.h"
#include "app/commands.h"
#include "app/console.h"
#include "app/npy.h"
#include "base/option_values.h"
#include "text/detokenizer.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

struct Output {
  std::string text;          // of a text prompt
  std::vector<int32_t> ids;  // all that were generated
};

std::vector<int32_t> encode_prompt(const Session& session, const Options& options,
                                   const std::string& prompt) {
  if (prompt.ends_with(".npy")) return read_ids(prompt, session.vocab_size);
  if (options.raw || session.chat_template == nullptr) return encode_text(session.text(), prompt);
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

std::string json_line(const Session& session, const Output& output, bool as_ids, size_t n_prompt,
                      const StepEvent& last, uint64_t seed) {
  nlohmann::ordered_json json;
  json["model"] = session.files.name;
  json["prompt_tokens"] = n_prompt;
  json["completion_tokens"] = output.ids.size();
  json["finish_reason"] = last.finish == FinishReason::stop ? "stop" : "length";
  json["seed"] = seed;
  json["ids"] = output.ids;
  if (!as_ids) json["text"] = output.text;
  return json.dump() + "\n";
}

}  // namespace

int run_generate(const Options& options, Arguments arguments) {
  const std::string& prompt = arguments[0];
  const bool as_ids = prompt.ends_with(".npy");
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
  std::optional<Detokenizer> detokenizer;
  if (!as_ids) detokenizer.emplace(session->text());
  Output output;
  const auto take = [&](const StepEvent& event) {
    output.ids.insert(output.ids.end(), event.tokens.begin(), event.tokens.end());
    if (as_ids) return true;
    std::string piece;
    for (int32_t id : event.tokens) piece += detokenizer->push(id);
    if (event.finish != FinishReason::none) piece += detokenizer->flush();
    output.text += piece;
    if (!options.json) print(piece);
    return true;
  };
  const StepEvent last = run_request(*session->worker, queue, std::move(request), take);
  if (options.json)
    print(json_line(*session, output, as_ids, n_prompt, last, seed));
  else
    print(as_ids ? joined(output.ids) + "\n" : "\n");
  log_timings(last.timings);
  return 0;
}

}  // namespace mlxforge
