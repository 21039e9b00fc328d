// Weights in every format, loaded for both paths, against the values that the formats' own packages
// give (testdata is written by reference/make_quant_fixtures.py).
#include "quant/load.h"

#include <gtest/gtest.h>

#include "files/gguf.h"
#include "files/model_folder.h"
#include "files/safetensors.h"
#include "files/test_support.h"
#include "kernels/testing.h"
#include "quant/format.h"
#include "quant/formats/plain.h"

namespace mlxforge {
namespace {

using namespace testing;

Exec exec_of(KernelPath path, mx::Dtype act = mx::float32) {
  return make_exec({path, Arith::exact, act});
}

// The weights as the kernels of each path see them.
std::vector<float> dequantised(const PackedWeight& w) {
  if (const auto* panels = std::get_if<PanelWeight>(&w.form)) {
    std::vector<float> values(size_t(w.n_out) * w.n_in);
    for (int row = 0; row < w.n_out; ++row) {
      cpu::unpack_row(**panels, row, values.data() + row * w.n_in);
    }
    return values;
  }
  if (const auto* dense = std::get_if<DenseWeight>(&w.form)) return floats_of(dense->w);
  const auto& a = std::get<AffineWeight>(w.form);
  return floats_of(mx::dequantize(a.codes, mx::astype(a.scales, mx::float32),
                                  mx::astype(a.biases, mx::float32), a.group, a.bits));
}

void expect_both_paths(const WeightSource& source, int n_out, int n_in,
                       const std::vector<float>& values) {
  for (const auto path : {KernelPath::cpu, KernelPath::reference}) {
    const PackedWeight w = load_weight(source, n_out, n_in, exec_of(path));
    EXPECT_EQ(w.n_out, n_out);
    EXPECT_EQ(w.n_in, n_in);
    EXPECT_EQ(dequantised(w), values) << source.name << (path == KernelPath::cpu ? " cpu" : " mx");
  }
}

std::vector<float> values_of(const TensorView& view) { return to_floats(view.dtype, view.bytes); }

ModelFiles fixture(const char* name) {
  ModelFiles files;
  auto file = MappedFile("src/quant/testdata/" + std::string(name));
  const bool is_gguf = std::string(name).ends_with("gguf");
  auto tensors =
      is_gguf ? parse_gguf(file.bytes(), name).tensors : parse_safetensors(file.bytes(), name);
  files.weights.add(std::move(file), std::move(tensors));
  return files;
}

TEST(LoadWeight, GgufBlocksAsTheGgufPackageReadsThem) {
  const ModelFiles files = fixture("gguf.gguf");
  for (const std::string name : {"Q4_0", "Q4_1", "Q8_0"}) {
    const WeightSource source{.name = name, .weight = &files.weights.at(name)};
    EXPECT_EQ(find_format(source).name, name);
    expect_both_paths(source, 3, 64, values_of(files.weights.at(name + ".values")));
  }
}

TEST(LoadWeight, AffineCodesAsMlxReadsThem) {
  const ModelFiles files = fixture("affine.safetensors");
  int n = 0;
  for (const TensorView& view : files.weights.tensors()) {
    int bits, group;
    if (!view.name.ends_with(".weight")) continue;
    ASSERT_EQ(std::sscanf(view.name.c_str(), "q%d_g%d", &bits, &group), 2);
    const auto name = view.name.substr(0, view.name.size() - strlen(".weight"));
    const WeightSource source{.name = name,
                              .weight = &view,
                              .scales = &files.weights.at(name + ".scales"),
                              .biases = &files.weights.at(name + ".biases"),
                              .bits = bits,
                              .group = group};
    EXPECT_EQ(find_format(source).name, "MLX affine");
    expect_both_paths(source, 2, 128, values_of(files.weights.at(name + ".values")));
    ++n;
  }
  EXPECT_EQ(n, 18);
}

// Case 45.
TEST(LoadWeight, Q4_1BlockOfTheSpec) {
  const uint8_t block[] = {0x00, 0x38, 0x00, 0xbc, 0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5,
                           0x96, 0x87, 0x78, 0x69, 0x5a, 0x4b, 0x3c, 0x2d, 0x1e, 0x0f};
  const TensorView view{.name = "w",
                        .dtype = DType::q4_1,
                        .shape = {1, 32},
                        .bytes = std::as_bytes(std::span(block))};
  std::vector<float> values;
  for (int i = 0; i < 16; ++i) values.push_back(-1 + 0.5f * i);
  for (int i = 0; i < 16; ++i) values.push_back(6.5f - 0.5f * i);
  expect_both_paths({.name = "w", .weight = &view}, 1, 32, values);
}

TEST(LoadWeight, FloatsKeepTheirBits) {
  const float f32[] = {1.5f, -2.25f, 3e-38f, 7e4f};
  const uint16_t f16[] = {0x3c00, 0xc500, 0x0001, 0x7bff};  // 1, -5, 2^-24, 65504
  const uint16_t bf16[] = {0x3f80, 0xc0a0, 0x0080, 0x7f7f};
  const auto check = [&](DType dtype, std::span<const std::byte> bytes,
                         const std::vector<float>& values) {
    const TensorView view{.name = "w", .dtype = dtype, .shape = {2, 2}, .bytes = bytes};
    expect_both_paths({.name = "w", .weight = &view}, 2, 2, values);
  };
  check(DType::f32, std::as_bytes(std::span(f32)), {1.5f, -2.25f, 3e-38f, 7e4f});
  check(DType::f16, std::as_bytes(std::span(f16)), {1, -5, 0x1p-24f, 65504});
  check(DType::bf16, std::as_bytes(std::span(bf16)), {1, -5, 0x1p-126f, 0x1.fep127f});
}

// Tensors of zeros with the shapes asked for, and what load_weight says about them.
struct Parts {
  std::vector<std::byte> zeros{1 << 16};
  TensorView weight{"layer.weight", DType::u32, {4, 16}, zeros};
  TensorView scales{"layer.scales", DType::f16, {4, 2}, zeros};
  TensorView biases{"layer.biases", DType::f16, {4, 2}, zeros};
  WeightSource source{"layer", &weight, &scales, &biases, 4, 64};

  std::string error(int n_out = 4, int n_in = 128) {
    return error_of([&] { load_weight(source, n_out, n_in, exec_of(KernelPath::cpu)); });
  }
};

TEST(LoadWeight, TellsWhichTensorIsAtFault) {
  const auto says = [](const std::string& message, const std::string& what) {
    EXPECT_NE(message.find(what), std::string::npos) << message << " should say " << what;
  };
  Parts good;
  EXPECT_EQ(good.error(), "");
  says(good.error(5, 128), "layer.weight of shape (5, 16)");
  says(good.error(4, 256), "layer.weight of shape (4, 32)");
  says(good.error(4, 96), "layer to have whole groups of 64");
  Parts p;
  p.source.bits = 8;  // the config says otherwise than the file
  says(p.error(), "layer.weight of shape (4, 32)");
  Parts q;
  q.scales.shape = {4, 4};
  says(q.error(), "layer.scales of shape (4, 2)");
  Parts r;
  r.biases.dtype = DType::f32;
  says(r.error(), "scales and biases of layer in one dtype");
  Parts s;
  s.scales.dtype = s.biases.dtype = DType::i32;
  says(s.error(), "layer.scales to be F16, BF16 or F32, got I32");
}

TEST(LoadWeight, UnknownCombinationsNameTheTensor) {
  std::vector<std::byte> zeros(1 << 12);
  for (const DType dtype : {DType::u32, DType::i8, DType::u8, DType::f64, DType::i64}) {
    const TensorView view{"odd.weight", dtype, {4, 32}, zeros};
    const auto message = error_of(
        [&] { load_weight({.name = "odd", .weight = &view}, 4, 32, exec_of(KernelPath::cpu)); });
    EXPECT_NE(message.find("odd.weight"), std::string::npos) << message;
    EXPECT_NE(message.find(dtype_name(dtype)), std::string::npos) << message;
  }
  const TensorView half{"odd.weight", DType::f16, {4, 32}, zeros};
  const TensorView scales{"odd.scales", DType::f16, {4, 1}, zeros};
  const auto message = error_of([&] {
    load_weight({.name = "odd", .weight = &half, .scales = &scales}, 4, 32,
                exec_of(KernelPath::cpu));
  });
  EXPECT_NE(message.find("odd.weight"), std::string::npos) << message;
}

TEST(LoadWeight, GgufShapesAreChecked) {
  std::vector<std::byte> zeros(1 << 12);
  for (const DType dtype : {DType::q4_0, DType::q4_1, DType::q8_0, DType::f32, DType::bf16}) {
    const TensorView view{"w", dtype, {4, 32}, zeros};
    for (const auto path : {KernelPath::cpu, KernelPath::reference}) {
      const auto message =
          error_of([&] { load_weight({.name = "w", .weight = &view}, 4, 64, exec_of(path)); });
      EXPECT_NE(message.find("w of shape (4, 64), got (4, 32)"), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace mlxforge
