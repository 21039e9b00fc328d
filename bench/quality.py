#!/usr/bin/env python3
"""What each engine's arithmetic loses against float32 on the same weights: perplexity, mean KL divergence, equal top-1.

    python bench/quality.py MODEL.gguf TEXT [--tokens 20480]

mlxforge compares its own modes with --activations float. llama.cpp compares the file with a float32 copy of it, made by the
`gguf` package; it predicts the second half of each window, mlxforge every token of it.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import gguf
from peers import LlamaCpp, Mlxforge

WINDOW = 2048


def mlxforge_row(model, text, tokens, activations):
    command = [Mlxforge().binary, "perplexity", model, text, "--json", "--tokens", tokens, "--ctx", WINDOW]
    command += ["--activations", activations, "--against", "float"]
    row = json.loads(subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout)
    return row["perplexity"], row["mean_kl"], 100 * row["top1"]


def write_float32(model, out):
    reader = gguf.GGUFReader(model)
    writer = gguf.GGUFWriter(out, reader.get_field("general.architecture").contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=sub_type)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def llama_row(model, text, tokens):
    def run(file, *words):
        command = [LlamaCpp().folder / "llama-perplexity", "-m", file, "-c", WINDOW, "-b", WINDOW, "-t", len(os.sched_getaffinity(0)), *words]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    with tempfile.TemporaryDirectory() as folder:
        exact, logits = Path(folder) / "f32.gguf", Path(folder) / "logits"
        write_float32(model, exact)
        run(exact, "-f", text, "--chunks", 2 * tokens // WINDOW, "-ctk", "f32", "-ctv", "f32", "--kl-divergence-base", logits)
        out = run(model, "--kl-divergence-base", logits, "--kl-divergence")
    return tuple(float(re.search(name + r"\s*:\s*([-+.\de]+)", out)[1]) for name in (r"Mean PPL\(Q\)", r"Mean\s+KLD", "Same top p"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--tokens", type=int, default=20480)
    o = parser.parse_args()
    rows = {"mlxforge " + mode: lambda mode=mode: mlxforge_row(o.model, o.text, o.tokens, mode) for mode in ("auto", "int8")}
    rows["llama.cpp"] = lambda: llama_row(o.model, o.text, o.tokens)
    print("| arithmetic | perplexity | mean KL | same top-1 |\n|---|---|---|---|")
    for name, measure in rows.items():
        perplexity, kl, top1 = measure()
        print(f"| {name} | {perplexity:.4f} | {kl:.2g} | {top1:.3f} % |", flush=True)


if __name__ == "__main__":
    main()
