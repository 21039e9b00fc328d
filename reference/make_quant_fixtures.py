"""Writes src/quant/testdata: random weights in every format with the values that their own packages give them.

gguf.gguf holds NAME for each GGUF format and NAME.values (f32) by the gguf package; affine.safetensors holds for each combination of
bits, group and dtype NAME.weight, .scales, .biases by mx.quantize and NAME.values, mx.dequantize of them with scales and biases
widened to f32 (in 16 bits it rounds its results).
"""

from pathlib import Path

import gguf
import mlx.core as mx
import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "src/quant/testdata"
DTYPES = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}


def write_gguf(rng):
    writer = gguf.GGUFWriter(FOLDER / "gguf.gguf", "llama")
    for name in ("Q4_0", "Q4_1", "Q8_0"):
        kind = gguf.GGMLQuantizationType[name]
        blocks = gguf.quants.quantize(rng.standard_normal((3, 64)).astype(np.float32), kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        writer.add_tensor(f"{name}.values", gguf.quants.dequantize(blocks, kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_affine(rng):
    tensors = {}
    for i, (bits, group) in enumerate((b, g) for b in (2, 3, 4, 5, 6, 8) for g in (32, 64, 128)):
        dtype = list(DTYPES)[(i + i // 3) % 3]
        name = f"q{bits}_g{group}_{dtype}"
        w = mx.array(rng.standard_normal((2, 128)).astype(np.float32)).astype(DTYPES[dtype])
        parts = mx.quantize(w, group, bits)
        tensors |= {f"{name}.{part}": t for part, t in zip(("weight", "scales", "biases"), parts, strict=True)}
        codes, scales, biases = parts
        wide = (scales.astype(mx.float32), biases.astype(mx.float32))
        tensors[f"{name}.values"] = mx.dequantize(codes, *wide, group, bits)
    mx.save_safetensors(str(FOLDER / "affine.safetensors"), tensors)


if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    FOLDER.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    write_gguf(rng)
    write_affine(rng)
