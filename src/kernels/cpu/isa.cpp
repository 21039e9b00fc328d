#include "kernels/cpu/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace mlxforge::cpu {
namespace {

constexpr std::string_view kNames[] = {"generic", "neon", "avx2", "avx512"};

// The compiler's cpuid helper also asks xgetbv whether the operating system saves the wide
// registers.
bool runs(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  if (isa == Isa::avx2) return avx2;
  if (isa == Isa::avx512)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__) && defined(__linux__)
  if (isa == Isa::neon) return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  if (isa == Isa::neon) return true;
#endif
  return isa == Isa::generic;
}

Isa choose() {
  const auto all = runnable_isas();
  const char* forced = std::getenv("MLXFORGE_ISA");
  if (forced == nullptr || *forced == '\0') return all.back();
  std::string offered;
  for (Isa isa : all) {
    if (isa_name(isa) == forced) return isa;
    offered += str(offered.empty() ? "" : ", ", isa_name(isa));
  }
  fail("cpu", "expected MLXFORGE_ISA to be one of ", offered, " on this machine, got ", forced);
}

}  // namespace

std::span<const Isa> runnable_isas() {
  static const std::vector<Isa> all = [] {
    std::vector<Isa> out;
    for (Isa isa : {Isa::generic, Isa::neon, Isa::avx2, Isa::avx512})
      if (runs(isa)) out.push_back(isa);
    return out;
  }();
  return all;
}

std::string_view isa_name(Isa isa) { return kNames[static_cast<int>(isa)]; }

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

}  // namespace mlxforge::cpu
