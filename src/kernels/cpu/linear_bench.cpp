// The lab of the linear family: every layout, shape and number of rows, with GB/s, operations a
// second, the shares of what this machine can do, and a hash of the result, so that a fast wrong
// kernel shows.
//   cpu_bench [layouts=q4_0,q8_0,bf16] [shapes=1b|smol|NAME] [rows=1,8,512] [arith=accurate]
//   [threads=N] [seconds=0.3]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "base/resources.h"
#include "kernels/cpu/linear.h"
#include "kernels/cpu/linear_testing.h"
#include "kernels/cpu/peak.h"

namespace mlxforge::cpu {
namespace {

// Wall time, or (clock=cpu, one thread) the process's CPU time, which a busy neighbour disturbs
// less.
bool cpu_clock = false;
double now() {
  timespec t;
  clock_gettime(cpu_clock ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Shape {
  const char* set;
  const char* name;
  int n_in;
  std::vector<int> n_out;  // parts
  bool gated = false;
  bool norm = false;
  bool residual = false;
};
const Shape kShapes[] = {
    {"1b", "qkv", 2048, {2048, 512, 512}, false, true, false},
    {"1b", "o", 2048, {2048}, false, false, true},
    {"1b", "gate_up", 2048, {8192, 8192}, true, true, false},
    {"1b", "down", 8192, {2048}, false, false, true},
    {"1b", "head", 2048, {128256}, false, true, false},
    {"lab", "tile", 2048, {256}, false, false, false},
    {"lab", "prepare", 2048, {16}, false, false, false},
    {"smol", "s_qkv", 576, {576, 192, 192}, false, true, false},
    {"smol", "s_o", 576, {576}, false, false, true},
    {"smol", "s_gate_up", 576, {1536, 1536}, true, true, false},
    {"smol", "s_down", 1536, {576}, false, false, true},
    {"smol", "s_head", 576, {49152}, false, true, false},
};

const std::map<std::string, Layout>& layouts() {
  static const std::map<std::string, Layout> all = [] {
    std::map<std::string, Layout> m = {{"f32", kF32},   {"f16", kF16},   {"bf16", kBF16},
                                       {"q4_0", kQ4_0}, {"q4_1", kQ4_1}, {"q8_0", kQ8_0}};
    for (int bits : {2, 3, 4, 5, 6, 8})
      m["mlx" + std::to_string(bits)] = {static_cast<Codes>(bits == 8 ? 8 : bits + 1), 64,
                                         ScaleType::f16, Zero::bias};
    return m;
  }();
  return all;
}

// A matrix of that layout with random codes, quickly made.
PackedMatrix random_matrix(const Layout& w, int n_out, int n_in, ThreadPool& pool) {
  const uint16_t scale = w.scale == ScaleType::f16 ? 0x2000 : 0x3c00;  // 2^-7
  return pack(
      w, n_out, n_in,
      [&](int row, const RowBuffers& out) {
        std::minstd_rand rng(static_cast<uint32_t>(row) + 1);
        const auto type = w.is_float() ? static_cast<ScaleType>(w.codes) : w.scale;
        for (int k = 0; w.is_float() && k < n_in; ++k) {
          const uint32_t mantissa = rng() >> 4 & 0x7fffff;
          const uint32_t bits = type == ScaleType::f32   ? 0x3c000000 | mantissa
                                : type == ScaleType::f16 ? 0x2000 | (mantissa & 0x3ff)
                                                         : 0x3c00 | (mantissa & 0x7f);
          std::memcpy(static_cast<char*>(out.values) + k * w.bits() / 8, &bits,
                      static_cast<size_t>(w.bits()) / 8);
        }
        for (int k = 0; !w.is_float() && k < n_in; ++k)
          out.codes[k] = static_cast<uint8_t>(rng() >> 8 & ((1u << w.bits()) - 1));
        for (int g = 0; !w.is_float() && g < n_in / w.group; ++g) {
          static_cast<uint16_t*>(out.scales)[g] = scale;
          if (w.zero == Zero::bias)
            static_cast<uint16_t*>(out.biases)[g] = static_cast<uint16_t>(scale | 0x8000);
        }
      },
      pool);
}

struct Bench {
  ThreadPool pool;
  double bandwidth = 0;
  PeakOps peak = {};
  Arith arith = Arith::accurate;
  double seconds = 0.3;
  size_t megabytes = 200;
  Workspace workspace;

  explicit Bench(int threads) : pool(threads) {}

  void run(const std::string& name, const Layout& layout, const Shape& s,
           const std::vector<int>& rows) {
    std::vector<std::vector<PackedMatrix>>
        copies;  // enough of them that no cache holds the weights
    size_t bytes = 0;
    for (size_t total = 0;
         copies.size() < 2 || (total < (size_t{200} << 20) && copies.size() < 256);
         total += bytes) {
      bytes = 0;
      auto& parts = copies.emplace_back();
      for (int n : s.n_out)
        bytes += parts.emplace_back(random_matrix(layout, n, s.n_in, pool)).bytes();
    }
    for (int m : rows) measure(name, s, copies, bytes, m);
  }

  void measure(const std::string& name, const Shape& s,
               const std::vector<std::vector<PackedMatrix>>& copies, size_t bytes, int m) {
    int n_out = 0;
    for (int n : s.n_out) n_out += n;
    const int n_y = s.gated ? n_out / 2 : n_out;
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<size_t>(m) * static_cast<size_t>(s.n_in)),
        weight(static_cast<size_t>(s.n_in), 1.0f);
    std::vector<float> y(static_cast<size_t>(m) * static_cast<size_t>(n_y)),
        residual(y.size(), 1.0f);
    for (float& v : x) v = normal(rng);
    size_t next = 0;
    const auto once = [&] {
      const auto& copy = copies[next++ % copies.size()];
      const PackedMatrix* parts[4] = {};
      for (size_t i = 0; i < copy.size(); ++i) parts[i] = &copy[i];
      linear({.x = x.data(),
              .n_rows = m,
              .norm = {s.norm ? Norm::rms : Norm::none, weight.data(), nullptr, 1e-5f},
              .parts = {parts, copy.size()},
              .act = s.gated ? Act::silu : Act::none,
              .gated = s.gated,
              .residual = s.residual ? residual.data() : nullptr,
              .y = y.data(),
              .arith = arith},
             workspace, pool);
    };
    once();
    std::vector<double> times;
    const double start = now();
    do {
      const double t = now();
      once();
      times.push_back(now() - t);
    } while (now() - start < seconds || times.size() < 3);
    std::sort(times.begin(), times.end());
    uint64_t hash = 14695981039346656037ull;
    for (float v : y) {
      uint32_t bits;
      std::memcpy(&bits, &v, 4);
      hash = (hash ^ bits) * 1099511628211ull;
    }
    const double t = times[times.size() / 2], ops = 2.0 * m * s.n_in * n_out;
    const Layout& w = copies[0][0].layout();
    const double peak_ops = w.is_float() || arith == Arith::exact ? peak.f32
                            : arith == Arith::int8                ? peak.int8
                                                                  : peak.int16;
    std::printf(
        "%-6s %-10s M=%-4d %9.1f us (best %9.1f)  %6.2f GB/s %5.1f %%  %7.1f GOP/s %5.1f %%  "
        "%016llx\n",
        name.c_str(), s.name, m, t * 1e6, times[0] * 1e6, static_cast<double>(bytes) / t * 1e-9,
        100 * static_cast<double>(bytes) / t / bandwidth, ops / t * 1e-9, 100 * ops / t / peak_ops,
        static_cast<unsigned long long>(hash));
    std::fflush(stdout);
  }
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

int main_(int argc, char** argv) {
  std::map<std::string, std::string> option = {{"layouts", "q4_0,q4_1,q8_0,bf16"},
                                               {"shapes", "1b"},
                                               {"rows", "1,2,4,8,512"},
                                               {"arith", "accurate"},
                                               {"threads", std::to_string(default_threads())},
                                               {"seconds", "0.3"},
                                               {"megabytes", "200"},
                                               {"clock", "wall"}};
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    option[arg.substr(0, arg.find('='))] = arg.substr(arg.find('=') + 1);
  }
  Bench bench(std::stoi(option["threads"]));
  cpu_clock = option["clock"] == "cpu";
  bench.megabytes = std::stoul(option["megabytes"]);
  bench.seconds = std::stod(option["seconds"]);
  bench.arith = option["arith"] == "int8"    ? Arith::int8
                : option["arith"] == "exact" ? Arith::exact
                                             : Arith::accurate;
  bench.bandwidth = read_bandwidth(bench.pool);
  bench.peak = peak_ops(bench.pool);
  std::printf("isa %s, %d threads, read %.1f GB/s, peak f32 %.0f int16 %.0f int8 %.0f GOP/s\n",
              std::string(isa_name(isa())).c_str(), bench.pool.size(), bench.bandwidth * 1e-9,
              bench.peak.f32 * 1e-9, bench.peak.int16 * 1e-9, bench.peak.int8 * 1e-9);
  std::vector<int> rows;
  for (const auto& r : split(option["rows"])) rows.push_back(std::stoi(r));
  for (const auto& name : split(option["layouts"]))
    for (const Shape& s : kShapes)
      for (const auto& wanted : split(option["shapes"]))
        if (wanted == s.set || wanted == s.name) bench.run(name, layouts().at(name), s, rows);
  return 0;
}

}  // namespace
}  // namespace mlxforge::cpu

int main(int argc, char** argv) { return mlxforge::cpu::main_(argc, argv); }
