// Which instruction set the CPU kernels use. Every *_kernels.cpp is compiled once per ISA into
// namespace cpu::<isa>, where it defines a constant table of functions; MLXFORGE_CPU_TABLE declares
// those tables and the function that picks one. Any thread may call anything here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mlxforge::cpu {

// generic: any CPU. neon: Armv8.2 with dotprod. avx2: with FMA and F16C. avx512: F, BW, VL, DQ and
// VNNI.
enum class Isa : uint8_t { generic, neon, avx2, avx512 };

// The best one this CPU and its operating system run, or the one that MLXFORGE_ISA names; an
// unknown or unavailable name throws Error. Resolved at the first call.
Isa isa();
std::span<const Isa> runnable_isas();  // worst first
std::string_view isa_name(Isa isa);

}  // namespace mlxforge::cpu

// MLXFORGE_CPU_TABLE(FooKernels, foo_kernels), inside namespace mlxforge::cpu, after struct
// FooKernels: declares <isa>::foo_kernels for each ISA of this build and defines `const FooKernels&
// foo_kernels(Isa)`. foo_kernels.cpp says
//   namespace mlxforge::cpu::MLXFORGE_CPU_ISA { extern const FooKernels foo_kernels = {...}; }
#if defined(__x86_64__)
#define MLXFORGE_CPU_TABLE(Type, name)                                                        \
  namespace generic {                                                                         \
  extern const Type name;                                                                     \
  }                                                                                           \
  namespace avx2 {                                                                            \
  extern const Type name;                                                                     \
  }                                                                                           \
  namespace avx512 {                                                                          \
  extern const Type name;                                                                     \
  }                                                                                           \
  inline const Type& name(Isa isa) {                                                          \
    return isa == Isa::avx512 ? avx512::name : isa == Isa::avx2 ? avx2::name : generic::name; \
  }
#elif defined(__aarch64__)
#define MLXFORGE_CPU_TABLE(Type, name) \
  namespace generic {                  \
  extern const Type name;              \
  }                                    \
  namespace neon {                     \
  extern const Type name;              \
  }                                    \
  inline const Type& name(Isa isa) { return isa == Isa::neon ? neon::name : generic::name; }
#else
#define MLXFORGE_CPU_TABLE(Type, name) \
  namespace generic {                  \
  extern const Type name;              \
  }                                    \
  inline const Type& name(Isa) { return generic::name; }
#endif
