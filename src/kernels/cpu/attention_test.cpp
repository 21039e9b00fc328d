#include "kernels/cpu/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/cpu/aligned.h"

namespace mlxforge::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  int n_q = 4;
  int n_kv = 2;
  int d_k = 64;
  int d_v = 64;
  KvType type = KvType::f16;
  int window = 0;
  float softcap = 0;
  bool sinks = false;
  float spread = 1;  // standard deviation of q and k
};

// Round to nearest even by way of double arithmetic, not by the code under test.
float rounded(float x, KvType type) {
  if (type == KvType::f32 || x == 0) return x;
  int exponent;
  std::frexp(x, &exponent);
  const int bits = type == KvType::f16 ? 11 : 8;
  const double step = std::ldexp(1.0, std::max(exponent, type == KvType::f16 ? -13 : -125) - bits);
  return static_cast<float>(std::nearbyint(x / step) * step);
}

// A value that the type holds exactly, as its bits.
void put(void* pool, KvType type, int64_t i, float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if (type == KvType::f32) {
    static_cast<float*>(pool)[i] = x;
  } else if (type == KvType::bf16) {
    static_cast<uint16_t*>(pool)[i] = static_cast<uint16_t>(bits >> 16);
  } else if (std::isnan(x)) {
    static_cast<uint16_t*>(pool)[i] = 0x7e00;
  } else if (std::fabs(x) < 0x1p-14f) {
    static_cast<uint16_t*>(pool)[i] = static_cast<uint16_t>(
        (bits >> 16 & 0x8000) | static_cast<uint32_t>(std::fabs(x) * 0x1p24f));
  } else {
    static_cast<uint16_t*>(pool)[i] =
        static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - (112u << 23)) >> 13);
  }
}

// One request: all its tokens' q (n, n_q, d_k), k (n, n_kv, d_k), v (n, n_kv, d_v), the last two as
// the pool's type holds them.
struct Story {
  int n;
  std::vector<float> q, k, v;
};

Story make_story(const Shape& s, int n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  Story story{n, {}, {}, {}};
  for (int i = 0; i < n * s.n_q * s.d_k; ++i) story.q.push_back(normal(rng) * s.spread);
  for (int i = 0; i < n * s.n_kv * s.d_k; ++i)
    story.k.push_back(rounded(normal(rng) * s.spread, s.type));
  for (int i = 0; i < n * s.n_kv * s.d_v; ++i) story.v.push_back(rounded(normal(rng), s.type));
  return story;
}

float sink(int head) { return 0.5f * static_cast<float>(head) - 1; }

// What is computed in one step: tokens [done, done + q_len) of a story.
struct Part {
  const Story* story;
  int done;
  int q_len;
};

// A pool in which only what the parts need is there, blocks in random order, all else NaN.
class Step {
 public:
  Step(const Shape& shape, std::vector<Part> parts, unsigned seed = 1)
      : shape_(shape), parts_(std::move(parts)) {
    int blocks = 3;
    for (const Part& p : parts_) blocks += (p.done + p.q_len + kBlockTokens - 1) / kBlockTokens;
    std::vector<int32_t> free(static_cast<size_t>(blocks));
    std::iota(free.begin(), free.end(), 0);
    std::shuffle(free.begin(), free.end(), std::mt19937(seed));
    const int64_t slots = int64_t{blocks} * kBlockTokens;
    k_ = AlignedBuffer(static_cast<size_t>(shape_.n_kv * slots * shape_.d_k) *
                       kv_bytes(shape_.type));
    v_ = AlignedBuffer(static_cast<size_t>(shape_.n_kv * slots * shape_.d_v) *
                       kv_bytes(shape_.type));
    view_ = {k_.data(), v_.data(), shape_.type, shape_.n_kv, slots, shape_.d_k, shape_.d_v};
    for (int64_t i = 0; i < shape_.n_kv * slots * shape_.d_k; ++i)
      put(view_.k, view_.type, i, kNan);
    for (int64_t i = 0; i < shape_.n_kv * slots * shape_.d_v; ++i)
      put(view_.v, view_.type, i, kNan);
    for (const Part& p : parts_) add(p, free);
  }

  // (T, n_q, d_v)
  std::vector<float> run(ThreadPool& pool) {
    std::vector<float> out(static_cast<size_t>(n_tokens_ * shape_.n_q * shape_.d_v), kNan), sinks;
    for (int h = 0; h < shape_.n_q; ++h) sinks.push_back(sink(h));
    for (size_t i = 0; i < seqs_.size(); ++i) seqs_[i].blocks = tables_[i].data();
    AttentionArgs args{q_.data(),
                       view_,
                       seqs_,
                       shape_.n_q,
                       1 / std::sqrt(static_cast<float>(shape_.d_k)),
                       shape_.window,
                       shape_.softcap,
                       shape_.sinks ? sinks.data() : nullptr,
                       out.data()};
    AlignedBuffer scratch(attention_scratch_bytes(args, pool.size()));
    std::memset(scratch.data(), 0xff, scratch.size());  // NaN
    args.scratch = scratch.data();
    paged_attention(args, pool);
    return out;
  }

 private:
  void add(const Part& p, std::vector<int32_t>& free) {
    const Shape& s = shape_;
    const int kv_len = p.done + p.q_len, first = s.window ? std::max(0, p.done + 1 - s.window) : 0;
    std::vector<int32_t> table;
    for (int b = 0; b * kBlockTokens < kv_len; ++b) {
      const bool evicted = (b + 1) * kBlockTokens <= first;
      table.push_back(evicted ? std::numeric_limits<int32_t>::max() : free.back());
      if (!evicted) free.pop_back();
    }
    for (int t = first; t < kv_len; ++t) {
      const int64_t slot =
          int64_t{table[static_cast<size_t>(t / kBlockTokens)]} * kBlockTokens + t % kBlockTokens;
      for (int h = 0; h < s.n_kv; ++h) {
        for (int i = 0; i < s.d_k; ++i)
          put(view_.k, s.type, (h * view_.n_slots + slot) * s.d_k + i,
              p.story->k[static_cast<size_t>((t * s.n_kv + h) * s.d_k + i)]);
        for (int i = 0; i < s.d_v; ++i)
          put(view_.v, s.type, (h * view_.n_slots + slot) * s.d_v + i,
              p.story->v[static_cast<size_t>((t * s.n_kv + h) * s.d_v + i)]);
      }
    }
    const auto row = p.story->q.begin() + p.done * s.n_q * s.d_k;
    q_.insert(q_.end(), row, row + p.q_len * s.n_q * s.d_k);
    seqs_.push_back({n_tokens_, p.q_len, kv_len, nullptr});
    tables_.push_back(std::move(table));
    n_tokens_ += p.q_len;
  }

  Shape shape_;
  std::vector<Part> parts_;
  AlignedBuffer k_, v_;
  KvView view_;
  std::vector<float> q_;
  std::vector<AttentionSeq> seqs_;
  std::vector<std::vector<int32_t>> tables_;
  int n_tokens_ = 0;
};

// The definition, dense and in double, for one token and head; and a bound on what f32 arithmetic
// may differ by. With u = 2^-24 a score is off by at most (d + 8) u scale |q|.|k|, which changes a
// weight by twice that, relatively; the values' sum adds its own roundings: one for each key of a
// partial, a few for each merge and for exp.
struct Expected {
  std::vector<double> value, bound;  // (d_v)
};
Expected expected(const Shape& s, const Story& story, int token, int head) {
  const int kv_head = head / (s.n_q / s.n_kv),
            first = s.window ? std::max(0, token + 1 - s.window) : 0;
  const double u = 0x1p-24, scale = 1 / std::sqrt(static_cast<float>(s.d_k));
  const float* q = &story.q[static_cast<size_t>((token * s.n_q + head) * s.d_k)];
  std::vector<double> weight;
  double most = s.sinks ? sink(head) : -INFINITY, slack = 0;
  for (int t = first; t <= token; ++t) {
    const float* k = &story.k[static_cast<size_t>((t * s.n_kv + kv_head) * s.d_k)];
    double dot = 0, norm = 0;
    for (int i = 0; i < s.d_k; ++i)
      dot += double{q[i]} * k[i], norm += std::fabs(double{q[i]} * k[i]);
    const double score =
        s.softcap > 0 ? s.softcap * std::tanh(dot * scale / s.softcap) : dot * scale;
    weight.push_back(score);
    most = std::max(most, score);
    slack = std::max(slack, (s.d_k + 8) * u * norm * scale + 4 * u * s.softcap);
  }
  double sum = s.sinks ? std::exp(sink(head) - most) : 0;
  for (double& w : weight) sum += w = std::exp(w - most);
  Expected e{std::vector<double>(static_cast<size_t>(s.d_v)),
             std::vector<double>(static_cast<size_t>(s.d_v))};
  for (int i = 0; i < s.d_v; ++i) {
    double value = 0, norm = 0;
    for (int t = first; t <= token; ++t) {
      const double term = weight[static_cast<size_t>(t - first)] / sum *
                          story.v[static_cast<size_t>((t * s.n_kv + kv_head) * s.d_v + i)];
      value += term, norm += std::fabs(term);
    }
    e.value[static_cast<size_t>(i)] = value;
    e.bound[static_cast<size_t>(i)] =
        norm * (2 * slack + (kPartialKeys + 8.0 * (token / kPartialKeys + 1) + 16) * u);
  }
  return e;
}

void expect_right(const Shape& s, const Part& p, const float* out) {
  for (int t = 0; t < p.q_len; ++t) {
    for (int h = 0; h < s.n_q; ++h) {
      const Expected e = expected(s, *p.story, p.done + t, h);
      for (int i = 0; i < s.d_v; ++i) {
        const float got = out[(t * s.n_q + h) * s.d_v + i];
        ASSERT_LE(std::fabs(got - e.value[static_cast<size_t>(i)]), e.bound[static_cast<size_t>(i)])
            << "token " << p.done + t << " head " << h << " dim " << i << " got " << got
            << " expected " << e.value[static_cast<size_t>(i)];
      }
    }
  }
}

// A prefill chunk, decodes, a draft and a first chunk in one step.
void expect_ragged_step_right(const Shape& s) {
  const Story a = make_story(s, 300, 1), b = make_story(s, 530, 2), c = make_story(s, 40, 3),
              d = make_story(s, 9, 4);
  const std::vector<Part> parts{{&a, 230, 70}, {&b, 529, 1}, {&c, 35, 5}, {&d, 0, 9}, {&c, 39, 1}};
  ThreadPool pool(2);
  const std::vector<float> out = Step(s, parts).run(pool);
  const float* rows = out.data();
  for (const Part& p : parts) {
    expect_right(s, p, rows);
    rows += p.q_len * s.n_q * s.d_v;
  }
}

TEST(Attention, EveryTypeMatchesTheDefinition) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16})
    expect_ragged_step_right({.type = type});
}

TEST(Attention, EveryGroupSize) {
  for (const int group : {1, 2, 3, 4, 5, 7, 8, 16}) {
    SCOPED_TRACE(group);
    expect_ragged_step_right({.n_q = 2 * group, .n_kv = 2, .d_k = 32, .d_v = 32});
  }
  expect_ragged_step_right({.n_q = 71, .n_kv = 1, .d_k = 16, .d_v = 16});
}

TEST(Attention, EveryHeadDim) {
  for (const int d : {1, 7, 8, 16, 24, 40, 64, 80, 96, 128, 192, 256}) {
    SCOPED_TRACE(d);
    for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16})
      expect_ragged_step_right({.n_q = 2, .n_kv = 1, .d_k = d, .d_v = d, .type = type});
  }
  expect_ragged_step_right({.d_k = 192, .d_v = 128});
  expect_ragged_step_right({.d_k = 24, .d_v = 72});
}

TEST(Attention, SoftcapAndSinks) {
  expect_ragged_step_right({.softcap = 5, .spread = 3});
  expect_ragged_step_right({.softcap = 50});
  expect_ragged_step_right({.sinks = true});
  expect_ragged_step_right({.window = 50, .softcap = 20, .sinks = true});
}

TEST(Attention, LargeScoresDoNotOverflow) {
  expect_ragged_step_right({.type = KvType::f32, .spread = 30});
}

TEST(Attention, WindowSeesExactlyItsKeys) {
  for (const int window : {1, 8, 31, 32, 33, 256, 300, 1000}) {
    SCOPED_TRACE(window);
    expect_ragged_step_right({.window = window});
  }
}

// The same token's bits: whole prompt at once on one thread, against chunks, company, threads and
// another block order.
void expect_same_bits(const Shape& s) {
  const int n = 600, row = s.n_q * s.d_v;
  const Story story = make_story(s, n, 5), other = make_story(s, 333, 6);
  ThreadPool one(1), two(2), five(5);
  const std::vector<float> whole = Step(s, {{&story, 0, n}}).run(one);
  const auto same = [&](const std::vector<float>& out, int at, int done, int q_len) {
    return std::memcmp(&out[static_cast<size_t>(at * row)], &whole[static_cast<size_t>(done * row)],
                       sizeof(float) * static_cast<size_t>(q_len * row)) == 0;
  };
  EXPECT_TRUE(same(Step(s, {{&story, 0, n}}, 2).run(two), 0, 0, n));
  EXPECT_TRUE(
      same(Step(s, {{&other, 300, 33}, {&story, 0, n}, {&other, 0, 4}}).run(five), 33, 0, n));
  for (const int chunk : {1, 5, 7, 64}) {
    for (int done = chunk == 1 ? 500 : 0; done < n; done += chunk) {
      const int q_len = std::min(chunk, n - done);
      EXPECT_TRUE(same(Step(s, {{&story, done, q_len}}, 3).run(two), 0, done, q_len))
          << chunk << " at " << done;
      if (done % 3 == 0) {
        EXPECT_TRUE(
            same(Step(s, {{&other, 332, 1}, {&other, 50, 70}, {&story, done, q_len}}).run(five), 71,
                 done, q_len))
            << chunk << " at " << done;
      }
    }
  }
}

TEST(Attention, SameBitsHoweverTheStepsAreCut) {
  expect_same_bits({.n_q = 3, .n_kv = 1});
  expect_same_bits({.n_q = 2, .n_kv = 2, .d_k = 16, .d_v = 16, .type = KvType::f32});
  expect_same_bits({.n_q = 4, .n_kv = 1, .d_k = 16, .d_v = 32, .type = KvType::bf16, .window = 8});
  expect_same_bits(
      {.n_q = 5, .n_kv = 1, .d_k = 20, .d_v = 20, .window = 300, .softcap = 10, .sinks = true});
}

// Scratch grows with the partials that are split among threads, not with the batch.
TEST(Attention, ScratchIsBounded) {
  std::vector<int32_t> blocks(256);
  std::vector<AttentionSeq> seqs;
  for (int i = 0; i < 256; ++i) seqs.push_back({i, 1, 8192, blocks.data()});
  AttentionArgs args{.kv = {.n_kv = 8, .d_k = 64, .d_v = 64}, .seqs = seqs, .n_q = 32};
  EXPECT_LT(attention_scratch_bytes(args, 2), size_t{2} << 20);
}

}  // namespace
}  // namespace mlxforge::cpu
