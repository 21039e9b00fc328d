"""Writes src/files/testdata: small model files by the formats' own Python packages, each with a manifest of what it holds.

    python reference/make_file_fixtures.py            # (re)write the files
    python reference/make_file_fixtures.py --check    # exit 1 unless the packages still write the committed bytes

NAME.json beside NAME lists the tensors (name, dtype as the file spells it, numpy shape, bytes in hex) and, for GGUF, the metadata
as [type, value]. The C++ readers are tested against these manifests.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import gguf
import mlx.core as mx
import numpy as np
import safetensors.numpy
from gguf import GGMLQuantizationType as Q
from gguf import GGUFValueType as V

TESTDATA = Path(__file__).resolve().parent.parent / "src/files/testdata"

METADATA = {
    "test.u8": (V.UINT8, 255),
    "test.i8": (V.INT8, -128),
    "test.u16": (V.UINT16, 65535),
    "test.i16": (V.INT16, -32768),
    "test.u32": (V.UINT32, 2**32 - 1),
    "test.i32": (V.INT32, -(2**31)),
    "test.u64": (V.UINT64, 2**64 - 1),
    "test.i64": (V.INT64, -(2**63)),
    "test.f32": (V.FLOAT32, 0.15625),
    "test.f64": (V.FLOAT64, 0.1),
    "test.bool": (V.BOOL, True),
    "test.string": (V.STRING, "naïve 😀"),
    "test.strings": (V.ARRAY, ["a", "", "ç", "Ġthe"]),
    "test.floats": (V.ARRAY, [0.5, -1.25, 1e10]),
    "test.ints": (V.ARRAY, [3, -4, 5]),
    "test.bools": (V.ARRAY, [True, False, True]),
}


def bf16_bits(x):
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def manifest(tensors, metadata=None):
    rows = [{"name": n, "dtype": d, "shape": list(s), "hex": b.hex()} for n, d, s, b in tensors]
    out = {"tensors": rows}
    if metadata is not None:
        out["metadata"] = metadata
    return out


def gguf_tensors():
    rng = np.random.default_rng(7)
    plain = rng.standard_normal((3, 2, 5)).astype(np.float32)
    yield "plain.f32", Q.F32, plain.shape, plain
    half = rng.standard_normal((2, 7)).astype(np.float16)
    yield "plain.f16", Q.F16, half.shape, half
    brain = rng.standard_normal((4, 3)).astype(np.float32)
    yield "plain.bf16", Q.BF16, brain.shape, bf16_bits(brain).view(np.uint8)
    for qtype in (Q.Q4_0, Q.Q4_1, Q.Q8_0):
        x = rng.standard_normal((3, 64)).astype(np.float32)
        yield f"blocks.{qtype.name.lower()}", qtype, x.shape, gguf.quants.quantize(x, qtype)
    yield "vector", Q.F32, (1,), np.array([2.5], np.float32)


def write_gguf(path, alignment):
    writer = gguf.GGUFWriter(path, "test")
    if alignment != 32:
        writer.add_custom_alignment(alignment)
    for key, (kind, value) in METADATA.items():
        writer.add_key_value(key, value, kind)
    tensors = list(gguf_tensors())
    for name, qtype, _, data in tensors:
        writer.add_tensor(name, data, raw_dtype=qtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    metadata = {key: [kind.name, value] for key, (kind, value) in METADATA.items()}
    return manifest([(n, q.name, s, d.tobytes()) for n, q, s, d in tensors], metadata)


def write_mlx_gguf(path):
    """MLX does not pad the last tensor, and writes metadata in its own choice of types."""
    arrays = {"a": np.arange(5, dtype=np.float32), "b": np.ones((2, 3), np.float16)}
    mx.save_gguf(str(path), {k: mx.array(v) for k, v in arrays.items()}, {"test.string": "mlx"})
    order = [t.name for t in gguf.GGUFReader(path).tensors]
    names = {"float32": "F32", "float16": "F16"}
    rows = [(k, names[str(arrays[k].dtype)], arrays[k].shape, arrays[k].tobytes()) for k in order]
    return manifest(rows, {"test.string": ["STRING", "mlx"]})


def write_safetensors(path):
    rng = np.random.default_rng(8)
    kinds = {np.uint8: "U8", np.int8: "I8", np.uint16: "U16", np.int16: "I16", np.uint32: "U32", np.int32: "I32"}
    kinds |= {np.uint64: "U64", np.int64: "I64", np.float16: "F16", np.float32: "F32", np.float64: "F64", np.bool_: "BOOL"}
    arrays = {f"t.{d}": (rng.standard_normal((2, 3)) * 9).astype(t) for t, d in kinds.items()}
    arrays |= {"scalar": np.array(3, np.int32), "empty": np.zeros((0, 4), np.float32), "naïve": np.ones((5,), np.uint8)}
    safetensors.numpy.save_file(arrays, path, metadata={"format": "pt"})
    return manifest([(k, kinds[v.dtype.type], v.shape, v.tobytes()) for k, v in arrays.items()])


def write_mlx_safetensors(path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
    mx.save_safetensors(str(path), {"x.bf16": mx.array(x).astype(mx.bfloat16)}, {"format": "mlx"})
    return manifest([("x.bf16", "BF16", x.shape, bf16_bits(x).tobytes())])


FIXTURES = {
    "plain.gguf": lambda path: write_gguf(path, 32),
    "align64.gguf": lambda path: write_gguf(path, 64),
    "mlx.gguf": write_mlx_gguf,
    "plain.safetensors": write_safetensors,
    "mlx.safetensors": write_mlx_safetensors,
}


def write_all(folder):
    folder.mkdir(exist_ok=True)
    for name, write in FIXTURES.items():
        expected = write(folder / name)
        (folder / f"{name}.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        write_all(TESTDATA)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_all(Path(folder))
        changed = [f.name for f in Path(folder).iterdir() if f.read_bytes() != (TESTDATA / f.name).read_bytes()]
    if changed:
        sys.exit(f"no longer written as committed: {', '.join(sorted(changed))}")


if __name__ == "__main__":
    main()
