"""Llama models as GGUF: written from mlx-lm weights, and read back, dequantised, into mlx-lm in float32.

llama.cpp's converter stores q_proj and k_proj with each head's rows interleaved for its pairwise rope: HF row h + d/2 * s
(s = 0, 1) of a head becomes row 2h + s. `permute` does that and `unpermute` undoes it.
"""

import gguf
import mlx.core as mx
import numpy as np
from mlx.utils import tree_unflatten
from mlx_lm.models.llama import Model, ModelArgs
from mlx_lm.models.rope_utils import ProportionalRoPE

LAYER_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name):
    """'model.layers.3.self_attn.q_proj.weight' -> 'blk.3.attn_q.weight'."""
    module, _, kind = name.rpartition(".")
    if module in NAMES:
        return f"{NAMES[module]}.{kind}"
    _, _, layer, rest = module.split(".", 3)
    return f"blk.{layer}.{LAYER_NAMES[rest]}.{kind}"


def permute(w, n_head):
    return w.reshape(n_head, 2, w.shape[0] // n_head // 2, -1).swapaxes(1, 2).reshape(w.shape)


def unpermute(w, n_head):
    return w.reshape(n_head, w.shape[0] // n_head // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)


def heads_of(name, args):
    """How many heads the rows of a tensor are permuted by, or None."""
    return {"q_proj": args.num_attention_heads, "k_proj": args.num_key_value_heads}.get(name.split(".")[-2])


def rope_factors(args):
    """llama3 scaling as GGUF stores it: (head_dim / 2) divisors of the inverse frequencies (formula of Llama 3.1)."""
    s = args.rope_scaling
    dim = args.head_dim or args.hidden_size // args.num_attention_heads
    wavelength = 2 * np.pi * args.rope_theta ** (np.arange(0, dim, 2) / dim)
    low, high, old = s["low_freq_factor"], s["high_freq_factor"], s["original_max_position_embeddings"]
    smooth = np.clip((old / wavelength - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / s["factor"] + smooth)).astype(np.float32)


def write(path, args, weights, kind, tokenizer=None):
    """Writes {HF name: float32 array} with matrices as GGMLQuantizationType `kind`; vectors stay F32."""
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("mlxforge-fixture")
    out.add_block_count(args.num_hidden_layers)
    out.add_context_length(args.max_position_embeddings)
    out.add_embedding_length(args.hidden_size)
    out.add_feed_forward_length(args.intermediate_size)
    out.add_head_count(args.num_attention_heads)
    out.add_head_count_kv(args.num_key_value_heads)
    out.add_rope_freq_base(args.rope_theta)
    out.add_layer_norm_rms_eps(args.rms_norm_eps)
    out.add_vocab_size(args.vocab_size)
    head_dim = args.head_dim or args.hidden_size // args.num_attention_heads
    out.add_rope_dimension_count(head_dim)
    if args.head_dim:
        out.add_key_length(head_dim)
        out.add_value_length(head_dim)
    if tokenizer:
        tokenizer(out)
    if args.rope_scaling:
        out.add_tensor("rope_freqs.weight", rope_factors(args))
    for name, w in weights.items():
        heads = heads_of(name, args)
        w = permute(w, heads) if heads else w
        qtype = kind if w.ndim > 1 else gguf.GGMLQuantizationType.F32
        out.add_tensor(gguf_name(name), gguf.quants.quantize(np.ascontiguousarray(w), qtype), raw_dtype=qtype)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def read_args(reader):
    def get(key, default=None):
        field = reader.get_field(f"llama.{key}")
        return field.contents() if field else default

    hidden, heads = get("embedding_length"), get("attention.head_count")
    names = {t.name: t for t in reader.tensors}
    return ModelArgs(
        model_type="llama",
        hidden_size=hidden,
        num_hidden_layers=get("block_count"),
        intermediate_size=get("feed_forward_length"),
        num_attention_heads=heads,
        num_key_value_heads=get("attention.head_count_kv", heads),
        head_dim=get("attention.key_length", hidden // heads),
        rms_norm_eps=get("attention.layer_norm_rms_epsilon"),
        rope_theta=get("rope.freq_base", 10000.0),
        vocab_size=int(names["token_embd.weight"].shape[1]),
        tie_word_embeddings="output.weight" not in names,
        attention_bias="blk.0.attn_q.bias" in names,
        mlp_bias="blk.0.ffn_up.bias" in names,
    )


def load(reader):
    """The mlx-lm llama of a gguf.GGUFReader, every weight dequantised to float32."""
    args = read_args(reader)
    model = Model(args)
    modules = {v: k for k, v in NAMES.items()}
    for i in range(args.num_hidden_layers):
        modules |= {f"blk.{i}.{v}": f"model.layers.{i}.{k}" for k, v in LAYER_NAMES.items()}
    weights, factors = [], None
    for t in reader.tensors:
        w = gguf.quants.dequantize(t.data, t.tensor_type).reshape(t.shape[::-1]).astype(np.float32)
        if t.name == "rope_freqs.weight":
            factors = w
            continue
        module, _, kind = t.name.rpartition(".")
        name = f"{modules[module]}.{kind}"
        heads = heads_of(name, args)
        weights.append((name, mx.array(unpermute(w, heads) if heads else w)))
    model.update(tree_unflatten(weights))
    if factors is not None:
        divide_rope(model, args, factors)
    mx.eval(model.parameters())
    return model


def divide_rope(model, args, factors):
    for layer in model.layers:
        rope = ProportionalRoPE(args.head_dim, args.head_dim, base=args.rope_theta)
        rope._freqs = rope._freqs * mx.array(factors)
        layer.self_attn.rope = rope
