#!/usr/bin/env python3
"""Random configs made with mlx-lm, through the binary: python reference/stress.py --seeds 100 [--first 0] [--keep DIR]

A seed decides family, dimensions, GQA ratio, biases, rope, tying, dtype, quantisation or GGUF type, prompt length, and whether
weights come from mlx-lm's own initialiser or from tiny.py's. Per case: logits against the bound of the dtype and, for float32,
64 greedy tokens. Prints a line a case and exits 1 if any failed; a failure prints the command that makes it again.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import oracle  # before numpy
import mlx.core as mx
import numpy as np
import tiny

import binary

STEPS = 64
TIE = 2e-5  # of max |logit|: below this top-2 gap, differing greedy tokens prove nothing
GGUF_KINDS = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q8_0"]


def pick(rng, *options):
    return options[int(rng.integers(len(options)))]


def chance(rng, p):
    return bool(rng.random() < p)


def rope(rng):
    """Config keys of a random rope."""
    theta = pick(rng, 1e4, 1e5, 5e5, 1e6)
    llama3 = tiny.LLAMA3_SCALING | {"factor": pick(rng, 8.0, 32.0), "original_max_position_embeddings": pick(rng, 64, 512, 8192)}
    llama3 = pick(rng, {"rope_type": "llama3"}, {"type": "llama3"}) | llama3
    kind = pick(rng, "plain", "plain", "absent", "null", "llama3", "linear", "parameters", "parameters_llama3")
    if kind == "parameters":
        return {"rope_parameters": {"rope_type": "default", "rope_theta": theta}}
    if kind == "parameters_llama3":
        return {"rope_parameters": {"rope_theta": theta} | llama3}
    if kind == "absent":
        return {}
    scaling = {"llama3": llama3, "linear": {pick(rng, "type", "rope_type"): "linear", "factor": pick(rng, 2.0, 4.0)}}
    return {"rope_theta": theta} | ({} if kind == "plain" else {"rope_scaling": scaling.get(kind)})


def dimensions(rng, unit):
    """Dimensions, of which hidden and intermediate size and heads x head_dim are multiples of `unit`."""
    head_dim = pick(rng, 8, 16, 32, 64, 80, 128)
    kv = pick(rng, 1, 2, 3, 4)
    heads = kv * pick(rng, *(r for r in (1, 2, 3, 4, 8) if r == 1 or kv * r * head_dim <= 640))
    while heads * head_dim % unit:
        heads += kv
    square = heads * head_dim <= 640 and chance(rng, 0.4)
    hidden = heads * head_dim if square else unit * int(rng.integers(1, max(2, 640 // unit)))
    result = {
        "hidden_size": hidden,
        "intermediate_size": unit * int(rng.integers(1, max(2, 800 // unit))),
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "head_dim": head_dim,
    }
    if hidden == heads * head_dim and chance(rng, 0.7):
        result["head_dim"] = None
    return result


def random_variant(seed):
    rng = np.random.default_rng(seed)
    kind = pick(rng, "plain", "plain", "mlx", "mlx", "gguf")
    dtype = pick(rng, "float32", "float32", "float16", "bfloat16") if kind != "gguf" else "float32"
    bits, group = (pick(rng, 2, 3, 4, 5, 6, 8), pick(rng, 32, 64, 128)) if kind == "mlx" else (0, 0)
    base = dict(pick(rng, tiny.ROPELESS, tiny.ROPELESS, {k: v for k, v in tiny.MISTRAL.items() if k != "rope_theta"}))
    unit = group or (32 if kind == "gguf" else pick(rng, 4, 12, 32, 100))
    config = base | dimensions(rng, unit) | rope(rng)
    config |= {
        "num_hidden_layers": int(rng.integers(1, 5)),
        "vocab_size": int(rng.integers(260, 1200)),
        "tie_word_embeddings": chance(rng, 0.5),
        "attention_bias": chance(rng, 0.25),
        "mlp_bias": chance(rng, 0.25),
        "rms_norm_eps": pick(rng, 1e-5, 1e-6),
    }
    if kind == "gguf":
        scaling = oracle.rope_override(config).get("rope_scaling") or config.get("rope_scaling") or {}
        theta = oracle.rope_override(config).get("rope_theta") or config.get("rope_theta", 10000.0)
        llama3 = "factor" in scaling and "low_freq_factor" in scaling
        config = {k: v for k, v in config.items() if k not in ("rope_parameters", "rope_scaling")}
        config |= {"model_type": "llama", "rope_theta": theta, "rope_scaling": scaling if llama3 else None}
    overrides = tiny.MIXED if kind == "mlx" and group == 64 and chance(rng, 0.5) else {}
    gguf = pick(rng, *GGUF_KINDS) if kind == "gguf" else ""
    variant = tiny.Variant(f"seed_{seed}", seed, config, dtype, bits, group, overrides, pick(rng, 1, 1, 3), "", gguf, chance(rng, 0.8))
    return variant, rng


def own_weights(model, seed, dtype):
    """mlx-lm's own initialisation, as float32 arrays."""
    return {k: np.array(v.astype(mx.float32)) for k, v in tiny.tree_flatten(model.parameters())}


def make(variant, rng, folder):
    draw = tiny.draw_weights
    if chance(rng, 0.5):
        mx.random.seed(variant.seed)
        tiny.draw_weights = own_weights
    try:
        return tiny.save(variant, folder)
    finally:
        tiny.draw_weights = draw


def describe(variant):
    c = variant.config
    rope_keys = {k: v for k, v in c.items() if k.startswith("rope") and v}
    kind = variant.gguf or (f"q{variant.bits}g{variant.group}" if variant.bits else "plain")
    dims = f"h{c['hidden_size']} f{c['intermediate_size']} {c['num_attention_heads']}/{c['num_key_value_heads']}x{c['head_dim']}"
    flags = [k for k in ("tie_word_embeddings", "attention_bias", "mlp_bias") if c[k]]
    return f"{c['model_type']} {variant.dtype} {kind} {dims} L{c['num_hidden_layers']} v{c['vocab_size']} {flags} {json.dumps(rope_keys)}"


def greedy_fault(model, path, ids, valid):
    want, gap = oracle.greedy(model, ids, STEPS, valid)
    got = binary.generate(path, ids, STEPS, "--ignore-eos", "--activations", "float")
    if np.array_equal(got, want) or gap < TIE:
        return None
    return f"greedy differs at step {int(np.argmin(got == want[: len(got)]))} (smallest gap {gap:.1e})"


def run_case(seed, folder):
    """(error / bound, what, fault or None)."""
    variant, rng = random_variant(seed)
    path = make(variant, rng, folder)
    model = oracle.load(path)
    dtype = oracle.dtype_name(model)
    length = pick(rng, 1, 2, 31, 32, 33, 100) if dtype != "float32" else pick(rng, 1, 2, 31, 33, 100, 257, 300, 600)
    ids = rng.integers(0, 256, length).astype(np.int32)
    try:
        got = binary.logits(path, ids, "--activations", "float", "--prefill-chunk", pick(rng, 7, 64, 128))
    except RuntimeError as e:
        return np.inf, f"{describe(variant)} T{length}", str(e)
    ratio = binary.error(got, oracle.logits(model, ids)) / oracle.TOLERANCE[dtype]
    fault = None if ratio < 1 else "logits beyond the bound"
    if not fault and dtype == "float32":
        size = len(tiny.tiny_tokenizer.TOKENS) if variant.tokenizer or variant.gguf else None
        fault = greedy_fault(model, path, ids, size)
    return ratio, f"{describe(variant)} T{length}", fault


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="keep failing checkpoints here")
    args = parser.parse_args()
    faults, start = 0, time.time()
    for seed in range(args.first, args.first + args.seeds):
        with tempfile.TemporaryDirectory() as folder:
            ratio, what, fault = run_case(seed, Path(folder) / "model")
            print(f"{'FAIL' if fault else 'ok  '} seed {seed}: {ratio:.3f} of the bound; {what}", flush=True)
            if fault:
                faults += 1
                print(f"     {fault}\n     again: python reference/stress.py --first {seed} --seeds 1 --keep /tmp/stress", flush=True)
                if args.keep:
                    shutil.copytree(Path(folder) / "model", args.keep / f"seed_{seed}", dirs_exist_ok=True)
    print(f"{args.seeds - faults} of {args.seeds} passed in {time.time() - start:.0f} s")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
