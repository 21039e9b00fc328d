"""The command-line contract on tiny checkpoints of every format: ids in and out, determinism, stop tokens, bad ids."""

import json
import os
import subprocess

import oracle  # before numpy
import numpy as np
import pytest
from checkpoints import edit_json, random_ids, variation
from conftest import PROMPT, TINY
from dump_ref import REFERENCE
from safetensors import safe_open

import binary

FIXTURES = REFERENCE / "fixtures"
FORMATS = ["f32", "f16", "bf16", "biases", "head_dim", "q2_g32_f32", "q3_g64_bf16", "q4_g64_f16", "q5_g64_f32", "q6_g128_f32", "mixed"]
GGUFS = ["gguf_bf16", "gguf_q4_0", "gguf_q4_1", "gguf_q8_0"]
MODELS = [pytest.param(FIXTURES / n, id=n) for n in FORMATS] + [pytest.param(FIXTURES / n / "model.gguf", id=n) for n in GGUFS]


@pytest.mark.parametrize("flags", [(), ("--activations", "float"), ("--activations", "int8")], ids=["auto", "float", "int8"])
@pytest.mark.parametrize("model", MODELS)
def test_logits_do_not_depend_on_chunks_or_threads(model, flags, tmp_path):
    """Byte-equal files; 100 ids cross a KV block and, with 64, a chunk."""
    runs = [("--prefill-chunk", c, "--threads", t) for c, t in ((1, 2), (7, 1), (64, 1), (64, 2), (128, 2))]
    for i, run in enumerate(runs):
        binary.logits_file(model, random_ids(100), tmp_path / f"{i}.npy", *flags, *run)
    assert len({(tmp_path / f"{i}.npy").read_bytes() for i in range(len(runs))}) == 1
    logits = np.load(tmp_path / "0.npy")
    assert logits.dtype == np.float32 and logits.shape[0] == 100 and np.isfinite(logits).all()


AUTO_KV = [("gguf_q4_1/model.gguf", (), "f16"), ("gguf_q4_1/model.gguf", ("--activations", "float"), "f32"), ("f32", (), "f32"), ("bf16", (), "bf16")]


@pytest.mark.parametrize("model, flags, auto", AUTO_KV)
def test_kv_dtype(model, flags, auto):
    """`auto` is the dtype that docs/options.md tells; each other one gives other logits."""
    want = binary.logits(FIXTURES / model, random_ids(40), *flags)
    for dtype in ["f32", "f16", "bf16"]:
        got = binary.logits(FIXTURES / model, random_ids(40), *flags, "--kv-dtype", dtype)
        assert np.array_equal(got, want) == (dtype == auto), dtype


@pytest.mark.parametrize("model", MODELS)
def test_generated_ids_are_the_arg_max_of_logits(model):
    """In the default arithmetic too: decode and prefill are the same sums."""
    prompt = random_ids(40)
    new = binary.generate(model, prompt, 30, "--ignore-eos")
    rows = binary.logits(model, np.concatenate([prompt, new[:-1]]))[len(prompt) - 1 :]
    assert new.tolist() == rows.argmax(-1).tolist()


def test_older_command_line():
    """mlxforge-cli generate MODEL_DIR reference/fixtures/prompt_0_ids.npy 20, run where the repository is."""
    cli = binary.binary_path().with_name("mlxforge-cli")
    words = [cli, "generate", TINY, "reference/fixtures/prompt_0_ids.npy", "20"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=binary.ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    ids = [int(w) for w in done.stdout.split(" ")]
    assert len(ids) <= 20 and done.stdout == " ".join(map(str, ids)) + "\n"


@pytest.mark.parametrize("form", [np.int32, np.int64])
def test_forms_of_ids(form):
    flat = np.ravel(np.load(PROMPT)).astype(form)
    want = binary.generate(TINY, flat, 8, "--ignore-eos").tolist()
    assert binary.generate(TINY, flat[None], 8, "--ignore-eos").tolist() == want


BAD_IDS = {
    "float": np.ones(3, np.float32),
    "two rows": np.ones((2, 3), np.int32),
    "no ids": np.ones(0, np.int32),
    "scalar": np.int32(3),
    "negative": np.array([1, -1], np.int32),
    "past the vocabulary": np.array([1, 288], np.int32),
    "past 32 bits": np.array([1, 2**40], np.int64),
    "int16": np.ones(3, np.int16),
}


@pytest.mark.parametrize("command", ["generate", "logits"])
@pytest.mark.parametrize("ids", BAD_IDS.values(), ids=BAD_IDS)
def test_bad_ids_are_refused(command, ids, tmp_path):
    np.save(tmp_path / "ids.npy", ids)
    words = ["--ids", tmp_path / "ids.npy", "--out", tmp_path / "out.npy"] if command == "logits" else [tmp_path / "ids.npy", 4]
    done = binary.run(command, TINY, *words, check=False)
    assert done.returncode == 1 and "error: " in done.stderr and done.stdout == ""
    assert not (tmp_path / "out.npy").exists()


def test_a_prompt_longer_than_the_context_is_refused(tmp_path):
    np.save(tmp_path / "ids.npy", np.ones(2049, np.int32))
    done = binary.run("generate", TINY, tmp_path / "ids.npy", 4, check=False)
    assert done.returncode == 1 and "2049" in done.stderr and "2048" in done.stderr and done.stdout == ""


def test_everything_else_goes_to_stderr(tmp_path):
    done = binary.run("generate", TINY, PROMPT, 5, "--ignore-eos")
    assert len(done.stdout.split()) == 5 and done.stderr
    done = binary.run("logits", TINY, "--ids", PROMPT, "--out", tmp_path / "out.npy")
    assert done.stdout == ""


# Stop tokens: the union of config.json, generation_config.json and the tokenizer, each an id or a list.
def eos_folder(folder, config, generation, token):
    variation(folder, {"eos_token_id": config})
    edit_json(folder / "generation_config.json", {"eos_token_id": generation})
    edit_json(folder / "tokenizer_config.json", {"eos_token": token})
    return folder


def test_stop_set_is_the_union(tmp_path):
    greedy = np.load(FIXTURES / "f32" / "greedy_0.npy").tolist()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>"]
    stop = greedy[11]  # its first appearance
    stop_at = greedy.index(stop)
    sources = [(stop, 0, specials[2]), ([1, stop], 2, specials[2]), (2, stop, specials[2]), (2, [0, stop], specials[2]), (None, [stop], None)]
    for i, source in enumerate(sources):
        folder = eos_folder(tmp_path / str(i), *source)
        got = binary.generate(folder, np.load(PROMPT), 64, "--activations", "float").tolist()
        assert got == greedy[:stop_at], source
        assert binary.generate(folder, np.load(PROMPT), 64, "--activations", "float", "--ignore-eos").tolist() == greedy


def test_the_tokenizers_own_end_token_stops(tmp_path):
    """The end token only tokenizer_config.json knows: an added token of the id that greedy decoding reaches first."""
    greedy = np.load(FIXTURES / "f32" / "greedy_0.npy").tolist()
    tokens = {i: t for t, i in json.loads((TINY / "tokenizer.json").read_text())["model"]["vocab"].items()}
    folder = eos_folder(tmp_path / "m", None, None, tokens[greedy[0]])
    assert binary.generate(folder, np.load(PROMPT), 8, "--activations", "float").tolist() == []


def test_padded_ids_are_never_sampled():
    model = FIXTURES / "padded_vocab"
    assert binary.logits(model, random_ids(5)).shape == (5, 320)
    for seed in range(3):
        ids = binary.generate(model, random_ids(5), 200, "--temperature", "50", "--seed", seed, "--ignore-eos")
        assert len(ids) == 200 and ids.max() < 288


def test_seeds(tmp_path):
    def once(seed):
        return binary.generate(TINY, random_ids(9), 40, "--temperature", "1", "--seed", seed, "--ignore-eos").tolist()

    assert once(5) == once(5) != once(6)


@pytest.mark.parametrize("folder", sorted(p.parent.name for p in FIXTURES.glob("*/model.safetensors")))
def test_dump_weights(folder):
    lines = binary.run("dump-weights", FIXTURES / folder).stdout.splitlines()
    with safe_open(FIXTURES / folder / "model.safetensors", "numpy") as file:
        want = {name: (tuple(file.get_slice(name).get_shape()), file.get_slice(name).get_dtype()) for name in file.keys()}
    assert lines[-1].startswith("peak memory: ") and len(lines) == len(want) + 1
    for line in lines[:-1]:
        name, shape, dtype, size = line.split(" ")
        assert tuple(int(n) for n in shape.strip("()").split(",")) == want[name][0] and dtype == want[name][1]
        assert int(size) == np.prod(want[name][0]) * {"F32": 4, "U32": 4}.get(dtype, 2)


def test_bench_without_a_tokenizer(tmp_path):
    """Its prompts are ids of the model's vocabulary then."""
    folder = variation(tmp_path / "m")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink(missing_ok=True)
    row = json.loads(binary.run("bench", folder, "--json", "--prompt", 16, "--gen", 4).stdout)
    assert row["decode_tok_s"] > 0


@pytest.mark.parametrize("model", ["org/name", "HuggingFaceTB/SmolLM2-135M-Instruct"])
def test_a_hub_id_is_refused(model):
    done = binary.run("generate", model, "hello", check=False)
    assert done.returncode == 1 and "hub id" in done.stderr and "folder" in done.stderr


def test_flag_over_environment():
    env = {**os.environ, "MLXFORGE_TEMPERATURE": "1", "MLXFORGE_SEED": "5", "MLXFORGE_IGNORE_EOS": "true"}
    sampled = binary.run("generate", TINY, PROMPT, 30, env=env).stdout
    assert sampled == binary.run("generate", TINY, PROMPT, 30, "--temperature", "1", "--seed", "5", "--ignore-eos").stdout
    greedy = binary.run("generate", TINY, PROMPT, 30, "--temperature", "0", env=env).stdout
    assert greedy == binary.run("generate", TINY, PROMPT, 30, "--ignore-eos").stdout != sampled
