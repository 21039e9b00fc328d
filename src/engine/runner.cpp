#include "engine/runner.h"

#include <numeric>
#include <utility>

#include "kernels/eval.h"

namespace mlxforge {
namespace {

mx::array int_array(const std::vector<int32_t>& values) {
  return mx::array(values.begin(), {static_cast<int>(values.size())}, mx::int32);
}

// Where one sequence's n new tokens go in one cache group.
void add_sequence(AttentionBatch& group, const std::vector<BlockId>& table, const Sequence& seq,
                  int n) {
  const int q_start = static_cast<int>(group.slots.size());
  for (int position = seq.n_computed; position < seq.n_computed + n; ++position) {
    group.slots.push_back(table[position / kBlockTokens] * kBlockTokens + position % kBlockTokens);
  }
  group.seqs.push_back(
      {.q_start = q_start, .q_len = n, .kv_len = seq.n_computed + n, .blocks = table.data()});
}

// Stop ids may not come before min_tokens, nor before an answer that has a form. Where the model's
// are ordinary tokens, no grammar has them.
std::vector<int32_t> banned_ids(const Sequence& seq, const std::vector<int32_t>& model_stop_ids) {
  const AnswerGuide& guide = seq.guide;
  if (guide.forced()) return {};
  const bool early = seq.n_generated() < seq.request.min_tokens || guide.answer_due();
  std::vector<int32_t> ids(guide.banned().begin(), guide.banned().end());
  if (early) ids.insert(ids.end(), seq.request.stop_ids.begin(), seq.request.stop_ids.end());
  if (seq.request.ignore_eos ? guide.has_grammar() : early)
    ids.insert(ids.end(), model_stop_ids.begin(), model_stop_ids.end());
  return ids;
}

// The rows of an array, one after another. One without rows has no memory behind it.
class Rows {
 public:
  explicit Rows(mx::array& array)
      : width_(array.shape(1)), next_(array.size() > 0 ? array.data<float>() : nullptr) {}
  std::span<float> next() { return {std::exchange(next_, next_ + width_), width_}; }

 private:
  const size_t width_;
  float* next_;
};

}  // namespace

Runner::Runner(Decoder& decoder, const Exec& exec, const BlockManager& blocks, int n_valid)
    : decoder_(decoder), exec_(exec), blocks_(blocks), sampler_(n_valid, *exec.pool) {}

Step Runner::make_step(const Batch& batch) const {
  std::vector<int32_t> tokens, positions, logit_rows, hidden_rows;
  std::vector<AttentionBatch> groups(blocks_.groups().size());
  for (const auto& row : batch) {
    const auto first = row.seq->tokens.begin() + row.seq->n_computed;
    tokens.insert(tokens.end(), first, first + row.n);
    for (int i = 0; i < row.n; ++i) positions.push_back(row.seq->n_computed + i);
    const int q_start = static_cast<int>(tokens.size()) - row.n;
    const int first_scoring = q_start + row.seq->n_scored - 1 - row.seq->n_computed;
    for (int i = 0; i < row.n_scores(); ++i) logit_rows.push_back(first_scoring + i);
    if (row.samples()) logit_rows.push_back(q_start + row.n - 1);
    const auto [pooled, n_pooled] = row.pooled();
    for (int i = 0; i < n_pooled; ++i)
      hidden_rows.push_back(q_start + pooled - row.seq->n_computed + i);
    for (size_t g = 0; g < groups.size(); ++g) {
      add_sequence(groups[g], row.seq->blocks.tables[g], *row.seq, row.n);
    }
  }
  return {int_array(tokens), int_array(positions), std::move(groups), std::move(logit_rows),
          std::move(hidden_rows)};
}

DecoderOutputs Runner::run(const Step& step) {
  auto outputs = decoder_.forward(exec_, step);
  if (!exec_.on_cpu()) {
    auto arrays = decoder_.state();
    arrays.push_back(outputs.logits);
    arrays.push_back(outputs.hidden);
    evaluate(std::move(arrays));
  }
  return outputs;
}

DecoderOutputs Runner::forward(const Batch& batch) { return run(make_step(batch)); }

mx::array Runner::score(const ScheduledRow& row) {
  Step step = make_step({row});
  step.logit_rows.resize(row.n);
  std::iota(step.logit_rows.begin(), step.logit_rows.end(), 0);
  return run(step).logits;
}

std::vector<RowResult> Runner::sample(DecoderOutputs& outputs, const Batch& batch,
                                      const std::vector<int32_t>& model_stop_ids) {
  std::vector<RowResult> results(batch.size());
  std::vector<SampleRow> sampled;
  std::vector<ScoreRow> scored;
  Rows logits(outputs.logits), hidden(outputs.hidden);
  for (size_t i = 0; i < batch.size(); ++i) {
    Sequence& seq = *batch[i].seq;
    for (int k = 0; k < batch[i].pooled().n; ++k) {
      const auto state = hidden.next();
      results[i].hidden.insert(results[i].hidden.end(), state.begin(), state.end());
    }
    results[i].prompt_logprobs.resize(batch[i].n_scores());
    for (int k = 0; k < batch[i].n_scores(); ++k)
      scored.push_back({.logits = logits.next(),
                        .id = seq.tokens[seq.n_scored + k],
                        .n_logprobs = seq.request.prompt_logprobs,
                        .result = &results[i].prompt_logprobs[k]});
    if (!batch[i].samples()) continue;
    const auto row = logits.next();
    const auto allowed = seq.guide.allowed();
    if (!allowed.ok()) {
      results[i].token.error = allowed.status();
      continue;
    }
    sampled.push_back({.logits = row,
                       .params = &seq.request.sampling,
                       .history = {seq.tokens, static_cast<size_t>(seq.n_prompt())},
                       .allowed = allowed.value(),
                       .banned = banned_ids(seq, model_stop_ids),
                       .n_logprobs = seq.request.logprobs,
                       .result = &results[i].token});
  }
  sampler_.score(scored);
  sampler_.sample(sampled);
  return results;
}

bool Runner::recover() {
  settle_after_fault();
  if (exec_.on_cpu())
    return false;  // eager and in place: rows that threw overwrote only their own slots
  decoder_.allocate_cache(exec_, blocks_.blocks_total());
  return true;
}

}  // namespace mlxforge
