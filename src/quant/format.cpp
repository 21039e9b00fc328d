#include "quant/format.h"

#include "base/check.h"
#include "quant/formats/affine.h"
#include "quant/formats/plain.h"
#include "quant/formats/q4_0.h"
#include "quant/formats/q4_1.h"
#include "quant/formats/q8_0.h"

namespace mlxforge {

std::span<const Format> formats() {
  static const Format formats[] = {kPlain, kAffine, kQ4_0, kQ4_1, kQ8_0};
  return formats;
}

const Format& find_format(const WeightSource& source) {
  std::string known;
  for (const Format& format : formats()) {
    if (format.recognise(source)) return format;
    known += str(known.empty() ? "" : ", ", format.name);
  }
  fail("quant", "expected ", source.weight->name, " in one of the formats ", known, "; got ",
       dtype_name(source.weight->dtype), source.scales ? " with scales" : " without scales");
}

void expect_shape(const TensorView& tensor, std::vector<int64_t> shape) {
  if (tensor.shape != shape) {
    fail("quant", "expected ", tensor.name, " of shape ", shape_text(shape), ", got ",
         shape_text(tensor.shape));
  }
}

}  // namespace mlxforge
