#!/usr/bin/env python3
"""Compares mlxforge with mlx-lm on a local checkpoint: make golden MODEL=DIR (a folder, or a llama .gguf).

1. logits of a short prompt, --activations float, against the bound of the checkpoint's dtype;
2. greedy tokens: equal for float32; for 16-bit dtypes, where mlx-lm rounds every op, mlxforge's arg-max along mlx-lm's
   tokens must be mlx-lm's wherever its best two logits differ by more than twice the bound;
3. the default arithmetic: the share of positions with mlx-lm's arg-max, and the mean KL divergence.
Exit status 1 when 1 or 2 fails. mlx-lm on a CPU is slow: about 1.5 s a token for a 1B model.
"""

import argparse
import sys
from pathlib import Path

import oracle  # before numpy
import mlx.core as mx
import numpy as np

import binary

PROMPT = "The lighthouse keeper kept two books on the shelf beside the stove, and only one of them was ever read."


def prompt_ids(path, vocab, tokens):
    """The prompt's ids cut to `tokens`; seeded random ids below `vocab` where there is no tokenizer.json."""
    file = Path(path) / "tokenizer.json"
    if file.exists():
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(file)).encode(PROMPT).ids[:tokens]
    return np.random.default_rng(1).integers(0, vocab, tokens).tolist()


def kl(want, got):
    """Mean over positions of KL(want || got), natural logarithm."""

    def log_softmax(x):
        x = x.astype(np.float64) - x.max(-1, keepdims=True)
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    p, q = log_softmax(want), log_softmax(got)
    return float((np.exp(p) * (p - q)).sum(-1).mean())


def decisive(row, bound):
    second, first = np.partition(row, -2)[-2:]
    return first - second > 2 * bound * np.abs(row).max()


class Report:
    def __init__(self):
        self.failed = False

    def line(self, ok, text):
        self.failed |= not ok
        print(f"{'ok  ' if ok else 'FAIL'} {text}", flush=True)


def compare_greedy(report, model, path, ids, steps, dtype):
    bound = oracle.TOLERANCE[dtype]
    want, gap = oracle.greedy(model, ids, steps, oracle.tokenizer_size(path))
    if dtype == "float32":
        got = binary.generate(path, np.array(ids, np.int32), steps, "--ignore-eos", "--activations", "float")
        same = int(np.argmin(np.append(got == want, False)))
        report.line(same == steps, f"greedy tokens: {same} of {steps} equal (smallest top-2 gap {gap:.1e} of max |logit|)")
        return
    forced = np.array([*ids, *want[:-1]], np.int32)
    reference = oracle.logits(model, forced)
    got = binary.logits(path, forced, "--activations", "float")
    rows = [i for i, row in enumerate(reference) if decisive(row, bound)]
    same = sum(int(got[i].argmax() == reference[i].argmax()) for i in rows)
    report.line(same == len(rows), f"teacher-forced arg-max: {same} of {len(rows)} decisive positions ({len(forced)} in all)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a folder, or a llama .gguf")
    parser.add_argument("--tokens", type=int, default=24, help="prompt tokens")
    parser.add_argument("--steps", type=int, default=64, help="greedy steps")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu", help="MLX's device for mlx-lm")
    args = parser.parse_args()
    mx.set_default_device(getattr(mx, args.device))
    print(f"loading {args.model} in mlx-lm", flush=True)
    model = oracle.load(args.model)
    dtype = oracle.dtype_name(model)
    ids = prompt_ids(args.model, model.args.vocab_size, args.tokens)
    report = Report()
    want = oracle.logits(model, ids)
    got = binary.logits(args.model, np.array(ids, np.int32), "--activations", "float")
    error, bound = binary.error(got, want), oracle.TOLERANCE[dtype]
    report.line(error < bound, f"logits ({len(ids)} tokens, {dtype}): max |diff| / max |logit| = {error:.1e}, bound {bound:.0e}")
    compare_greedy(report, model, args.model, ids, args.steps, dtype)
    default = binary.logits(args.model, np.array(ids, np.int32))
    top1 = (default.argmax(-1) == want.argmax(-1)).mean()
    report.line(True, f"default arithmetic: top-1 {100 * top1:.1f} %, mean KL {kl(want, default):.1e}")
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
