"""The mlxforge binary as the tests call it: ids in as .npy, logits or new ids out."""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def binary_path():
    """MLXFORGE_BIN, else the one in the build folder, which ctest names in MLXFORGE_BUILD."""
    build = os.environ.get("MLXFORGE_BUILD", ROOT / "build")
    return Path(os.environ.get("MLXFORGE_BIN", Path(build) / "bin" / "mlxforge"))


def run(*args, timeout=600, check=True, **kw):
    """Runs `mlxforge ARGS...` with captured text; raises with its stderr when it fails and check is set."""
    kw = {"capture_output": True, "text": True} | kw
    done = subprocess.run([str(binary_path()), *map(str, args)], timeout=timeout, **kw)
    if check and done.returncode:
        raise RuntimeError(f"mlxforge {' '.join(map(str, args))}: exit {done.returncode}\n{done.stderr}")
    return done


def logits_file(model, ids, out, *flags):
    """Writes the logits of `ids` to the file `out`."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/ids.npy", np.asarray(ids))
        run("logits", model, "--ids", f"{folder}/ids.npy", "--out", out, *flags)


def logits(model, ids, *flags):
    """(T, vocab) float32."""
    with tempfile.TemporaryDirectory() as folder:
        logits_file(model, ids, f"{folder}/logits.npy", *flags)
        return np.load(f"{folder}/logits.npy")


def generate(model, ids, n, *flags):
    """The new ids, from stdout: decimal, one line."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/ids.npy", np.asarray(ids))
        out = run("generate", model, f"{folder}/ids.npy", n, *flags).stdout
    if out.count("\n") != 1 or not out.endswith("\n"):
        raise RuntimeError(f"expected one line of ids on stdout, got {out!r}")
    return np.array(out.split(), np.int32)


def error(got, want):
    """max |difference| / max |want|."""
    if got.shape != want.shape:
        raise RuntimeError(f"expected logits of shape {want.shape}, got {got.shape}")
    return float(np.abs(got.astype(np.float64) - want).max() / np.abs(want).max())
