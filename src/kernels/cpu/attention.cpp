#include "kernels/cpu/attention.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/cpu/attention_kernels.h"

namespace mlxforge::cpu {
namespace {

// A tile whose partials are computed in several pieces and merged when all are there.
struct Split {
  AttentionTile tile;
  int partials;
  float* saved;
};

// What a thread claims: partials [first, last) of a tile. saved: where they go, or null when the
// piece is the whole tile.
struct Piece {
  AttentionTile tile;
  KeyRange keys;
  int first;
  int last;
  float* saved;
};

int rows_of(const AttentionTile& t) { return t.row_end - t.row_begin; }
int partials_of(KeyRange keys) {
  return (keys.last + kPartialKeys - 1) / kPartialKeys - keys.first / kPartialKeys;
}

KeyRange tile_keys(const AttentionArgs& a, const AttentionTile& t) {
  const int group = a.n_q / a.kv.n_kv, before = t.seq->kv_len - t.seq->q_len;
  const int first_query = before + t.row_begin / group,
            last_query = before + (t.row_end - 1) / group;
  return {a.window > 0 ? std::max(0, first_query + 1 - a.window) : 0, last_query + 1};
}

// Memory traffic and arithmetic of a tile, in about the time of one key's K and V for one row.
int64_t cost(const AttentionTile& t, KeyRange keys) {
  return int64_t{keys.last - keys.first} * (t.row_end - t.row_begin + 4);
}

// Calls f(tile, keys) for every tile, a sequence's last queries first: they see the most keys.
template <class F>
void for_tiles(const AttentionArgs& a, F f) {
  for (const AttentionSeq& seq : a.seqs) {
    const int rows = seq.q_len * (a.n_q / a.kv.n_kv), tiles = (rows + kTileRows - 1) / kTileRows;
    for (int i = tiles; i-- > 0;) {
      for (int h = 0; h < a.kv.n_kv; ++h) {
        const AttentionTile tile{&seq, h, i * kTileRows, std::min(rows, (i + 1) * kTileRows)};
        f(tile, tile_keys(a, tile));
      }
    }
  }
}

// Hands out parts of a buffer, 64-byte aligned; over a null buffer it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  T* take(size_t count) {
    std::byte* at = base_ ? base_ + used_ : nullptr;
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }
  size_t used() const { return used_; }

 private:
  std::byte* base_;
  size_t used_ = 0;
};

// A partial in memory: max, sum, values of a tile's rows, which the kernels take in fours.
size_t partial_floats(const AttentionArgs& a, int rows) {
  return static_cast<size_t>((rows + 3) / 4 * 4) * static_cast<size_t>(2 + padded_dim(a.kv.d_v));
}
PartialView partial_at(float* p, int rows) {
  if (p == nullptr) return {};  // counting
  const int n = (rows + 3) / 4 * 4;
  return {p, p + n, p + 2 * n};
}

AttentionScratch take_scratch(Carver& carver, const AttentionArgs& a) {
  const size_t d_k = static_cast<size_t>(padded_dim(a.kv.d_k));
  const size_t d_v = static_cast<size_t>(padded_dim(a.kv.d_v));
  AttentionScratch s;
  s.q = carver.take<float>(kTileRows * d_k);
  s.scores = carver.take<float>(kTileRows * size_t{kPartialKeys});
  s.block = carver.take<float>(kBlockTokens * std::max(d_k, d_v));
  s.one = partial_at(carver.take<float>(partial_floats(a, kTileRows)), kTileRows);
  s.total = partial_at(carver.take<float>(partial_floats(a, kTileRows)), kTileRows);
  return s;
}

// The step cut into pieces, several for every thread, and the memory they need, all of it in
// args.scratch. How it is cut changes no result: a piece is a whole number of partials.
class Plan {
 public:
  Plan(const AttentionArgs& a, int n_threads) {
    constexpr int kPiecesPerThread = 8;
    int64_t total = 0;
    for_tiles(a, [&](const AttentionTile& t, KeyRange keys) { total += cost(t, keys); });
    piece_cost_ =
        n_threads == 1 ? total : std::max<int64_t>(1, total / (n_threads * kPiecesPerThread));
    for_tiles(a, [&](const AttentionTile& t, KeyRange keys) { count(a, t, keys); });
    Carver carver(a.scratch);
    pieces_ = carver.take<Piece>(static_cast<size_t>(n_pieces_));
    splits_ = carver.take<Split>(static_cast<size_t>(n_splits_));
    threads_ = carver.take<AttentionScratch>(static_cast<size_t>(n_threads));
    float* saved = carver.take<float>(saved_floats_);
    for (int t = 0; t < n_threads; ++t) {
      const AttentionScratch scratch = take_scratch(carver, a);
      if (a.scratch) threads_[t] = scratch;
    }
    bytes_ = carver.used();
    if (!a.scratch) return;
    Piece* piece = pieces_;
    Split* split = splits_;
    for_tiles(a,
              [&](const AttentionTile& t, KeyRange keys) { cut(a, t, keys, piece, split, saved); });
  }

  size_t bytes() const { return bytes_; }
  std::span<const Piece> pieces() const { return {pieces_, static_cast<size_t>(n_pieces_)}; }
  std::span<const Split> splits() const { return {splits_, static_cast<size_t>(n_splits_)}; }
  const AttentionScratch& scratch(int thread) const { return threads_[thread]; }

 private:
  int pieces_of(const AttentionTile& t, KeyRange keys) const {
    return static_cast<int>(std::clamp<int64_t>(cost(t, keys) / piece_cost_, 1, partials_of(keys)));
  }

  void count(const AttentionArgs& a, const AttentionTile& t, KeyRange keys) {
    const int n = pieces_of(t, keys);
    n_pieces_ += n;
    if (n == 1) return;
    ++n_splits_;
    saved_floats_ += static_cast<size_t>(partials_of(keys)) * partial_floats(a, rows_of(t));
  }

  void cut(const AttentionArgs& a, const AttentionTile& t, KeyRange keys, Piece*& piece,
           Split*& split, float*& saved) const {
    const int n = pieces_of(t, keys), begin = keys.first / kPartialKeys,
              partials = partials_of(keys);
    for (int i = 0; i < n; ++i) {
      const int first = partials * i / n, last = partials * (i + 1) / n;
      float* at =
          n == 1 ? nullptr : saved + static_cast<size_t>(first) * partial_floats(a, rows_of(t));
      *piece++ = {t, keys, begin + first, begin + last, at};
    }
    if (n == 1) return;
    *split++ = {t, partials, saved};
    saved += static_cast<size_t>(partials) * partial_floats(a, rows_of(t));
  }

  int64_t piece_cost_ = 0;
  int n_pieces_ = 0;
  int n_splits_ = 0;
  size_t saved_floats_ = 0;
  size_t bytes_ = 0;
  Piece* pieces_ = nullptr;
  Split* splits_ = nullptr;
  AttentionScratch* threads_ = nullptr;
};

void run_piece(const AttentionKernels& kernels, const AttentionArgs& a, const Piece& piece,
               const AttentionScratch& s) {
  const int rows = rows_of(piece.tile);
  kernels.load_queries(a, piece.tile, s);
  if (piece.saved) {
    for (int i = piece.first; i < piece.last; ++i) {
      float* saved = piece.saved + static_cast<size_t>(i - piece.first) * partial_floats(a, rows);
      kernels.partial(a, piece.tile, piece.keys, i, s, partial_at(saved, rows));
    }
    return;
  }
  kernels.start(a, piece.tile, s.total);
  for (int i = piece.first; i < piece.last; ++i) {
    kernels.partial(a, piece.tile, piece.keys, i, s, s.one);
    kernels.merge(a, rows, s.total, s.one);
  }
  kernels.finish(a, piece.tile, s.total);
}

void merge_split(const AttentionKernels& kernels, const AttentionArgs& a, const Split& split,
                 const AttentionScratch& s) {
  const int rows = rows_of(split.tile);
  kernels.start(a, split.tile, s.total);
  for (int i = 0; i < split.partials; ++i)
    kernels.merge(a, rows, s.total,
                  partial_at(split.saved + static_cast<size_t>(i) * partial_floats(a, rows), rows));
  kernels.finish(a, split.tile, s.total);
}

}  // namespace

size_t attention_scratch_bytes(const AttentionArgs& args, int n_threads) {
  AttentionArgs counted = args;
  counted.scratch = nullptr;
  return Plan(counted, n_threads).bytes();
}

void paged_attention(const AttentionArgs& a, ThreadPool& pool) {
  check(a.scratch != nullptr, "attention needs scratch");
  check(a.kv.n_kv > 0 && a.n_q % a.kv.n_kv == 0, "expected n_q to be a multiple of n_kv, got ",
        a.n_q, " and ", a.kv.n_kv);
  const AttentionKernels& kernels = attention_kernels(isa());
  const Plan plan(a, pool.size());
  pool.run(static_cast<int>(plan.pieces().size()), [&](int i, int thread) noexcept {
    run_piece(kernels, a, plan.pieces()[static_cast<size_t>(i)], plan.scratch(thread));
  });
  pool.run(static_cast<int>(plan.splits().size()), [&](int i, int thread) noexcept {
    merge_split(kernels, a, plan.splits()[static_cast<size_t>(i)], plan.scratch(thread));
  });
}

}  // namespace mlxforge::cpu
