// One step's inputs to the decoder: the flat batch. T tokens, the concatenation of every scheduled
// sequence's new tokens; only attention knows where one sequence ends and the next begins.
#pragma once

#include <vector>

#include "kernels/exec.h"
#include "kernels/kv_pool.h"

namespace mlxforge {

struct Step {
  mx::array tokens;                    // (T) int32
  mx::array positions;                 // (T) int32
  std::vector<AttentionBatch> groups;  // one per cache group: who sees which slots
  std::vector<int32_t> logit_rows;     // the rows that want logits, ascending
  std::vector<int32_t> hidden_rows;    // the rows whose last hidden state is wanted, ascending
};

}  // namespace mlxforge
