#!/usr/bin/env python3
"""Writes a model of seeded random weights with the shape of a real one, so that size can be measured without a download:

    python bench/make_model.py --shape 1b --format q4_0 OUT_DIR     # OUT_DIR/random-1b-q4_0.gguf, or a folder for mlx4

Codes are drawn directly in their storage format, a tensor at a time, so a 1B model takes seconds and little memory. The
vocabulary is Llama 3's, from llama.cpp's ggml-vocab-llama-bpe.gguf; the text that comes out means nothing.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
ROPE = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
THETA, EPS, CONTEXT, MLX_GROUP = 500000.0, 1e-5, 131072, 64


@dataclass(frozen=True)
class Shape:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int = 128256


SHAPES = {
    "1b": Shape(2048, 16, 32, 8, 64, 8192),  # Llama-3.2-1B
    "3b": Shape(3072, 28, 24, 8, 128, 8192),  # Llama-3.2-3B
}


def matrices(shape):
    """(GGUF name, Hugging Face name, rows, columns) of every matrix; the head is the embedding."""
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    yield "token_embd", "model.embed_tokens", shape.vocab, shape.hidden
    for i in range(shape.layers):
        b, h = f"blk.{i}.", f"model.layers.{i}."
        yield b + "attn_q", h + "self_attn.q_proj", q, shape.hidden
        yield b + "attn_k", h + "self_attn.k_proj", kv, shape.hidden
        yield b + "attn_v", h + "self_attn.v_proj", kv, shape.hidden
        yield b + "attn_output", h + "self_attn.o_proj", shape.hidden, q
        yield b + "ffn_gate", h + "mlp.gate_proj", shape.ffn, shape.hidden
        yield b + "ffn_up", h + "mlp.up_proj", shape.ffn, shape.hidden
        yield b + "ffn_down", h + "mlp.down_proj", shape.hidden, shape.ffn


def norms(shape):
    """(GGUF name, Hugging Face name) of every norm's weight."""
    yield "output_norm", "model.norm"
    for i in range(shape.layers):
        yield f"blk.{i}.attn_norm", f"model.layers.{i}.input_layernorm"
        yield f"blk.{i}.ffn_norm", f"model.layers.{i}.post_attention_layernorm"


def scales(rng, count, spread):
    """float16 block scales that give uniform codes of standard deviation `spread` weights of about `1 / sqrt(columns)`."""
    return (spread * rng.uniform(0.8, 1.2, count)).astype(np.float16)


def blocks(rng, kind, rows, columns):
    """(rows, bytes) uint8: random codes in GGUF's layout."""
    n, std = rows * columns // 32, 1 / np.sqrt(columns)
    if kind == Kind.BF16:  # random sign and mantissa at a fixed exponent: magnitudes 1 to 2 times a power of two
        exponent = np.uint16(127 + int(np.floor(np.log2(std / 1.5))))
        return ((rng.integers(0, 2**16, (rows, columns), np.uint16) & 0x807F) | exponent << 7).view(np.uint8)
    codes = {Kind.Q4_0: 16, Kind.Q4_1: 16, Kind.Q8_0: 32}[kind]
    d = scales(rng, n, std / (73.6 if kind == Kind.Q8_0 else 4.6))  # standard deviation of uniform bytes, of uniform nibbles
    parts = [d[:, None].view(np.uint8)]
    if kind == Kind.Q4_1:
        parts.append((d * np.float16(-7.5))[:, None].view(np.uint8))
    parts.append(np.frombuffer(rng.bytes(n * codes), np.uint8).reshape(n, codes))
    return np.concatenate(parts, axis=1).reshape(rows, -1)


def copy_vocabulary(out, file):
    """Every tokenizer.* field of the vocabulary file."""
    for field in gguf.GGUFReader(file).fields.values():
        if field.name.startswith("tokenizer.") and field.name != "tokenizer.chat_template":
            kind = field.types[0]
            out.add_key_value(field.name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    out.add_chat_template(TEMPLATE)


def rope_factors(shape):
    wavelength = 2 * np.pi * THETA ** (np.arange(0, shape.head_dim, 2) / shape.head_dim)
    low, high = ROPE["low_freq_factor"], ROPE["high_freq_factor"]
    smooth = np.clip((ROPE["original_max_position_embeddings"] / wavelength - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / ROPE["factor"] + smooth)).astype(np.float32)


def write_gguf(path, shape, kind, vocabulary, seed):
    out = gguf.GGUFWriter(path, "llama")
    out.add_name(path.stem)
    out.add_block_count(shape.layers)
    out.add_context_length(CONTEXT)
    out.add_embedding_length(shape.hidden)
    out.add_feed_forward_length(shape.ffn)
    out.add_head_count(shape.heads)
    out.add_head_count_kv(shape.kv_heads)
    out.add_key_length(shape.head_dim)
    out.add_value_length(shape.head_dim)
    out.add_rope_dimension_count(shape.head_dim)
    out.add_rope_freq_base(THETA)
    out.add_layer_norm_rms_eps(EPS)
    out.add_vocab_size(shape.vocab)
    copy_vocabulary(out, vocabulary)
    rng = np.random.default_rng(seed)
    per_block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    for name, _, rows, columns in matrices(shape):
        row = columns // per_block * block_bytes
        out.add_tensor_info(f"{name}.weight", (rows, row), np.dtype(np.uint8), rows * row, kind)
    vectors = {f"{name}.weight": (1 + rng.uniform(-0.2, 0.2, shape.hidden)).astype(np.float32) for name, _ in norms(shape)}
    vectors["rope_freqs.weight"] = rope_factors(shape)
    for name, vector in vectors.items():
        out.add_tensor_info(name, vector.shape, vector.dtype, vector.nbytes)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_ti_data_to_file()
    for _, _, rows, columns in matrices(shape):
        out.write_tensor_data(blocks(rng, kind, rows, columns))
    for vector in vectors.values():
        out.write_tensor_data(vector)
    out.close()


def write_mlx(folder, shape, vocabulary, seed):
    """A folder as mlx_lm.convert -q leaves it: 4 bits, groups of 64, float16."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    rng, tensors = np.random.default_rng(seed), {}
    for _, name, rows, columns in matrices(shape):
        d = scales(rng, rows * columns // MLX_GROUP, 1 / np.sqrt(columns) / 4.6).reshape(rows, -1)
        tensors[f"{name}.weight"] = np.frombuffer(rng.bytes(rows * columns // 2), np.uint32).reshape(rows, -1)
        tensors |= {f"{name}.scales": d, f"{name}.biases": d * np.float16(-7.5)}
    for _, name in norms(shape):
        tensors[f"{name}.weight"] = (1 + rng.uniform(-0.2, 0.2, shape.hidden)).astype(np.float16)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "mlx"})
    quantization = {"group_size": MLX_GROUP, "bits": 4}
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": shape.hidden, "num_hidden_layers": shape.layers,
        "intermediate_size": shape.ffn, "num_attention_heads": shape.heads, "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim, "vocab_size": shape.vocab, "rms_norm_eps": EPS, "rope_theta": THETA, "rope_scaling": ROPE,
        "max_position_embeddings": CONTEXT, "tie_word_embeddings": True, "hidden_act": "silu", "attention_bias": False,
        "mlp_bias": False, "quantization": quantization, "quantization_config": quantization, "bos_token_id": 128000,
        "eos_token_id": [128001, 128009],
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    write_tokenizer(folder, vocabulary)


def write_tokenizer(folder, vocabulary):
    """tokenizer.json of the GGUF vocabulary, as `tokenizers` writes it; enough for text in and out."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    fields = {k: gguf.GGUFReader(vocabulary).fields[f"tokenizer.ggml.{k}"].contents() for k in ("tokens", "token_type", "merges")}
    tokens = fields["tokens"]
    normal = {t: i for i, (t, kind) in enumerate(zip(tokens, fields["token_type"])) if kind == gguf.TokenType.NORMAL}
    result = Tokenizer(models.BPE(normal, [tuple(m.split(" ")) for m in fields["merges"]], ignore_merges=True))
    words = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    split = pre_tokenizers.Split(Regex(words), "isolated")
    result.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    result.decoder = decoders.ByteLevel()
    result.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in tokens if t not in normal])
    result.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": tokens[128000], "eos_token": tokens[128009], "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


FORMATS = {"q4_0": Kind.Q4_0, "q4_1": Kind.Q4_1, "q8_0": Kind.Q8_0, "bf16": Kind.BF16, "mlx4": None}


def make(shape, form, out, vocabulary, seed=1):
    """The path of the model, which is written unless it is there."""
    path = Path(out) / (f"random-{shape}-{form}" + ("" if form == "mlx4" else ".gguf"))
    if path.exists():
        return path
    Path(out).mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name("unfinished-" + path.name)
    if form == "mlx4":
        write_mlx(unfinished, SHAPES[shape], vocabulary, seed)
    else:
        write_gguf(unfinished, SHAPES[shape], FORMATS[form], vocabulary, seed)
    return unfinished.rename(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--shape", choices=SHAPES, default="1b")
    parser.add_argument("--format", choices=FORMATS, default="q4_0")
    parser.add_argument("--vocab", type=Path, default=ROOT / "build" / "vocabs" / "ggml-vocab-llama-bpe.gguf")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(make(args.shape, args.format, args.out, args.vocab, args.seed))


if __name__ == "__main__":
    main()
