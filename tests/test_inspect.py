"""`mlxforge inspect`: what it says about a model, against mlx-lm, the gguf package and the config."""

import json
import re

import oracle  # noqa: F401  before numpy
import pytest
from checkpoints import variation
from gguf import GGUFReader
from mlx_lm.utils import compute_bits_per_weight, get_total_parameters, load_model

import binary
from conftest import ROOT, TINY

FIXTURES = ROOT / "reference" / "fixtures"
FORMATS = ["f32", "bf16", "biases", "head_dim", "untied_sharded", "q2_g32_f32", "q3_g64_bf16", "q4_g64_f16", "q5_g64_f32", "q6_g128_f32", "mixed"]
GGUFS = ["gguf_f32", "gguf_bf16", "gguf_q4_0", "gguf_q4_1", "gguf_q8_0", "gguf_llama3"]
KV_BYTES = {"f32": 4, "f16": 2, "bf16": 2}


def inspect(model, *flags):
    """The facts, by their names; the lines of the codings under their own."""
    out = binary.run("inspect", model, *flags).stdout
    return {name.strip(): value for name, value in re.findall(r"^([^:]+): (.*)$", out, re.M)}


def attention(facts):
    n_q, n_kv, d = map(int, re.match(r"(\d+) heads, (\d+) key/value heads, head_dim (\d+)", facts["attention"]).groups())
    return n_q, n_kv, d


@pytest.mark.parametrize("name", FORMATS)
def test_size_as_mlx_lm_counts_it(name):
    facts = inspect(FIXTURES / name)
    model, _ = load_model(FIXTURES / name)
    assert facts["parameters"] == f"{get_total_parameters(model)}, {compute_bits_per_weight(model):.2f} bits per weight"


@pytest.mark.parametrize("name", GGUFS)
def test_size_as_the_gguf_package_counts_it(name):
    tensors = [t for t in GGUFReader(FIXTURES / name / "model.gguf").tensors if t.name != "rope_freqs.weight"]
    n = sum(int(t.n_elements) for t in tensors)
    facts = inspect(FIXTURES / name / "model.gguf")
    assert facts["parameters"] == f"{n}, {8 * sum(int(t.n_bytes) for t in tensors) / n:.2f} bits per weight"
    for kind in {t.tensor_type.name for t in tensors}:
        same = [t for t in tensors if t.tensor_type.name == kind]
        assert facts[kind].startswith(f"{sum(int(t.n_elements) for t in same)} parameters, "), facts


@pytest.mark.parametrize("name", FORMATS)
def test_shape_as_the_config_says(name):
    config = json.loads((FIXTURES / name / "config.json").read_text())
    facts = inspect(FIXTURES / name)
    d = config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])
    assert attention(facts) == (config["num_attention_heads"], config["num_key_value_heads"], d)
    assert facts["layers"] == str(config["num_hidden_layers"])
    assert facts["hidden size"] == f"{config['hidden_size']}, feed-forward {config['intermediate_size']}"
    assert facts["vocabulary"] == str(config["vocab_size"]) and facts["context"] == f"{config['max_position_embeddings']} tokens"
    assert facts["family"] == "llama" and facts["format"] == "safetensors"


def test_codings_of_a_mixed_checkpoint():
    facts = inspect(FIXTURES / "mixed")
    assert {"4 bits in groups of 32", "6 bits in groups of 64", "8 bits in groups of 32", "F32"} <= facts.keys()
    assert facts["6 bits in groups of 64"].endswith(", 7.00 bits per weight")  # 6 + a scale and a bias of 32 bits in 64 weights


KV = [("f32", (), "f32"), ("bf16", (), "bf16"), ("q4_g64_f16", (), "f16"), ("gguf_q4_1/model.gguf", (), "f16")]
KV += [("gguf_q4_1/model.gguf", ("--activations", "float"), "f32"), ("f32", ("--kv-dtype", "f16"), "f16")]


@pytest.mark.parametrize("model, flags, dtype", KV)
def test_kv_bytes_per_token(model, flags, dtype):
    facts = inspect(FIXTURES / model, *flags)
    _, n_kv, d = attention(facts)
    assert facts["KV cache"] == f"{int(facts['layers']) * 2 * n_kv * d * KV_BYTES[dtype]} bytes per token, in {dtype}"


ROPES = [
    ("f32", "base 10000, default"),
    ("rope_linear", "base 10000, linear scaling by"),
    ("rope_llama3", "base 10000, llama3 scaling by 8"),
    ("rope_llama3_type", "base 10000, llama3 scaling by 8"),
    ("rope_parameters", "base 1000000, default"),
    ("rope_parameters_llama3", "llama3 scaling by 8"),
    ("gguf_llama3/model.gguf", "scaled by rope_freqs.weight"),
]


@pytest.mark.parametrize("model, rope", ROPES)
def test_rope(model, rope):
    assert rope in inspect(FIXTURES / model)["rope"]


def test_window():
    config = json.loads((ROOT / "reference/fixtures_mistral/window_v01/config.json").read_text())
    facts = inspect(ROOT / "reference/fixtures_mistral/window_v01")
    assert facts["attention"].endswith(f", window {config['sliding_window']} in {config['num_hidden_layers']} layers")
    assert "window" not in inspect(TINY)["attention"]


def test_text(smollm2_path):
    facts = inspect(smollm2_path)
    assert facts["tokenizer"] == "gpt2, pre smollm, 49152 tokens" and facts["chat template"] == "yes"
    assert inspect(TINY)["tokenizer"] == "BPE, 288 tokens"
    bare = inspect(FIXTURES / "no_tokenizer")
    assert bare["tokenizer"] == "none" and bare["chat template"] == "none"


def test_the_printed_example(smollm2_path):
    page = (ROOT / "docs" / "commands.md").read_text()
    example = re.search(r"^```text\n(.*?)^```$", page, re.M | re.S).group(1)
    assert binary.run("inspect", smollm2_path).stdout.rpartition("peak memory")[0] == example


def test_what_cannot_be_run_is_described_as_far_as_it_goes(tmp_path):
    done = binary.run("inspect", variation(tmp_path / "model", {"model_type": "mamba"}), check=False)
    assert done.returncode == 1 and "family: mamba" in done.stdout
    assert "expected model_type to be one of" in done.stderr
