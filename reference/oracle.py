"""mlx-lm as the oracle: loads a model folder or a .gguf file and computes logits, hidden states and greedy tokens.

Everything runs on MLX's CPU device. GGUF weights are dequantised by the `gguf` package into mlx-lm's llama in float32.
"""

import json
import os
from contextlib import contextmanager
from pathlib import Path

# numpy must be imported after this: OpenBLAS's threads spin, which costs ten times the work where cores are shared.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gguf
import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx_lm.models import llama
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_config, load_model

import gguf_llama

mx.set_default_device(mx.cpu)

# max |difference| / max |logit| allowed, by the checkpoint's float dtype (f32 includes quantised weights on an f32 base).
TOLERANCE = {"float32": 2e-4, "float16": 6e-3, "bfloat16": 4e-2}


def rope_override(config):
    """mlx-lm's llama reads only `rope_theta` and `rope_scaling`; newer configs carry both inside `rope_parameters`."""
    rope = config.get("rope_parameters")
    if config["model_type"] not in ("llama", "mistral") or not rope:
        return {}
    scaled = (rope.get("type") or rope.get("rope_type", "default")) != "default"
    return {"rope_theta": rope["rope_theta"], "rope_scaling": dict(rope) if scaled else None}


def load(path):
    """The mlx-lm model of a folder or a .gguf file, evaluated."""
    path = Path(path)
    if path.suffix == ".gguf":
        return gguf_llama.load(gguf.GGUFReader(path))
    model, _ = load_model(path, model_config=rope_override(load_config(path)))
    return model


def dtype_name(model):
    """The float dtype that activations have: the one of the norms."""
    return str(model.model.norm.weight.dtype).removeprefix("mlx.core.")


def to_numpy(x):
    return np.array(x.astype(mx.float32))


def logits(model, ids):
    """(T, vocab) float32: one forward over all ids, no cache."""
    return to_numpy(model(mx.array([np.ravel(ids).tolist()]))[0])


def hidden_states(model, ids):
    """(L + 1, T, D) float32: the embedding, then the output of every layer, before the final norm."""
    states = []
    block = type(model.layers[0])
    call = block.__call__

    def spy(self, x, *args, **kwargs):
        if not states:
            states.append(x)
        states.append(call(self, x, *args, **kwargs))
        return states[-1]

    block.__call__ = spy
    try:
        mx.eval(model(mx.array([np.ravel(ids).tolist()])))
    finally:
        block.__call__ = call
    return np.stack([to_numpy(s[0]) for s in states])


def greedy(model, ids, n, valid=None):
    """n new ids by arg-max over the first `valid` logits (all if None), and the smallest top-2 gap over max |logit|."""
    cache, x = make_prompt_cache(model), np.ravel(ids).tolist()
    out, gap = [], np.inf
    for _ in range(n):
        row = to_numpy(model(mx.array([x]), cache=cache)[0, -1])[:valid]
        second, first = np.partition(row, -2)[-2:]
        gap = min(gap, float((first - second) / np.abs(row).max()))
        x = [int(row.argmax())]
        out += x
    return np.array(out, np.int32), gap


def tokenizer_size(folder):
    """Ids at or above this are never sampled: tokens of tokenizer.json, added ones counted. None without a tokenizer."""
    file = Path(folder) / "tokenizer.json"
    if not file.exists():
        return None
    spec = json.loads(file.read_text())
    ids = list(spec["model"]["vocab"].values()) + [t["id"] for t in spec["added_tokens"]]
    return max(ids) + 1


def blas_product(x, weight):
    y = np.from_dlpack(x).reshape(-1, x.shape[-1]) @ np.from_dlpack(weight).T
    return mx.array(y).reshape(*x.shape[:-1], weight.shape[0])


def blas_attention(q, k, v, cache, scale, mask, sinks=None):
    """(1, H, L, D) x (1, Hk, S, D): plain softmax attention, causal where there is more than one query."""
    q, k, v = (np.from_dlpack(a)[0] for a in (q, k, v))
    group, length, total = q.shape[0] // k.shape[0], q.shape[1], k.shape[1]
    scores = (scale * q).reshape(k.shape[0], group * length, -1) @ k.swapaxes(1, 2)
    scores = scores.reshape(k.shape[0], group, length, total)
    scores = np.where(np.tri(length, total, total - length, dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return mx.array((p.reshape(k.shape[0], group * length, total) @ v).reshape(1, *q.shape))


@contextmanager
def blas():
    """Inside, a float32 mlx-lm llama takes its products and attention from numpy's BLAS, because MLX's x86 GEMM is a scalar
    reference (1.4 GFLOP/s); the rest stays MLX. For real models; dump_ref.py holds it to plain mlx-lm on a short prompt.
    """
    saved = nn.Linear.__call__, nn.Embedding.as_linear, llama.scaled_dot_product_attention
    nn.Linear.__call__ = lambda self, x: blas_product(x, self.weight) + (self.bias if "bias" in self else 0)
    nn.Embedding.as_linear = lambda self, x: blas_product(x, self.weight)
    llama.scaled_dot_product_attention = blas_attention
    try:
        yield
    finally:
        nn.Linear.__call__, nn.Embedding.as_linear, llama.scaled_dot_product_attention = saved
