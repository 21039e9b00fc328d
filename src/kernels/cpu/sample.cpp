#include "kernels/cpu/sample.h"

#include <algorithm>
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

// The median in order of three candidates of c.
Candidate pivot_of(std::span<const Candidate> c) {
  Candidate a = c.front(), b = c[c.size() / 2], z = c.back();
  if (ahead(b, a)) std::swap(a, b);
  if (ahead(z, b)) b = ahead(z, a) ? a : z;
  return b;
}

// The index, once in order, of the first candidate at which the cumulative weight is above
// `weight`; the last if it never is. Reorders so that those before it come first: a quickselect
// that follows weight instead of rank.
size_t crossing(Candidates c, uint64_t weight) {
  constexpr size_t kSortBelow = 32;
  size_t begin = 0, end = c.size();
  while (end - begin > kSortBelow) {
    const Candidates part = c.subspan(begin, end - begin);
    const Candidate pivot =
        pivot_of(part);  // neither the first nor the last of the part: both sides shrink
    const auto mid = std::partition(part.begin(), part.end(),
                                    [&](const Candidate& x) { return ahead(x, pivot); });
    const size_t n_ahead = static_cast<size_t>(mid - part.begin());
    const uint64_t before = weight_of(part.first(n_ahead));
    if (before > weight) {
      end = begin + n_ahead;
    } else {
      weight -= before;
      begin += n_ahead;
    }
  }
  std::sort(c.begin() + static_cast<std::ptrdiff_t>(begin),
            c.begin() + static_cast<std::ptrdiff_t>(end), ahead);
  for (; begin + 1 < end && c[begin].weight <= weight; ++begin) weight -= c[begin].weight;
  return begin;
}

// The part of the order that a threshold on logits has brought in: a prefix of it, whole when
// `all`. Narrowed by one filter after the other; each returns false when it needs candidates below
// the threshold.
struct Prefix {
  Candidates kept;
  uint64_t
      weight;  // of the candidates that the filters so far keep, also of those below the threshold
  bool all;

  bool keep_top_k(size_t k) {
    if (k < kept.size()) {
      std::nth_element(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(k), kept.end(),
                       ahead);
      kept = kept.first(k);
    } else if (!all) {
      return false;
    }
    weight = weight_of(kept);
    all = true;
    return true;
  }

  bool keep_top_p(double p) {
    const double share = std::ceil(p * static_cast<double>(weight));
    const uint64_t needed = share < 1 ? 1 : static_cast<uint64_t>(share);
    if (!all && weight_of(kept) < needed) return false;
    kept = kept.first(crossing(kept, needed - 1) + 1);
    weight = weight_of(kept);
    all = true;
    return true;
  }

  // The threshold is at or below that of min_p.
  void keep_min_p(double p) {
    const auto end = std::partition(
        kept.begin(), kept.end(), [&](const Candidate& x) { return x.weight >= p * kUnitWeight; });
    kept = kept.first(static_cast<size_t>(end - kept.begin()));
    weight = weight_of(kept);
    all = true;
  }

  // An id, or -1 when the draw falls below the threshold.
  int32_t draw(uint64_t bits) const {
    const auto at = static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * weight) >>
                                          64);  // uniform in [0, weight)
    if (!all && at >= weight_of(kept)) return -1;
    return kept[crossing(kept, at)].id;
  }
};

int32_t sample_prefix(Prefix prefix, const SampleParams& params, size_t n, uint64_t bits) {
  const size_t k = params.top_k > 0 ? static_cast<size_t>(params.top_k) : n;
  if (k < n && !prefix.keep_top_k(k)) return -1;
  if (params.top_p < 1 && !prefix.keep_top_p(params.top_p)) return -1;
  if (params.min_p > 0) prefix.keep_min_p(std::min(params.min_p, 1.0f));
  return prefix.draw(bits);
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
  const uint64_t total = kernels.total(logits.data(), n, weighting);
  const uint64_t bits = random_bits(key);
  if (scratch.size() < logits.size()) scratch.resize(logits.size());
  // Nearly always the candidates within a few nats of the best decide; if not, all that have any
  // weight are brought in.
  constexpr float kNats = 8, kWeightlessNats = 22;
  const float min_p_nats = params.min_p > 0 ? -std::log(params.min_p) + 0.01f : 0;
  for (const float nats : {std::max(kNats, min_p_nats), kWeightlessNats}) {
    const float least = best.logit - params.temperature * nats;
    const auto count =
        static_cast<size_t>(kernels.gather(logits.data(), n, weighting, least, scratch.data()));
    const Prefix prefix{Candidates(scratch).first(count), total, nats >= kWeightlessNats};
    const int32_t id = sample_prefix(prefix, params, logits.size(), bits);
    if (id >= 0) return {id};
  }
  return {best.id};  // not reached: the last prefix is whole
}

}  // namespace mlxforge::cpu
