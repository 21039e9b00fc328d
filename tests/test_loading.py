"""What is refused at load, and by what name: configs that change the maths, tensors that do not fit, broken files, in under a second."""

import json
import shutil
import struct
import time

import oracle  # before numpy
import numpy as np
import pytest
from checkpoints import F32, random_ids, variation
from dump_ref import REFERENCE
from safetensors.numpy import load_file

import binary

EXACT = ("--activations", "float")
BIAS = "model.layers.0.self_attn.q_proj.bias"
EMBED = load_file(F32 / "model.safetensors")["model.embed_tokens.weight"]
HEAD = np.random.default_rng(4).standard_normal(EMBED.shape).astype(np.float32)


def refused(model, *parts, seconds=1):
    """`generate` ends with status 1 in under a second and one error line that has every part. Returns the message."""
    start = time.monotonic()
    done = binary.run("generate", model, REFERENCE / "fixtures" / "prompt_0_ids.npy", 2, check=False, timeout=30)
    took = time.monotonic() - start
    assert done.returncode == 1, (done.returncode, done.stderr)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and done.stdout == ""
    assert all(part in errors[0] for part in parts), (parts, errors[0])
    assert took < seconds, took
    return errors[0]


REFUSED_CONFIGS = {
    "family": ({"model_type": "mamba"}, "mamba"),
    "rope type": ({"rope_scaling": {"rope_type": "spiral", "factor": 2.0}}, "spiral"),
    "rope type in parameters": ({"rope_theta": None, "rope_parameters": {"rope_type": "spiral", "rope_theta": 1e4}}, "spiral"),
    "activation": ({"hidden_act": "gelu"}, "gelu"),
    "quantisation mode": ({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}}, "mxfp4"),
    "quantisation method": ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "gptq"),
    "heads": ({"num_attention_heads": 3}, ""),
    "vocabulary": ({"vocab_size": 287}, "model.embed_tokens.weight"),
    "layers": ({"num_hidden_layers": 3}, "model.layers.2"),
    "fewer layers": ({"num_hidden_layers": 1}, "model.layers.1"),
    "heads beyond any model": ({"num_attention_heads": 2**31 - 1, "num_key_value_heads": 1, "head_dim": 64}, "num_attention_heads"),
    "a context beyond counting": ({"max_position_embeddings": 2**31 - 1}, "max_position_embeddings"),
    "negative": ({"hidden_size": -64}, "hidden_size"),
    "text": ({"hidden_size": "64"}, "hidden_size"),
    "absent": ({"hidden_size": None}, "hidden_size"),
    "huge": ({"num_hidden_layers": 10**9}, ""),
    "bias": ({"attention_bias": True}, "bias"),
}


@pytest.mark.parametrize("config, name", REFUSED_CONFIGS.values(), ids=REFUSED_CONFIGS)
def test_configs_that_are_refused(tmp_path, config, name):
    refused(variation(tmp_path / "m", config), name)


REFUSED_TENSORS = {
    "a bias the config denies": ({BIAS: np.zeros(64, np.float32)}, BIAS),
    "an unknown tensor": ({"model.layers.0.self_attn.q_norm.weight": np.ones(16, np.float32)}, "q_norm"),
    "a missing tensor": ({"model.layers.1.mlp.up_proj.weight": None}, "model.layers.1.mlp.up_proj.weight"),
    "another shape": ({"model.norm.weight": np.ones(65, np.float32)}, "model.norm.weight"),
    "another dtype": ({"model.norm.weight": np.ones(64, np.float64)}, "model.norm.weight"),
}


@pytest.mark.parametrize("tensors, name", REFUSED_TENSORS.values(), ids=REFUSED_TENSORS)
def test_tensors_that_are_refused(tmp_path, tensors, name):
    refused(variation(tmp_path / "m", tensors=tensors), name)


def test_unused_rotary_tables_are_no_surprise(tmp_path):
    """Old Llama checkpoints carry them; they are what the config says anyway."""
    folder = variation(tmp_path / "m", tensors={"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(8, np.float32)})
    assert np.array_equal(binary.logits(folder, random_ids(5)), binary.logits(F32, random_ids(5)))


def test_tied_and_untied_heads(tmp_path):
    ids = random_ids(9)
    tied = binary.logits(F32, ids, *EXACT)
    extra = variation(tmp_path / "extra", tensors={"lm_head.weight": HEAD})
    assert np.array_equal(binary.logits(extra, ids, *EXACT), tied)
    own = variation(tmp_path / "own", {"tie_word_embeddings": False}, {"lm_head.weight": HEAD})
    want = oracle.logits(oracle.load(own), ids)
    assert binary.error(binary.logits(own, ids, *EXACT), want) < 2e-4
    refused(variation(tmp_path / "none", {"tie_word_embeddings": False}), "lm_head.weight")


def test_code_named_by_a_config_is_not_run(tmp_path):
    folder = variation(tmp_path / "m", {"model_file": "evil.py", "auto_map": {"AutoModel": "evil.Model"}})
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert np.array_equal(binary.logits(folder, random_ids(5)), binary.logits(F32, random_ids(5)))
    assert not (tmp_path / "ran").exists()


def header(content, length=None):
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text


TENSOR = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
BROKEN_SAFETENSORS = {
    "empty": b"",
    "seven bytes": b"\0" * 7,
    "no header": header(b"", 0),
    "header past the end": header(b"{}", 1000),
    "header of 2^64 - 1": header(b"{}", 2**64 - 1),
    "header of 200 MB": header(b"{}", 200 << 20),
    "not JSON": header(b"{,}"),
    "not an object": header(b"[]"),
    "offsets swapped": header({"a": TENSOR | {"data_offsets": [16, 0]}}) + b"\0" * 16,
    "one offset": header({"a": TENSOR | {"data_offsets": [16]}}) + b"\0" * 16,
    "past the end": header({"a": TENSOR}) + b"\0" * 15,
    "too small for its shape": header({"a": TENSOR | {"shape": [1000, 1000]}}) + b"\0" * 16,
    "negative shape": header({"a": TENSOR | {"shape": [-2, -2]}}) + b"\0" * 16,
    "unknown dtype": header({"a": TENSOR | {"dtype": "F12"}}) + b"\0" * 16,
    "same range twice": header({"a": TENSOR, "b": TENSOR}) + b"\0" * 16,
    "trailing bytes": header({"a": TENSOR}) + b"\0" * 17,
}


@pytest.mark.parametrize("content", BROKEN_SAFETENSORS.values(), ids=BROKEN_SAFETENSORS)
def test_broken_safetensors(tmp_path, content):
    folder = variation(tmp_path / "m")
    (folder / "model.safetensors").write_bytes(content)
    refused(folder, "model.safetensors")


def gguf_header(version=3, tensors=0, values=0, rest=b""):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, values) + rest


KEY = struct.pack("<Q", 1) + b"a"
BROKEN_GGUF = {
    "four bytes": b"GGUF",
    "other magic": b"GGML" + gguf_header()[4:],
    "version 99": gguf_header(99),
    "string of 2^63": gguf_header(values=1, rest=KEY + struct.pack("<IQ", 8, 2**63)),
    "array of 2^62": gguf_header(values=1, rest=KEY + struct.pack("<IIQ", 9, 0, 2**62)),
    "nested arrays": gguf_header(values=1, rest=KEY + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 10000),
    "2^60 tensors": gguf_header(tensors=2**60),
    "9 dimensions": gguf_header(tensors=1, rest=KEY + struct.pack("<I", 9)),
    "2^32 - 1 dimensions": gguf_header(tensors=1, rest=KEY + struct.pack("<I", 0xFFFFFFFF)),
    "dimensions that overflow": gguf_header(tensors=1, rest=KEY + struct.pack("<IQQIQ", 2, 2**63 - 1, 2, 0, 0)),
    "tensor past the end": gguf_header(tensors=1, rest=KEY + struct.pack("<IQQIQ", 2, 32, 32, 0, 0)),
    "type 39": gguf_header(tensors=1, rest=KEY + struct.pack("<IQIQ", 1, 32, 39, 0)) + b"\0" * 4096,
    "type 999": gguf_header(tensors=1, rest=KEY + struct.pack("<IQIQ", 1, 32, 999, 0)) + b"\0" * 4096,
}


@pytest.mark.parametrize("content", BROKEN_GGUF.values(), ids=BROKEN_GGUF)
def test_broken_gguf(tmp_path, content):
    (tmp_path / "m.gguf").write_bytes(content)
    refused(tmp_path / "m.gguf", "m.gguf")


@pytest.mark.parametrize("name", ["gguf_q4_0", "gguf_f16"])
def test_truncated_gguf(tmp_path, name):
    """A byte short, in the middle, and within the metadata."""
    content = (REFERENCE / "fixtures" / name / "model.gguf").read_bytes()
    for size in (len(content) - 1, len(content) // 2, 3000, 100, 30):
        (tmp_path / "m.gguf").write_bytes(content[:size])
        refused(tmp_path / "m.gguf", "m.gguf")


def sharded(folder):
    shutil.copytree(REFERENCE / "fixtures" / "untied_sharded", folder)
    return folder, json.loads((folder / "model.safetensors.index.json").read_text())


def test_shards(tmp_path):
    ids = random_ids(5)
    folder, index = sharded(tmp_path / "m")
    want = binary.logits(folder, ids)
    shutil.copy(F32 / "model.safetensors", folder / "model-00009-of-00009.safetensors")
    assert np.array_equal(binary.logits(folder, ids), want)  # a stray shard is not the index's business
    shard = folder / "model-00002-of-00003.safetensors"
    shard.write_bytes(shard.read_bytes()[:-4096])
    refused(folder, shard.name)
    shard.unlink()
    refused(folder, shard.name)


def test_shard_names_are_plain(tmp_path):
    folder, index = sharded(tmp_path / "m")
    for name in ("../m/model-00001-of-00003.safetensors", "/etc/passwd", ""):
        index["weight_map"]["model.norm.weight"] = name
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        refused(folder, "model.safetensors.index.json")
