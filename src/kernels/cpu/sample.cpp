#include "kernels/cpu/sample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu/sample_kernels.h"

namespace mlxforge::cpu {
namespace {

using Candidates = std::span<Candidate>;

bool ahead(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

uint64_t weight_of(std::span<const Candidate> c) {
  uint64_t sum = 0;
  for (const Candidate& x : c) sum += x.weight;
  return sum;
}

// Of `last` and all candidates ahead of it.
uint64_t weight_through(std::span<const Candidate> c, const Candidate& last) {
  uint64_t sum = 0;
  for (const Candidate& x : c) sum += ahead(last, x) ? 0 : x.weight;
  return sum;
}

// An eighth of an octave of weight, ascending: candidates of a higher bucket stand ahead.
constexpr int kBuckets = 256;
int bucket_of(const Candidate& x) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x.weight));
  return x.weight == 0 ? 0 : static_cast<int>((bits >> 20) - (uint32_t{127} << 3)) + 1;
}

// The median in order of three candidates of c.
Candidate pivot_of(std::span<const Candidate> c) {
  Candidate a = c.front(), b = c[c.size() / 2], z = c.back();
  if (ahead(b, a)) std::swap(a, b);
  if (ahead(z, b)) b = ahead(z, a) ? a : z;
  return b;
}

// The first candidate, in order, at which the sum of measure(candidate) is above `t`; the last one
// if it never is. Reorders c, which is not empty. A pass over buckets leaves few candidates; a
// quickselect that follows the sum instead of the rank finds it.
template <class Measure>
Candidate find(Candidates c, uint64_t t, Measure measure) {
  const auto sum = [&](Candidates part) {
    uint64_t total = 0;
    for (const Candidate& x : part) total += measure(x);
    return total;
  };
  const auto keep = [&](auto in_front) {
    const auto mid = std::partition(c.begin(), c.end(), in_front);
    return static_cast<size_t>(mid - c.begin());
  };

  uint64_t buckets[kBuckets] = {};
  for (const Candidate& x : c) buckets[bucket_of(x)] += measure(x);
  int bucket = kBuckets - 1, lowest = 0;
  while (buckets[lowest] == 0 && lowest < kBuckets - 1) ++lowest;
  for (; bucket > lowest && buckets[bucket] <= t; --bucket) t -= buckets[bucket];
  c = c.first(keep([&](const Candidate& x) { return bucket_of(x) == bucket; }));

  constexpr size_t kSortBelow = 32;
  while (c.size() > kSortBelow) {
    const Candidate pivot = pivot_of(c);  // neither the first nor the last: both sides shrink
    const size_t n_ahead = keep([&](const Candidate& x) { return ahead(x, pivot); });
    const uint64_t before = sum(c.first(n_ahead));
    const bool passed = before <= t;
    c = passed ? c.subspan(n_ahead) : c.first(n_ahead);
    if (passed) t -= before;
  }
  std::sort(c.begin(), c.end(), ahead);
  size_t i = 0;
  for (; i + 1 < c.size() && measure(c[i]) <= t; ++i) t -= measure(c[i]);
  return c[i];
}

uint64_t one_each(const Candidate&) { return 1; }
uint64_t by_weight(const Candidate& x) { return x.weight; }

// Those of c for which keep(candidate) holds. Reorders c.
template <class Keep>
Candidates those(Candidates c, Keep keep) {
  return c.first(static_cast<size_t>(std::partition(c.begin(), c.end(), keep) - c.begin()));
}

// -log p less its mean, but for the factor 1 / temperature, is the mean logit less the logit.
Candidates keep_typical(Candidates c, float typical_p) {
  const auto total = static_cast<double>(weight_of(c));
  double mean = 0;
  for (const Candidate& x : c) mean += x.weight / total * x.logit;
  const auto distance = [mean](const Candidate& x) { return std::abs(mean - x.logit); };
  // The distance at which those no further hold `needed`: a quickselect that follows the sum.
  auto needed = static_cast<uint64_t>(std::max(std::ceil(double{typical_p} * total), 1.0));
  Candidates part = c;
  while (part.size() > 1) {
    const size_t half = part.size() / 2;
    std::nth_element(part.begin(), part.begin() + half, part.end(),
                     [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    const uint64_t nearer = weight_of(part.first(half));
    const bool enough = nearer >= needed;
    part = enough ? part.first(half) : part.subspan(half);
    if (!enough) needed -= nearer;
  }
  const double reach = distance(part.front());
  return those(c, [&](const Candidate& x) { return distance(x) <= reach; });
}

Candidates exclude_top(Candidates c, float threshold) {
  const double least = double{threshold} * static_cast<double>(weight_of(c));
  const Candidates top =
      those(c, [&](const Candidate& x) { return x.weight > 0 && x.weight >= least; });
  if (top.size() < 2) return c;
  const Candidate last = *std::max_element(top.begin(), top.end(), ahead);
  return those(c, [&](const Candidate& x) { return !ahead(x, last); });
}

bool excludes_top(const SampleParams& params, const RandomBits& bits) {
  return static_cast<double>(bits.filter >> 11) * 0x1p-53 < params.xtc_probability;
}

// What is drawn from `some` candidates, a prefix of the order; `all`: whatever is behind them has
// no weight. `total`: of the whole row. -1 when candidates behind those given decide.
int32_t draw(Candidates some, bool all, uint64_t total, const SampleParams& params, size_t n,
             const RandomBits& bits) {
  uint64_t some_weight = weight_of(some);
  uint64_t kept = total;  // weight of the prefix that the filters so far keep
  const size_t k = params.top_k > 0 ? static_cast<size_t>(params.top_k) : n;
  if (k < n) {
    if (k > some.size() && !all) return -1;
    kept = k > some.size() ? some_weight : weight_through(some, find(some, k - 1, one_each));
  }
  if (params.top_p < 1) {
    const double share = std::ceil(double{params.top_p} * static_cast<double>(kept));
    const uint64_t needed = share < 1 ? 1 : static_cast<uint64_t>(share);
    if (needed > some_weight && !all) return -1;
    kept = weight_through(some, find(some, needed - 1, by_weight));
  }
  if (params.min_p > 0) {
    const double least = double{std::min(params.min_p, 1.0f)} * kUnitWeight;
    uint64_t above = 0;  // `some` holds them all
    for (const Candidate& x : some) above += x.weight >= least ? x.weight : 0;
    kept = std::min(kept, above);
  }
  const bool typical = params.typical_p < 1, exclude = excludes_top(params, bits);
  if (typical || exclude) {
    if (kept > some_weight && !all) return -1;
    const Candidate last = find(some, kept - 1, by_weight);
    some = those(some, [&](const Candidate& x) { return !ahead(last, x); });
    if (typical) some = keep_typical(some, params.typical_p);
    if (exclude) some = exclude_top(some, params.xtc_threshold);
    kept = some_weight = weight_of(some);
  }
  const auto at = static_cast<uint64_t>((static_cast<unsigned __int128>(bits.draw) * kept) >>
                                        64);  // uniform in [0, kept)
  if (at >= some_weight && !all) return -1;
  return find(some, at, by_weight).id;
}

}  // namespace

Sampled sample_row(std::span<const float> logits, const SampleParams& params, const RandomKey& key,
                   SampleScratch& scratch) {
  const SampleKernels& kernels = sample_kernels(isa());
  const int n = static_cast<int>(logits.size());
  const Best best = kernels.best(logits.data(), n);
  if (best.nan) return {-1, SampleError::nan};
  if (std::isinf(best.logit)) return {-1, SampleError::infinite};
  if (!(params.temperature > kGreedyTemperature)) return {best.id};

  const Weighting weighting{best.logit, 1 / params.temperature};
  const bool top_k = params.top_k > 0 && params.top_k < n;
  const uint64_t total =
      top_k ? 0 : kernels.total(logits.data(), n, weighting);  // top_k does not need it
  const RandomBits bits = random_bits(key);
  if (scratch.size() < logits.size()) scratch.resize(logits.size());
  // Nearly always the candidates within a few nats of the best decide; if not, all that have any
  // weight are brought in. With min_p those that it keeps do.
  constexpr float kNats = 8, kWeightlessNats = 22;
  const float few = params.min_p > 0 ? -std::log(params.min_p) + 0.01f : kNats;
  for (const float nats : {few, kWeightlessNats}) {
    const float least = best.logit - params.temperature * nats;
    const auto count =
        static_cast<size_t>(kernels.gather(logits.data(), n, weighting, least, scratch.data()));
    const int32_t id = draw(Candidates(scratch).first(count), nats >= kWeightlessNats, total,
                            params, logits.size(), bits);
    if (id >= 0) return {id};
  }
  return {best.id};  // not reached: the last prefix is whole
}

float log_sum_exp(std::span<const float> logits) {
  const SampleKernels& kernels = sample_kernels(isa());
  const int n = static_cast<int>(logits.size());
  const Best best = kernels.best(logits.data(), n);
  if (best.nan) return std::numeric_limits<float>::quiet_NaN();
  if (std::isinf(best.logit)) return best.logit;
  return static_cast<float>(best.logit + std::log(kernels.sum_exp(logits.data(), n, best.logit)));
}

}  // namespace mlxforge::cpu
