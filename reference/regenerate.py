#!/usr/bin/env python3
"""Regenerates every fixture and compares with the committed ones: python reference/regenerate.py --out build/reference

Ids, tokens and configs must be equal; float arrays within a fraction of the bound of their dtype (MLX and BLAS round
differently on other CPUs). Checkpoints must have the same bytes, but MLX-quantised ones only on x86-64, where they were made.
"""

import argparse
import platform
import shutil
import sys
import time
from pathlib import Path

import oracle  # before numpy
import dump_ref
import tiny
import numpy as np

FLOAT_BOUND = 1e-5  # of the largest magnitude, for float32; scaled by oracle.TOLERANCE for other dtypes


def quantised(folder):
    return "quantization" in (folder / "config.json").read_text()


def bound(folder):
    """The largest |difference| / max |value| of float arrays in a variant's folder."""
    variants = {v.name: v for family in tiny.FAMILIES.values() for v in family}
    dtype = variants[folder.name].dtype if folder.name in variants else "float32"
    return FLOAT_BOUND * oracle.TOLERANCE[dtype] / oracle.TOLERANCE["float32"]


def difference(old, new):
    """Why the file `new` is not a regenerated `old`, or None."""
    if old.read_bytes() == new.read_bytes():
        return None
    if old.suffix == ".npy":
        a, b = np.load(old), np.load(new)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype} {a.shape} became {b.dtype} {b.shape}"
        error = np.abs(a - b).max() / np.abs(a).max()
        limit = bound(old.parent) if a.dtype == np.float32 else 0
        return None if error <= limit else f"differs by {error:.1e} of the largest value, allowed {limit:.1e}"
    if old.suffix == ".safetensors" and platform.machine() != "x86_64" and quantised(old.parent):
        return None
    return "bytes differ"


def compare(committed, made):
    old = {p.relative_to(committed) for p in committed.rglob("*") if p.is_file()}
    new = {p.relative_to(made) for p in made.rglob("*") if p.is_file()}
    faults = [f"{p}: not made any more" for p in sorted(old - new)] + [f"{p}: not committed" for p in sorted(new - old)]
    for p in sorted(old & new):
        if fault := difference(committed / p, made / p):
            faults.append(f"{p}: {fault}")
    return [f"{committed.name}/{f}" for f in faults], len(old)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, help="a folder for the new fixtures; replaced")
    parser.add_argument("--model", choices=tiny.FAMILIES, action="append", help="default: every family")
    args = parser.parse_args()
    faults, files = [], 0
    for family in args.model or tiny.FAMILIES:
        start, name = time.time(), dump_ref.folder_name(family)
        shutil.rmtree(args.out / name, ignore_errors=True)
        dump_ref.dump_family(family, args.out)
        found, n = compare(dump_ref.REFERENCE / name, args.out / name)
        faults, files = faults + found, files + n
        print(f"{name}: {n} files in {time.time() - start:.0f} s, {len(found)} differ", flush=True)
    print("\n".join(faults) or f"all {files} fixture files regenerate")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
