// bench: prefill and decode of one engine, driven step by step on its own thread, without a server,
// a tokenizer or sampling by chance.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>

#include "app/commands.h"
#include "app/console.h"
#include "app/session.h"
#include "base/clock.h"
#include "base/resources.h"
#include "engine/load.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/peak.h"

namespace mlxforge {
namespace {

struct Measured {
  std::string device;
  double token_ops = 0;
  double prefill_tok_s = 0;
  double decode_tok_s = 0;
  double steps_s = 0;                                 // decode steps: each reads every weight once
  std::vector<std::pair<std::string, double>> op_ms;  // of a decode step, on the CPU; "rest" last
  uint64_t logits_hash = 0;
};

// Bytes of weights that a decode step reads: all, but an embedding that is not also the head is
// only looked up.
double step_bytes(const WeightFiles& weights) {
  const bool has_head =
      weights.find("lm_head.weight") != nullptr || weights.find("output.weight") != nullptr;
  double bytes = 0;
  for (const TensorView& tensor : weights.tensors()) {
    const bool embedding =
        tensor.name == "token_embd.weight" || tensor.name.starts_with("model.embed_tokens.");
    if (!(embedding && has_head)) bytes += static_cast<double>(tensor.bytes.size());
  }
  return bytes;
}

// Operations that a prompt token costs in the layers' matrices, a multiplication and an addition
// for each weight.
double token_ops(const ModelSpec& spec) {
  double weights = 0;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionShape& a = layer.attention.shape;
    weights += 1.0 * spec.d_model * (a.qkv_width() + a.n_q * a.d_v);
    weights += 3.0 * spec.d_model * layer.feed_forward.d_ff;
  }
  return 2 * weights;
}

// The same ids on every machine and in every round: an odd-multiplier walk over the vocabulary.
std::vector<int32_t> some_ids(int n, int vocab, int which) {
  std::vector<int32_t> ids;
  uint64_t state = static_cast<uint64_t>(which) + 1;
  for (int i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocab)));
  }
  return ids;
}

void submit_all(Engine& engine, int batch, int prompt, int gen) {
  for (int i = 0; i < batch; ++i) {
    Request request;
    request.prompt = some_ids(prompt, engine.options().n_valid, i);
    request.max_tokens = gen;
    request.ignore_eos = true;
    engine.submit(static_cast<RequestId>(i) + 1, std::move(request), Clock::now());
  }
}

struct Counts {
  int tokens = 0;
  int steps = 0;
};

// Steps until `enough` tokens came or nothing is left to do.
Counts step_until(Engine& engine, int enough) {
  Counts counts;
  while (!engine.idle() && counts.tokens < enough) {
    ++counts.steps;
    for (const StepEvent& event : engine.step()) {
      if (event.finish == FinishReason::error) fail("bench", event.error.message);
      counts.tokens += static_cast<int>(event.tokens.size());
    }
  }
  return counts;
}

double seconds_since(TimePoint start) { return ms_between(start, Clock::now()) / 1000; }

double prefill_rate(Engine& engine, int batch, int prompt) {
  const TimePoint start = Clock::now();
  submit_all(engine, batch, prompt, 1);
  step_until(engine, batch);
  return batch * prompt / seconds_since(start);
}

// Milliseconds a step spent in each op that ran, and outside them.
std::vector<std::pair<std::string, double>> op_milliseconds(const OpTimes& times, double seconds,
                                                            int steps) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  std::vector<std::pair<std::string, double>> result;
  double rest = 1000 * seconds / steps;
  for (size_t op = 0; op < times.size(); ++op) {
    const double ms = Milliseconds(times[op]).count() / steps;
    if (ms > 0) result.emplace_back(kOpNames[op], ms);
    rest -= ms;
  }
  result.emplace_back("rest", rest);
  return result;
}

// From the step after the last sequence's first token.
void measure_decode(Engine& engine, const BenchOptions& options, int batch, Measured& result) {
  submit_all(engine, batch, options.depth + 1, options.gen + 1);
  step_until(engine, batch);
  OpTimes& times = engine.exec().memory->times;
  times = {};
  const TimePoint start = Clock::now();
  const Counts counts = step_until(engine, batch * (options.gen + 1));
  const double seconds = seconds_since(start);
  result.decode_tok_s = counts.tokens / seconds;
  result.steps_s = counts.steps / seconds;
  if (engine.exec().on_cpu()) result.op_ms = op_milliseconds(times, seconds, counts.steps);
}

// FNV-1a over the last position's logits: a fast kernel that is wrong shows.
uint64_t hash_logits(Engine& engine, int chunk) {
  const auto scoring = engine.score(some_ids(64, engine.options().n_valid, 0), chunk);
  std::span<const float> rows;
  while (!scoring->done()) rows = scoring->next();
  uint64_t hash = 14695981039346656037u;
  for (const float logit : rows.last(static_cast<size_t>(engine.spec().vocab)))
    hash = (hash ^ std::bit_cast<uint32_t>(logit)) * 1099511628211u;
  return hash;
}

// A measurement of fewer tokens or smaller batches than asked for would be a wrong one.
void expect_room(const Engine& engine, const Options& options, int batch) {
  const BenchOptions& b = options.bench;
  const int64_t tokens = std::max<int64_t>(b.prompt, int64_t{b.depth} + 1 + b.gen) + 1;
  const int context = std::min(engine.options().max_ctx, engine.capacity());
  if (tokens > context)
    fail("bench", "expected --prompt, and --depth with --gen, to fit the context of ", context,
         " tokens, got ", tokens, "; --max-ctx and --kv-budget may raise it");
  const int64_t blocks = batch * (int64_t{blocks_for(static_cast<int>(tokens))} + 1);
  if (blocks > engine.stats().kv_blocks_total)
    fail("bench", "expected a cache of ", blocks, " blocks for --batch ", batch, ", got ",
         engine.stats().kv_blocks_total, "; raise --kv-budget");
}

Measured measure(Engine& engine, const Options& options, int batch) {
  Measured result;
  result.device = device_name();
  result.token_ops = token_ops(engine.spec());
  prefill_rate(engine, batch, std::min(options.bench.prompt, 64));  // the warm-up, not counted
  result.prefill_tok_s = prefill_rate(engine, batch, options.bench.prompt);
  measure_decode(engine, options.bench, batch, result);
  result.logits_hash = hash_logits(engine, options.engine.prefill_chunk);
  return result;
}

// The yardsticks: what this machine reads and multiplies at most with these threads.
struct Machine {
  int threads = 1;
  double bandwidth = 0;  // bytes a second
  double peak = 0;       // f32 operations a second
};

Machine measure_machine(const EngineOptions& options) {
  Machine machine;
  machine.threads = threads_or_default(options.threads);
  ThreadPool pool(machine.threads);
  machine.bandwidth = cpu::read_bandwidth(pool);
  machine.peak = cpu::peak_ops(pool).f32;
  return machine;
}

nlohmann::ordered_json report(const Session& session, const Options& options,
                              const Machine& machine, int batch, const Measured& m) {
  const double bytes_s = m.steps_s * step_bytes(session.files.weights);
  char hash[17];
  std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(m.logits_hash));
  nlohmann::ordered_json json;
  json["model"] = session.files.name;
  const bool on_cpu = m.device == "cpu";  // the yardsticks are the CPU's
  json["device"] = m.device;
  json["isa"] = on_cpu ? cpu::isa_name(cpu::isa()) : "";
  json["threads"] = machine.threads;
  json["batch"] = batch;
  json["prompt"] = options.bench.prompt;
  json["gen"] = options.bench.gen;
  json["depth"] = options.bench.depth;
  json["prefill_tok_s"] = m.prefill_tok_s;
  json["decode_tok_s"] = m.decode_tok_s;
  json["gb_s"] = bytes_s / 1e9;
  json["bw_share"] = on_cpu ? bytes_s / machine.bandwidth : 0;
  json["peak_share"] = on_cpu ? m.prefill_tok_s * m.token_ops / machine.peak : 0;
  json["op_ms"] = nlohmann::ordered_json::object();
  for (const auto& [op, ms] : m.op_ms) json["op_ms"][op] = ms;
  json["rss_mb"] = resident_memory() / 1'000'000;
  json["logits_hash"] = hash;
  return json;
}

std::string table_line(const nlohmann::ordered_json& r) {
  char line[200];
  std::snprintf(line, sizeof(line), "%6d %14.1f %6.0f %% %14.1f %8.2f %9.0f %% %7lld  %s\n",
                r["batch"].get<int>(), r["prefill_tok_s"].get<double>(),
                100 * r["peak_share"].get<double>(), r["decode_tok_s"].get<double>(),
                r["gb_s"].get<double>(), 100 * r["bw_share"].get<double>(),
                r["rss_mb"].get<long long>(), r["logits_hash"].get<std::string>().c_str());
  std::string text = line;
  for (const auto& [op, ms] : r["op_ms"].items()) {
    std::snprintf(line, sizeof(line), "%27s %9.3f ms a decode step\n", op.c_str(),
                  ms.get<double>());
    text += line;
  }
  return text;
}

}  // namespace

int run_bench(const Options& given, Arguments) {
  Options options = given;
  for (int batch : options.bench.batch)  // each is to run at once
    options.engine.max_batch = std::max(options.engine.max_batch, batch);
  prepare_device(options);
  const std::unique_ptr<Session> session =
      load_session(options, [](const std::vector<StepEvent>&) {});
  session->worker->call([&](const Engine& engine) {
    for (int batch : options.bench.batch) expect_room(engine, options, batch);
  });
  const Machine machine = measure_machine(options.engine);
  if (!options.json)
    print(" batch  prefill tok/s  of peak   decode tok/s     GB/s  of memory  RSS MB  logits\n");
  for (int batch : options.bench.batch) {
    Measured m;
    session->worker->call([&](Engine& engine) { m = measure(engine, options, batch); });
    const auto row = report(*session, options, machine, batch, m);
    print(options.json ? row.dump() + "\n" : table_line(row));
  }
  return 0;
}

}  // namespace mlxforge
