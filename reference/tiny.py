"""The tiny seeded checkpoints: a table of variants per family, and how each becomes a folder (or a .gguf file).

Weights are drawn by numpy (MLX's generator may differ between releases), put into mlx-lm's model class, quantised and cast by
mlx-lm, and saved under Hugging Face's names, so a folder is what `mlx_lm.convert` would leave.
"""

import contextlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.utils import quantize_model

import gguf_llama
import oracle
import tiny_tokenizer

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "vocab_size": len(tiny_tokenizer.TOKENS),
    "tie_word_embeddings": True,
    "attention_bias": False,
    "mlp_bias": False,
    "hidden_act": "silu",
    "bos_token_id": tiny_tokenizer.BOS,
    "eos_token_id": tiny_tokenizer.EOS,
    "torch_dtype": "float32",
}
MISTRAL = LLAMA | {
    "architectures": ["MistralForCausalLM"],
    "model_type": "mistral",
    "head_dim": 16,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": False,
    "sliding_window": None,
}
SMOLLM2 = LLAMA | {
    "hidden_size": 72,
    "intermediate_size": 128,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "rope_theta": 100000.0,
    "rope_interleaved": False,
}
# Every dimension a multiple of 128, the largest quantisation group.
WIDE = {"hidden_size": 128, "intermediate_size": 128, "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 1}
ROPELESS = {k: v for k, v in LLAMA.items() if k != "rope_theta"}
ONE = LLAMA | {"num_hidden_layers": 1}
LLAMA3_SCALING = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}


@dataclass(frozen=True)
class Variant:
    """One checkpoint: a config, how its weights are stored, and the seed they are drawn with."""

    name: str
    seed: int
    config: dict
    dtype: str = "float32"
    bits: int = 0  # 0: not quantised by MLX
    group: int = 0
    overrides: dict = field(default_factory=dict)  # last part of a module's name -> {"bits", "group_size"}, or False
    shards: int = 1
    same_weights: str = ""  # a variant whose model.safetensors this one links to
    gguf: str = ""  # a GGMLQuantizationType: written as model.gguf instead
    tokenizer: bool = True


def mlx_bits(bits, group, dtype, seed, config=LLAMA | WIDE, **kw):
    short = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[dtype]
    return Variant(kw.pop("name", f"q{bits}_g{group}_{short}"), seed, config, dtype, bits, group, **kw)


MIXED = {"lm_head": {"bits": 8, "group_size": 32}, "down_proj": {"bits": 6, "group_size": 64}, "v_proj": False}
TWO_WIDE = LLAMA | WIDE | {"num_hidden_layers": 2, "tie_word_embeddings": False, "attention_bias": True}
FAMILIES = {
    "llama": [
        Variant("f32", 13, LLAMA),
        Variant("f16", 1, LLAMA, "float16"),
        Variant("bf16", 1, LLAMA, "bfloat16"),
        Variant("untied_sharded", 1, ONE | {"tie_word_embeddings": False, "vocab_size": 291}, shards=3),
        Variant("padded_vocab", 2, ONE | {"tie_word_embeddings": False, "vocab_size": 320}),
        Variant("no_tokenizer", 2, ONE | {"vocab_size": 283, "intermediate_size": 100}, tokenizer=False),
        Variant("biases", 9, ONE | {"attention_bias": True, "mlp_bias": True}),
        Variant("head_dim", 1, ONE | {"head_dim": 32, "num_attention_heads": 3}),
        Variant("rope_llama3", 13, LLAMA | {"rope_scaling": {"rope_type": "llama3"} | LLAMA3_SCALING}, same_weights="f32"),
        Variant("rope_llama3_type", 13, LLAMA | {"rope_scaling": {"type": "llama3"} | LLAMA3_SCALING}, same_weights="f32"),
        Variant("rope_linear", 13, LLAMA | {"rope_scaling": {"type": "linear", "factor": 4.0}}, same_weights="f32"),
        Variant("rope_parameters", 13, ROPELESS | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, same_weights="f32"),
        Variant("rope_parameters_llama3", 13, ROPELESS | {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5} | LLAMA3_SCALING}, same_weights="f32"),
        mlx_bits(2, 32, "float32", 1),
        mlx_bits(3, 64, "bfloat16", 1),
        mlx_bits(4, 64, "float16", 1),
        mlx_bits(4, 32, "float32", 1),
        mlx_bits(4, 128, "bfloat16", 1),
        mlx_bits(5, 64, "float32", 6),
        mlx_bits(6, 128, "float32", 7),
        mlx_bits(8, 64, "float16", 1),
        mlx_bits(8, 32, "float32", 1),
        mlx_bits(4, 32, "float32", 1, TWO_WIDE, overrides=MIXED, name="mixed"),
        Variant("gguf_f32", 2, ONE, gguf="F32"),
        Variant("gguf_f16", 2, ONE | {"tie_word_embeddings": False}, gguf="F16"),
        Variant("gguf_bf16", 4, LLAMA, gguf="BF16"),
        Variant("gguf_q4_0", 2, LLAMA, gguf="Q4_0"),
        Variant("gguf_q4_1", 1, LLAMA | {"tie_word_embeddings": False}, gguf="Q4_1"),
        Variant("gguf_q8_0", 4, LLAMA, gguf="Q8_0"),
        Variant("gguf_heads", 1, ONE | {"num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 8}, gguf="F32"),
        Variant("gguf_llama3", 2, ONE | {"rope_scaling": {"rope_type": "llama3"} | LLAMA3_SCALING}, gguf="F16"),
    ],
    "mistral": [
        Variant("f32", 4, MISTRAL),
        Variant("bf16", 1, MISTRAL | {"head_dim": 32}, "bfloat16"),
        Variant("window_v01", 4, MISTRAL | {"rope_theta": 10000.0, "sliding_window": 4096}, same_weights="f32"),
        mlx_bits(4, 64, "float16", 1, MISTRAL | WIDE),
        mlx_bits(4, 32, "float32", 1, MISTRAL | WIDE | {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 32}),
    ],
    "smollm2": [
        Variant("f32", 1, SMOLLM2),
        Variant("bf16", 1, SMOLLM2, "bfloat16"),
        Variant("gguf_q4_1", 1, SMOLLM2 | {"hidden_size": 96, "num_attention_heads": 3, "num_key_value_heads": 1}, gguf="Q4_1"),
    ],
}  # fmt: skip


def draw(rng, shape):
    """Near-normal float32 from sums of uniforms: the same bits on every machine."""
    return ((rng.random((4, *shape)).sum(axis=0) - 2) * np.sqrt(3)).astype(np.float32)


# (embedding, matrices) standard deviations: large enough that layers matter and greedy text varies; smaller where mlx-lm
# rounds every op to 16 bits, so that its own noise stays well below the bound.
GAIN = {"float32": (0.3, 1.3), "float16": (0.2, 0.7), "bfloat16": (0.2, 0.7)}


def draw_weights(model, seed, dtype):
    """{name: float32 array}."""
    rng, weights = np.random.default_rng(seed), {}
    embedding, matrix = GAIN[dtype]
    for name, old in sorted(tree_flatten(model.parameters())):
        if "norm" in name:
            w = (0.5 + rng.random(old.shape)).astype(np.float32)
        elif name.endswith("bias"):
            w = 0.3 * draw(rng, old.shape)
        elif "embed" in name:
            w = embedding * draw(rng, old.shape)
        else:
            w = matrix / np.sqrt(old.shape[-1]) * draw(rng, old.shape)
        weights[name] = w.astype(np.float32)
    return weights


def model_class(config):
    from mlx_lm.utils import _get_classes

    return _get_classes(config)


def build(variant):
    """(model, config, weights): mlx-lm's model with the variant's weights, cast and quantised as the variant says."""
    config = variant.config | {"torch_dtype": variant.dtype}
    cls, args = model_class(config)
    model = cls(args.from_dict(config | oracle.rope_override(config)))
    weights = draw_weights(model, variant.seed, variant.dtype)
    model.update(tree_unflatten([(k, mx.array(w)) for k, w in weights.items()]))
    model.set_dtype(getattr(mx, variant.dtype))
    if variant.bits:
        with contextlib.redirect_stdout(io.StringIO()):
            model, config = quantize_model(
                model, config, variant.group, variant.bits, quant_predicate=lambda path, _: variant.overrides.get(path.split(".")[-1], True)
            )
    mx.eval(model.parameters())
    return model, config, weights


def save_tensors(folder, tensors, variant):
    names, shards = sorted(tensors), variant.shards
    if variant.same_weights:
        (folder / "model.safetensors").unlink(missing_ok=True)
        (folder / "model.safetensors").symlink_to(f"../{variant.same_weights}/model.safetensors")
    elif shards == 1:
        mx.save_safetensors(str(folder / "model.safetensors"), tensors, metadata={"format": "mlx"})
    else:
        save_shards(folder, tensors, names, shards)


def save_shards(folder, tensors, names, shards):
    index = {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())}, "weight_map": {}}
    for i in range(shards):
        file = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        part = {n: tensors[n] for n in names[i::shards]}
        mx.save_safetensors(str(folder / file), part, metadata={"format": "mlx"})
        index["weight_map"] |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")


def save(variant, folder):
    """Writes the checkpoint; returns the path that mlxforge and the oracle load."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model, config, weights = build(variant)
    if variant.gguf:
        path = folder / "model.gguf"
        kind = gguf.GGMLQuantizationType[variant.gguf]
        gguf_llama.write(path, model.args, weights, kind, tiny_tokenizer.add_to_gguf)
        return path
    save_tensors(folder, dict(tree_flatten(model.parameters())), variant)
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    if variant.tokenizer:
        tiny_tokenizer.save(folder)
    return folder
