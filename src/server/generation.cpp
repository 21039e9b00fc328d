#include "server/generation.h"

#include <algorithm>
#include <utility>

#include "server/error.h"

namespace mlxforge {
namespace {

Ending ending_of(const TokenStream& stream, FinishReason finish) {
  if (finish == FinishReason::length && !stream.matched()) return Ending::length;
  return stream.calls_tools() ? Ending::tool_calls : Ending::stop;
}

}  // namespace

const char* ending_name(Ending ending) {
  constexpr const char* kNames[] = {"stop", "length", "tool_calls"};
  return kNames[static_cast<int>(ending)];
}

Generation::Generation(std::shared_ptr<const ModelContext> model, GenerationPlan plan,
                       std::unique_ptr<AnswerFormat> format)
    : requests(std::move(plan.requests)),
      model_(std::move(model)),
      plan_(std::move(plan)),
      format_(std::move(format)) {
  const TokenStream stream(model_, plan_.stops, plan_.parts);
  for (const Request& request : requests) {
    Prompt prompt{.scores = request.prompt_logprobs >= 0,
                  .choices = std::vector<Choice>(request.n, Choice(stream))};
    if (plan_.echo || prompt.scores) prompt.tokens = request.prompt;
    n_open_ += prompt.choices.size();
    totals_.usage.prompt_tokens += static_cast<int>(request.prompt.size());
    prompts_.push_back(std::move(prompt));
  }
  const SamplingParams& sampling = requests.front().sampling;
  if (sampling.temperature > 0) note_ = str("seed=", sampling.seed);
}

std::string Generation::push(size_t request, const StepEvent& event) {
  if (done_) return {};
  Prompt& prompt = prompts_[request];
  const Choice& choice = prompt.choices[event.choice];
  prompt.logprobs.insert(prompt.logprobs.end(), event.prompt_logprobs.begin(),
                         event.prompt_logprobs.end());
  // After a stop string it no longer matters how the engine ends the choice.
  const bool broken =
      event.finish == FinishReason::error || event.finish == FinishReason::cancelled;
  const bool lost = broken && !choice.done && !choice.stream.matched();
  std::string out;
  if (!choice.done && !lost) out = show(request, event);
  const bool all_done = std::ranges::all_of(prompt.choices, &Choice::done);
  if (!lost && (!event.last || all_done)) return out;
  fail(event);
  return plan_.streaming ? out + format_->failure(error_) : std::string();
}

std::string Generation::show(size_t request, const StepEvent& event) {
  const bool last = event.finish != FinishReason::none;
  if (event.tokens.empty() && !last) return {};  // it is about the prompt
  Choice& choice = prompts_[request].choices[event.choice];
  const bool begins = !std::exchange(choice.begun, true), matched = choice.stream.matched();
  const int told = choice.stream.tokens();
  Piece piece = begins ? begin(prompts_[request], choice) : Piece{};
  piece.append(choice.stream.push(event.tokens, event.logprobs, last));
  // With echo a stop token is named too: lm-eval and others take the last entry for the new token.
  if (plan_.echo && event.logprobs.size() > event.tokens.size() && !choice.stream.matched())
    piece.tokens.push_back(choice.stream.scored(event.logprobs.back()));
  // The engine may have gone on after a stop string.
  auto counted = std::span(event.logprobs);
  if (choice.stream.matched())
    counted = counted.first(std::min<size_t>(counted.size(), choice.stream.tokens() - told));
  for (const TokenLogprobs& scored : counted) choice.logprob += scored.token.logprob;
  choice.n_scored += static_cast<int>(counted.size());
  if (last) finish_choice(choice, event);
  if (!last && !matched && choice.stream.matched()) ended_.push_back({request, event.choice});
  if (!plan_.streaming) {
    choice.shown.append(std::move(piece));
    return {};
  }
  const size_t index = request * plan_.n + event.choice;
  std::string out;
  if (begins) out = format_->first(index);
  if (!piece.empty()) out += format_->piece(index, piece);
  if (last)
    out += format_->end(index, choice.ending, choice.stream.match(), done_ ? &totals_ : nullptr);
  return out;
}

Piece Generation::begin(const Prompt& prompt, Choice& choice) const {
  if (!plan_.echo) return {};
  return choice.stream.echo(prompt.tokens, prompt.scores ? &prompt.logprobs : nullptr);
}

void Generation::finish_choice(Choice& choice, const StepEvent& event) {
  choice.done = true;
  choice.ending = ending_of(choice.stream, event.finish);
  Timings& all = totals_.timings;
  const Timings& own = event.timings;
  if (event.choice == 0) {  // the one that computed the prompt
    all.prompt_n += own.prompt_n;
    all.cache_n += own.cache_n;
    totals_.usage.cached_tokens += own.cache_n;
    all.queue_ms = std::max(all.queue_ms, own.queue_ms);
    all.prompt_ms = std::max(all.prompt_ms, own.prompt_ms);
    all.ttft_ms = std::max(all.ttft_ms, own.ttft_ms);
  }
  all.predicted_n += own.predicted_n;
  all.predicted_ms = std::max(all.predicted_ms, own.predicted_ms);
  done_ = --n_open_ == 0;
  totals_.usage = usage();
}

Usage Generation::usage() const {
  Usage usage = totals_.usage;
  usage.completion_tokens = usage.reasoning_tokens = 0;
  for (const Prompt& prompt : prompts_) {
    for (const Choice& choice : prompt.choices) {
      usage.completion_tokens += choice.stream.tokens();
      usage.reasoning_tokens += choice.stream.reasoning_tokens();
    }
  }
  return usage;
}

void Generation::fail(const StepEvent& event) {
  done_ = true;
  if (event.finish == FinishReason::cancelled)
    error_ = {Code::unavailable, "the request was cancelled by the server", ""};
  else
    error_ = event.error.ok() ? Status{Code::internal, "the engine failed at this request", ""}
                              : event.error;
}

std::vector<Generation::Ended> Generation::take_ended() { return std::exchange(ended_, {}); }

// Of more choices than are wanted, those of the highest mean log-probability, likeliest first.
std::vector<Generation::Choice*> Generation::chosen(Prompt& prompt) const {
  std::vector<Choice*> out;
  for (Choice& choice : prompt.choices) out.push_back(&choice);
  if (out.size() == static_cast<size_t>(plan_.n)) return out;
  const auto mean = [](const Choice* c) { return c->n_scored > 0 ? c->logprob / c->n_scored : 0; };
  std::ranges::sort(out, [&](const Choice* a, const Choice* b) {
    return mean(a) != mean(b) ? mean(a) > mean(b) : a < b;
  });
  out.resize(plan_.n);
  return out;
}

// In the order of their index.
std::vector<Answer> Generation::answers() {
  std::vector<Answer> out;
  for (Prompt& prompt : prompts_) {
    if (plan_.prompt_logprobs)
      prompt.shown = TokenStream(model_, {}).echo(prompt.tokens, &prompt.logprobs).tokens;
    for (Choice* choice : chosen(prompt))
      out.push_back({.piece = std::move(choice->shown),
                     .ending = choice->ending,
                     .stop_string = choice->stream.match(),
                     .prompt = plan_.prompt_logprobs ? &prompt.shown : nullptr});
  }
  return out;
}

HttpReply Generation::reply() {
  HttpReply reply =
      failed() ? error_reply(error_) : HttpReply{.body = format_->whole(answers(), totals_)};
  reply.headers.insert(reply.headers.end(), headers.begin(), headers.end());
  return reply;
}

const char* Generation::finish() const {
  if (!done_) return "disconnect";
  if (failed()) return "error";
  return ending_name(prompts_.front().choices.front().ending);
}

}  // namespace mlxforge
