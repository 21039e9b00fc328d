"""`mlxforge perplexity` against mlx-lm and numpy, window by window, on tiny checkpoints."""

import json

import oracle  # before numpy
import numpy as np
import pytest
from checkpoints import edit_json, variation
from conftest import TINY
from dump_ref import REFERENCE
from golden import kl
from tokenizers import Tokenizer

import binary

Q4 = REFERENCE / "fixtures" / "q4_g32_f32"
GGUF = REFERENCE / "fixtures" / "gguf_q4_1" / "model.gguf"
TEXT = REFERENCE / "texts" / "prose.txt"
CTX, TOKENS = 64, 300  # four whole windows and a part of one; chunks of 48 end inside them
BOS = 3


def perplexity(model, *flags, text=TEXT):
    words = ["--json", "--ctx", CTX, "--tokens", TOKENS, "--prefill-chunk", 48, *flags]
    return json.loads(binary.run("perplexity", model, text, *words).stdout)


def windows(bos=False):
    """(the ids that a window feeds, the ids that it predicts), from the tokenizers package."""
    ids = Tokenizer.from_file(str(TINY / "tokenizer.json")).encode(TEXT.read_text()).ids
    ids = ([BOS] if bos else []) + ids
    for start in range(0, TOKENS, CTX):
        end = min(start + CTX, TOKENS)
        yield np.array([BOS if bos else ids[start], *ids[start + 1 : end]], np.int32), np.array(ids[start + 1 : end + 1])


def nll(logits, targets):
    rows = logits.astype(np.float64)
    return np.log(np.exp(rows).sum(-1)) - rows[np.arange(len(targets)), targets]


def check(got, values):
    """The statistics of one arithmetic are those of the values -ln p."""
    assert got["positions"] == len(values) == TOKENS
    assert got["ln_perplexity"] == pytest.approx(values.mean(), rel=1e-6)
    assert got["perplexity"] == pytest.approx(np.exp(values.mean()), rel=1e-5)
    assert got["ln_perplexity_error"] == pytest.approx(values.std(ddof=1) / np.sqrt(TOKENS), rel=1e-5)


@pytest.mark.parametrize("model", [TINY, GGUF], ids=["f32", "gguf"])
def test_perplexity_is_mlx_lms(model):
    reference = oracle.load(model)
    values = np.concatenate([nll(oracle.logits(reference, ids), targets) for ids, targets in windows()])
    check(perplexity(model, "--activations", "float"), values)


def test_every_window_starts_with_bos_where_the_tokenizer_adds_it(tmp_path):
    model = variation(tmp_path / "m")
    edit_json(model / "tokenizer_config.json", {"add_bos_token": True})
    reference = oracle.load(model)
    values = np.concatenate([nll(oracle.logits(reference, ids), targets) for ids, targets in windows(bos=True)])
    check(perplexity(model, "--activations", "float"), values)


@pytest.mark.parametrize("flags", [("--activations", "int8"), ("--kv-dtype", "bf16")], ids=["int8", "bf16"])
@pytest.mark.parametrize("model", [Q4, GGUF], ids=["q4", "gguf"])
def test_divergence_from_the_float_path_is_numpys(model, flags):
    """KL, top-1 agreement and every flip, from the `logits` of both arithmetics."""
    inputs, targets = zip(*windows())
    chosen = np.concatenate([binary.logits(model, ids, *flags) for ids in inputs])
    exact = np.concatenate([binary.logits(model, ids, "--activations", "float") for ids in inputs])
    got = perplexity(model, *flags, "--against", "float")
    check(got, nll(chosen, np.concatenate(targets)))
    check(got["against"], nll(exact, np.concatenate(targets)))
    assert got["mean_kl"] == pytest.approx(kl(exact, chosen), rel=1e-6) and got["mean_kl"] > 0
    flips = np.flatnonzero(chosen.argmax(-1) != exact.argmax(-1))
    assert len(flips) > 0 and [f["position"] for f in got["flips"]] == flips.tolist()
    assert got["top1"] == pytest.approx(1 - len(flips) / TOKENS)
    for flip, row, other in zip(got["flips"], exact[flips], chosen[flips]):
        assert (flip["exact"], flip["chosen"]) == (row.argmax(), other.argmax())
        assert flip["gap"] == pytest.approx(row.max() - row[other.argmax()], abs=1e-6)


def test_the_float_path_against_itself():
    got = perplexity(GGUF, "--activations", "float", "--against", "float")
    assert (got["mean_kl"], got["top1"], got["flips"]) == (0, 1, [])


def test_all_tokens_and_the_default_window():
    ids = Tokenizer.from_file(str(TINY / "tokenizer.json")).encode(TEXT.read_text()).ids
    out = json.loads(binary.run("perplexity", TINY, TEXT, "--json").stdout)
    assert out["positions"] == len(ids) - 1
    assert out == json.loads(binary.run("perplexity", TINY, TEXT, "--json", "--ctx", 2048).stdout)


def test_the_table_has_the_figures():
    got = perplexity(GGUF, "--activations", "int8", "--against", "float")
    words = ["--activations", "int8", "--against", "float", "--ctx", CTX, "--tokens", TOKENS]
    head, chosen, exact = binary.run("perplexity", GGUF, TEXT, *words).stdout.splitlines()
    assert "perplexity" in head and "mean KL" in head
    assert chosen.split()[:4] == ["int8", "f16", str(TOKENS), f"{got['perplexity']:.4f}"]
    assert chosen.split()[5:] == [f"{got['mean_kl']:.2e}", f"{100 * got['top1']:.3f}", "%"]
    assert exact.split()[:4] == ["float", "f32", str(TOKENS), f"{got['against']['perplexity']:.4f}"]


def test_a_text_that_cannot_be_used_is_refused(tmp_path):
    for name, content in [("empty", b""), ("latin1", b"caf\xe9 au lait"), ("one", b"a")]:
        (tmp_path / name).write_bytes(content)
    cases = [
        ("absent", [], "absent"),
        ("empty", [], "empty"),
        ("latin1", [], "UTF-8"),
        ("one", [], "two tokens"),
        (TEXT, ["--ctx", 4096], "2048"),
    ]
    for name, flags, part in cases:
        done = binary.run("perplexity", TINY, tmp_path / name, *flags, check=False)
        assert done.returncode == 1 and done.stdout == "" and part in done.stderr.splitlines()[-1], (name, done.stderr)
    done = binary.run("perplexity", REFERENCE / "fixtures" / "no_tokenizer", TEXT, check=False)
    assert done.returncode == 1 and "tokenizer" in done.stderr
    assert binary.run("perplexity", TINY, check=False).returncode == 2
