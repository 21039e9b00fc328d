// What attention.cpp hands to the kernels of one ISA: a tile of query rows, the keys it sees, and
// the memory to work in.
#pragma once

#include "kernels/cpu/attention.h"
#include "kernels/cpu/isa.h"

namespace mlxforge::cpu {

inline constexpr int kTileRows = 64;
inline constexpr int kPadDim =
    16;  // head dims are padded to a multiple of this in scratch; the most lanes of any ISA
constexpr int padded_dim(int d) { return (d + kPadDim - 1) / kPadDim * kPadDim; }

// Rows of one sequence that share a K and V head: row r is query r / group, query head kv_head *
// group + r % group.
struct AttentionTile {
  const AttentionSeq* seq;
  int kv_head;
  int row_begin;
  int row_end;
};

// Keys [first, last) as some row of the tile sees them; all of them fall to the last row when there
// is no window.
struct KeyRange {
  int first;
  int last;
};

// Softmax state of a tile's rows, relative to each row's own max: (max, sum, weighted values), over
// some of the keys.
struct PartialView {
  float* max;     // (kTileRows) -inf: no key seen
  float* sum;     // (kTileRows)
  float* values;  // (kTileRows, padded d_v)
};

// A thread's working memory. Each array is 64-byte aligned.
struct AttentionScratch {
  float* q;           // (kTileRows, padded d_k) times the scale
  float* scores;      // (kTileRows * kPartialKeys)
  float* block;       // (kBlockTokens, padded d_k or d_v) one block of K or V as f32
  PartialView one;    // the partial being computed
  PartialView total;  // the partials merged so far
};

struct AttentionKernels {
  // Fills scratch.q with the tile's queries.
  void (*load_queries)(const AttentionArgs&, const AttentionTile&,
                       const AttentionScratch&) noexcept;
  // out = the partial over keys [256 index, 256 (index + 1)) that lie in range.
  void (*partial)(const AttentionArgs&, const AttentionTile&, KeyRange, int index,
                  const AttentionScratch&, const PartialView& out) noexcept;
  void (*start)(const AttentionArgs&, const AttentionTile&, const PartialView& total) noexcept;
  void (*merge)(const AttentionArgs&, int rows, const PartialView& total,
                const PartialView& one) noexcept;
  void (*finish)(const AttentionArgs&, const AttentionTile&,
                 const PartialView& total) noexcept;  // writes args.out
};
MLXFORGE_CPU_TABLE(AttentionKernels, attention_kernels)

}  // namespace mlxforge::cpu
