// perplexity: how well a model predicts a text, and how far the chosen arithmetic is from the float
// path.
//
// The file is tokenised once, as a completion's prompt is (ids[0] is BOS where the tokenizer adds
// one). Every id but the first is predicted once. Windows of `ctx` positions follow one another
// without overlap: window k feeds ids[k ctx] .. ids[k ctx + ctx - 1] to an empty cache, with BOS in
// place of the first where the tokenizer adds one, and predicts ids[k ctx + 1] .. ids[k ctx + ctx].
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "app/commands.h"
#include "app/console.h"
#include "app/perplexity_stats.h"
#include "app/session.h"
#include "base/option_values.h"
#include "base/utf8.h"
#include "engine/load.h"
#include "kernels/dtype.h"
#include "text/prompt.h"

namespace mlxforge {
namespace {

std::string read_text(const std::string& path) {
  const MappedFile file(path);
  const std::string valid = valid_utf8(file.text());
  if (valid != file.text()) {
    const auto differ = std::ranges::mismatch(valid, file.text());
    fail("app", "expected ", path, " to be UTF-8, got other bytes near byte ",
         differ.in1 - valid.begin());
  }
  return valid;
}

struct Windows {
  std::vector<int32_t> ids;  // the last is only predicted
  bool bos = false;          // ids[0] opens every window
  int ctx = 0;
};

Windows cut(const Session& session, const PerplexityOptions& options, const std::string& path,
            const std::string& text) {
  Windows windows{.ids = encode_text(session.text(), text).value(),
                  .bos = session.text().adds_bos(),
                  .ctx = options.ctx > 0 ? options.ctx : std::min(2048, session.max_ctx)};
  if (windows.ctx > session.max_ctx)
    fail("app", "expected --ctx to be at most ", session.max_ctx, ", the context, got ",
         windows.ctx);
  if (windows.ids.size() < 2)
    fail("app", "expected at least two tokens in ", path, ", got ", windows.ids.size());
  const size_t most = static_cast<size_t>(options.tokens) + 1;
  if (options.tokens > 0 && windows.ids.size() > most) windows.ids.resize(most);
  return windows;
}

// In step, so that only a chunk of logits of each engine is held. `exact` may be null.
void score(Engine& engine, Engine* exact, const std::vector<int32_t>& window,
           std::span<const int32_t> targets, int chunk, PerplexityStats& stats) {
  const size_t vocab = engine.spec().vocab;
  const auto scoring = engine.score(window, chunk);
  const auto exact_scoring = exact ? exact->score(window, chunk) : nullptr;
  for (auto target = targets.begin(); !scoring->done();) {
    const std::span<const float> rows = scoring->next();
    const std::span<const float> exact_rows =
        exact_scoring ? exact_scoring->next() : std::span<const float>();
    for (size_t at = 0; at < rows.size(); at += vocab)
      stats.add(rows.subspan(at, vocab), exact ? exact_rows.subspan(at, vocab) : exact_rows,
                *target++);
  }
}

PerplexityStats score_all(Engine& engine, Engine* exact, const Windows& windows, int chunk) {
  PerplexityStats stats;
  Progress progress("Scoring");
  const std::span<const int32_t> ids = windows.ids;
  const size_t n = ids.size() - 1;
  for (size_t start = 0; start < n; start += windows.ctx) {
    const size_t length = std::min<size_t>(windows.ctx, n - start);
    const auto inputs = ids.subspan(start, length);
    std::vector<int32_t> window(inputs.begin(), inputs.end());
    if (windows.bos) window[0] = ids[0];
    score(engine, exact, window, ids.subspan(start + 1, length), chunk, stats);
    progress.update(static_cast<double>(start + length) / n);
  }
  return stats;
}

std::unique_ptr<Engine> load_exact(const Session& session, EngineOptions options, int n_valid) {
  options.activations = Activations::float32;
  options.kv_dtype = KvDtype::automatic;
  Progress progress("Loading " + session.files.name + " for --activations float");
  return load_engine(session.files, options, {.n_valid = n_valid, .stop_ids = {}},
                     [&](double done) { progress.update(done); });
}

nlohmann::ordered_json row(std::string_view activations, const Engine& engine, const Mean& nll) {
  return {{"activations", activations},   {"kv_dtype", dtype_name(engine.exec().kv)},
          {"positions", nll.count()},     {"perplexity", std::exp(nll.value())},
          {"ln_perplexity", nll.value()}, {"ln_perplexity_error", nll.standard_error()}};
}

nlohmann::ordered_json report(const Options& options, const Engine& engine, const Engine* exact,
                              const PerplexityStats& stats) {
  auto json = row(show_value(options.engine.activations), engine, stats.nll());
  if (exact == nullptr) return json;
  json["against"] = row("float", *exact, stats.exact_nll());
  json["mean_kl"] = stats.kl().value();
  json["top1"] = stats.top1();
  json["flips"] = nlohmann::ordered_json::array();
  for (const Flip& flip : stats.flips())
    json["flips"].push_back({{"position", flip.position},
                             {"exact", flip.exact},
                             {"chosen", flip.chosen},
                             {"gap", flip.gap}});
  return json;
}

std::string table_line(const nlohmann::ordered_json& r) {
  char line[120];
  std::snprintf(line, sizeof(line), "%-11s %-4s %10lld %12.4f %12.4f",
                r["activations"].get<std::string>().c_str(),
                r["kv_dtype"].get<std::string>().c_str(), r["positions"].get<long long>(),
                r["perplexity"].get<double>(), r["ln_perplexity_error"].get<double>());
  return line;
}

std::string table(const nlohmann::ordered_json& r) {
  std::string text = "activations KV    positions   perplexity  error of ln";
  if (!r.contains("against")) return text + "\n" + table_line(r) + "\n";
  char compared[60];
  std::snprintf(compared, sizeof(compared), " %10.2e %9.3f %%\n", r["mean_kl"].get<double>(),
                100 * r["top1"].get<double>());
  return text + "    mean KL  same top-1\n" + table_line(r) + compared + table_line(r["against"]) +
         "\n";
}

}  // namespace

int run_perplexity(const Options& options, Arguments arguments) {
  const std::string& path = arguments[0];
  const std::string text = read_text(path);
  Options alone = options;
  alone.engine.max_batch = 1;  // the KV budget of one window
  prepare_device(alone);
  const std::unique_ptr<Session> session =
      load_session(alone, [](const std::vector<StepEvent>&) {});
  const Windows windows = cut(*session, options.perplexity, path, text);
  nlohmann::ordered_json json;
  session->worker->call([&](Engine& engine) {
    std::unique_ptr<Engine> exact;
    if (options.perplexity.against == Against::float32)
      exact = load_exact(*session, alone.engine, engine.options().n_valid);
    const PerplexityStats stats =
        score_all(engine, exact.get(), windows, options.engine.prefill_chunk);
    json = report(options, engine, exact.get(), stats);
  });
  print(options.json ? json.dump() + "\n" : table(json));
  return 0;
}

}  // namespace mlxforge
