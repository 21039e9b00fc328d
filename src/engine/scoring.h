// Scoring: the logits at every position of given ids, through the same step as generation, a chunk
// of rows at a time. Owned by the worker thread; Engine::score makes it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/runner.h"

namespace mlxforge {

class Scoring {
 public:
  // Takes the blocks that ids need; throws Error when the cache holds fewer tokens. The runner and
  // the blocks must outlive it.
  Scoring(Runner& runner, BlockManager& blocks, std::vector<int32_t> ids, int chunk);
  ~Scoring();
  Scoring(const Scoring&) = delete;
  Scoring& operator=(const Scoring&) = delete;

  bool done() const { return seq_.n_pending() == 0; }
  // The next rows, at most `chunk`: (n, vocab) f32, valid until the next call. REQUIRES !done().
  std::span<const float> next();

 private:
  Runner& runner_;
  BlockManager& blocks_;
  const int chunk_;
  Sequence seq_;
  std::optional<mx::array> rows_;
};

}  // namespace mlxforge
