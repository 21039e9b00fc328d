// The lab of attention, rope_append, sampling and the thread pool: times, GB/s of K and V,
// operations a second, the shares of what this machine can do, and a hash of each result, so that a
// fast wrong kernel shows.
//   cpu_attn_bench [parts=pool,rope,decode,prefill,sample] [shapes=1b,3b,smol]
//   [keys=128,512,2048,8192] [threads=N] [seconds=0.2]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "base/resources.h"
#include "kernels/cpu/aligned.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/peak.h"
#include "kernels/cpu/rope.h"
#include "kernels/cpu/sample.h"

namespace mlxforge::cpu {
namespace {

using Clock = std::chrono::steady_clock;

struct Heads {
  const char* name;
  int n_q, n_kv, d;
};
const Heads kHeads[] = {{"1b", 32, 8, 64}, {"3b", 24, 8, 128}, {"smol", 9, 3, 64}};

struct Time {
  double median, best;  // seconds
};
// Of one f().
template <class F>
Time time_of(double seconds, F f) {
  f();
  std::vector<double> times;
  const auto start = Clock::now();
  do {
    const auto t = Clock::now();
    f();
    times.push_back(std::chrono::duration<double>(Clock::now() - t).count());
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds ||
           times.size() < 5);
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[0]};
}

unsigned long long hash_of(const void* data, size_t bytes) {
  uint64_t hash = 14695981039346656037ull;
  for (size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 1099511628211ull;
  return hash;
}

std::vector<float> random_floats(size_t n, float spread, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> out(n);
  for (float& x : out) x = normal(rng);
  return out;
}

// One layer's pool, filled through rope_append itself, so that every value is a plausible f16.
struct Layer {
  AlignedBuffer k, v;
  KvView view;

  Layer(const Heads& h, int keys, unsigned seed, ThreadPool& pool) {
    const int64_t slots = (keys + kBlockTokens - 1) / kBlockTokens * kBlockTokens;
    const size_t bytes = static_cast<size_t>(h.n_kv * slots * h.d) * kv_bytes(KvType::f16);
    k = AlignedBuffer(bytes), v = AlignedBuffer(bytes);
    view = {k.data(), v.data(), KvType::f16, h.n_kv, slots, h.d, h.d};
    constexpr int kTokens = 32;
    const auto qkv = random_floats(static_cast<size_t>(kTokens * 2 * h.n_kv * h.d), 1, seed);
    std::vector<int32_t> at(kTokens);
    for (int begin = 0; begin < slots; begin += kTokens) {
      for (int i = 0; i < kTokens; ++i) at[static_cast<size_t>(i)] = begin + i;
      rope_append({.qkv = qkv.data(),
                   .n_tokens = kTokens,
                   .n_q = 0,
                   .positions = at.data(),
                   .slots = at.data(),
                   .kv = view},
                  pool);
    }
  }
};

struct Bench {
  ThreadPool pool;
  double seconds;
  double bandwidth, flops;
  std::vector<int> keys;

  Bench(int threads, double seconds) : pool(threads), seconds(seconds) {
    bandwidth = read_bandwidth(pool);
    flops = peak_ops(pool).f32;
    std::printf("isa %s, %d threads, read %.1f GB/s, f32 %.0f GFLOP/s\n",
                std::string(isa_name(isa())).c_str(), pool.size(), bandwidth * 1e-9, flops * 1e-9);
  }

  void run_pool() {
    for (const int chunks : {2, 16, 64}) {
      const Time t = time_of(seconds, [&] {
        for (int i = 0; i < 100; ++i) pool.run(chunks, [](int, int) noexcept {});
      });
      std::printf("pool    %2d empty chunks %8.3f us (best %8.3f)\n", chunks, t.median * 1e4,
                  t.best * 1e4);
    }
  }

  void run_rope(const Heads& h) {
    for (const int T : {1, 8, 512}) {
      Layer layer(h, T, 1, pool);
      const auto qkv = random_floats(static_cast<size_t>(T * (h.n_q + 2 * h.n_kv) * h.d), 1, 2);
      std::vector<float> q(static_cast<size_t>(T * h.n_q * h.d)),
          freq(static_cast<size_t>(h.d / 2));
      for (size_t i = 0; i < freq.size(); ++i)
        freq[i] = std::pow(500000.0f, -static_cast<float>(i) / static_cast<float>(freq.size()));
      std::vector<int32_t> at(static_cast<size_t>(T));
      for (int i = 0; i < T; ++i) at[static_cast<size_t>(i)] = i;
      const RopeAppendArgs args{.qkv = qkv.data(),
                                .n_tokens = T,
                                .n_q = h.n_q,
                                .rope = {freq.data(), h.d},
                                .positions = at.data(),
                                .slots = at.data(),
                                .kv = layer.view,
                                .q = q.data()};
      const Time t = time_of(seconds, [&] { rope_append(args, pool); });
      std::printf("rope    %-4s T=%-4d %9.2f us (best %9.2f), %6.3f us a token  %016llx\n", h.name,
                  T, t.median * 1e6, t.best * 1e6, t.median * 1e6 / T,
                  hash_of(q.data(), q.size() * 4));
    }
  }

  // `q_len` queries at the end of `keys` keys.
  void run_attention(const char* what, const Heads& h, int q_len, int n_keys) {
    const size_t kv_bytes_read =
        size_t{2} * static_cast<size_t>(h.n_kv * n_keys * h.d) * kv_bytes(KvType::f16);
    std::vector<Layer> layers;  // enough that no cache holds them all
    while (layers.empty() || (q_len == 1 && layers.size() * kv_bytes_read < (size_t{160} << 20)))
      layers.emplace_back(h, n_keys, static_cast<unsigned>(layers.size()), pool);
    std::vector<int32_t> blocks(static_cast<size_t>((n_keys + kBlockTokens - 1) / kBlockTokens));
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int32_t>(i);
    const auto q = random_floats(static_cast<size_t>(q_len * h.n_q * h.d), 1, 3);
    std::vector<float> out(q.size());
    const AttentionSeq seq{0, q_len, n_keys, blocks.data()};
    AttentionArgs args{.q = q.data(),
                       .kv = layers[0].view,
                       .seqs = {&seq, 1},
                       .n_q = h.n_q,
                       .scale = 1 / std::sqrt(static_cast<float>(h.d)),
                       .out = out.data()};
    AlignedBuffer scratch(attention_scratch_bytes(args, pool.size()));
    args.scratch = scratch.data();
    size_t next = 0;
    const Time t = time_of(seconds, [&] {
      args.kv = layers[next++ % layers.size()].view;
      paged_attention(args, pool);
    });
    args.kv = layers[0].view;
    paged_attention(args, pool);
    const double bytes = static_cast<double>(kv_bytes_read),
                 pairs = q_len * (n_keys - (q_len - 1) / 2.0);
    const double ops = 4 * pairs * h.n_q * h.d;
    std::printf(
        "%-7s %-4s T=%-4d keys=%-5d %9.1f us (best %9.1f)  %6.2f GB/s %5.1f %%  %6.1f GFLOP/s "
        "%5.1f %%  %016llx\n",
        what, h.name, q_len, n_keys, t.median * 1e6, t.best * 1e6, bytes / t.median * 1e-9,
        100 * bytes / t.median / bandwidth, ops / t.median * 1e-9, 100 * ops / t.median / flops,
        hash_of(out.data(), out.size() * 4));
  }

  void run_sample() {
    for (const int vocab : {49152, 128256}) {
      const auto logits = random_floats(static_cast<size_t>(vocab), 2.5f, 1);
      const std::pair<const char*, SampleParams> kinds[] = {
          {"greedy", {}},
          {"t=1", {.temperature = 1}},
          {"t=2", {.temperature = 2}},
          {"t=.7 k=50", {.temperature = 0.7f, .top_k = 50}},
          {"t=.7 p=.9", {.temperature = 0.7f, .top_p = 0.9f}},
          {"t=1 p=.99", {.temperature = 1, .top_p = 0.99f}},
          {"t=1 mp=.05", {.temperature = 1, .min_p = 0.05f}},
          {"flat", {.temperature = 1000}}};
      for (const auto& [name, params] : kinds) {
        SampleScratch scratch;
        uint32_t i = 0;
        std::vector<int32_t> ids;
        const Time t = time_of(
            seconds, [&] { ids.push_back(sample_row(logits, params, {1, 0, i++}, scratch).id); });
        std::printf("sample  %-6d %-10s %8.1f us (best %8.1f)  %016llx\n", vocab, name,
                    t.median * 1e6, t.best * 1e6, hash_of(ids.data(), 5 * sizeof(int32_t)));
      }
    }
  }
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

void main_(int argc, char** argv) {
  std::map<std::string, std::string> option = {{"parts", "pool,rope,decode,prefill,sample"},
                                               {"shapes", "1b,3b,smol"},
                                               {"keys", "128,512,2048,8192"},
                                               {"threads", std::to_string(default_threads())},
                                               {"seconds", "0.2"}};
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    option[arg.substr(0, arg.find('='))] = arg.substr(arg.find('=') + 1);
  }
  Bench bench(std::stoi(option["threads"]), std::stod(option["seconds"]));
  for (const auto& part : split(option["parts"])) {
    if (part == "pool") bench.run_pool();
    if (part == "sample") bench.run_sample();
    for (const Heads& h : kHeads) {
      if (("," + option["shapes"] + ",").find(std::string(",") + h.name + ",") == std::string::npos)
        continue;
      if (part == "rope") bench.run_rope(h);
      for (const auto& keys : split(option["keys"])) {
        if (part == "decode") bench.run_attention("decode", h, 1, std::stoi(keys));
        if (part == "prefill")
          bench.run_attention("prefill", h, std::min(512, std::stoi(keys)), std::stoi(keys));
      }
    }
  }
}

}  // namespace
}  // namespace mlxforge::cpu

int main(int argc, char** argv) { mlxforge::cpu::main_(argc, argv); }
