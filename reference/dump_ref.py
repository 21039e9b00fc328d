#!/usr/bin/env python3
"""Writes the reference fixtures: python reference/dump_ref.py [--model llama|mistral|smollm2] [--out reference]

fixtures/ (llama), fixtures_mistral/, fixtures_smollm2/ hold prompt_<i>_ids.npy and one folder per variant of tiny.py:
the checkpoint, logits_<i>.npy (T, vocab) f32 (of prompt 1 the rows 0, 9, 18, ...), hidden_0.npy (layers + 1, T, hidden) f32, and for f32 greedy_<i>.npy (64).
index.json lists them with the bound that logits are held to. fixtures_smollm2/ also has the real model (smollm2.py).
"""

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import oracle  # before numpy
import smollm2
import tiny

import numpy as np

REFERENCE = Path(__file__).resolve().parent
STEPS = 64
ROWS = (1, 9)  # every n-th row of logits is kept, per prompt
MIN_GAP = 2e-4  # of max |logit|: below it, a right engine could choose the other token


def folder_name(family):
    return "fixtures" if family == "llama" else f"fixtures_{family}"


def prompts():
    """Two prompts of ids below 256: a short one, and one across a 32-token KV block, kept as (1, T) int64."""
    rng = np.random.default_rng(7)
    return [rng.integers(4, 256, 7).astype(np.int32), rng.integers(4, 256, (1, 37)).astype(np.int64)]


def dump_variant(variant, folder):
    """Makes the checkpoint and its references; returns its line of index.json."""
    path = tiny.save(variant, folder)
    model = oracle.load(path)
    dtype = oracle.dtype_name(model)
    size = len(tiny.tiny_tokenizer.TOKENS) if variant.tokenizer else None
    np.save(folder / "hidden_0.npy", oracle.hidden_states(model, prompts()[0]))
    for i, ids in enumerate(prompts()):
        np.save(folder / f"logits_{i}.npy", oracle.logits(model, ids)[:: ROWS[i]])
        if dtype != "float32":
            continue
        tokens, gap = oracle.greedy(model, ids, STEPS, size)
        if gap < MIN_GAP:
            raise SystemExit(f"{folder}: top-2 gap {gap:.1e} at prompt {i}: choose another seed in tiny.py")
        np.save(folder / f"greedy_{i}.npy", tokens)
    return {"model": str(path.relative_to(folder.parent)), "dtype": dtype, "tolerance": oracle.TOLERANCE[dtype]}


def dump_family(family, out):
    folder = Path(out) / folder_name(family)
    folder.mkdir(parents=True, exist_ok=True)
    for i, ids in enumerate(prompts()):
        np.save(folder / f"prompt_{i}_ids.npy", ids)
    variants = {v.name: dump_variant(v, folder / v.name) for v in tiny.FAMILIES[family]}
    made_by = {"mlx": version("mlx"), "mlx-lm": version("mlx-lm"), "gguf": version("gguf")}
    (folder / "index.json").write_text(json.dumps({"made_by": made_by, "variants": variants}, indent=1) + "\n")
    if family == "smollm2":
        smollm2.dump(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=tiny.FAMILIES, action="append", help="default: every family")
    parser.add_argument("--out", default=REFERENCE, help="where the fixture folders go")
    args = parser.parse_args()
    for family in args.model or tiny.FAMILIES:
        dump_family(family, args.out)


if __name__ == "__main__":
    main()
