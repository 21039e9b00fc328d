"""Every committed fixture through the binary: logits within the bound of the dtype, greedy tokens equal; and SmolLM2's."""

import json
import shutil

import oracle  # before numpy
import numpy as np
import pytest
import smollm2
from dump_ref import REFERENCE, ROWS, STEPS
from golden import kl

import binary

FOLDERS = ["fixtures", "fixtures_mistral", "fixtures_smollm2"]
EXACT = ("--activations", "float")


def variants(dtypes=tuple(oracle.TOLERANCE)):
    """(the family's folder, the model, its entry of index.json) of every fixture with one of the dtypes."""
    return [
        pytest.param(REFERENCE / folder, REFERENCE / folder / entry["model"], entry, id=f"{folder}-{name}")
        for folder in FOLDERS
        for name, entry in json.loads((REFERENCE / folder / "index.json").read_text())["variants"].items()
        if entry["dtype"] in dtypes
    ]


def prompt(folder, i):
    return np.load(folder / f"prompt_{i}_ids.npy")


def variant_folder(model):
    return model.parent if model.suffix == ".gguf" else model


@pytest.mark.parametrize("folder, model, entry", variants())
def test_logits(folder, model, entry):
    for i, step in enumerate(ROWS):
        want = np.load(variant_folder(model) / f"logits_{i}.npy")
        got = binary.logits(model, prompt(folder, i), *EXACT)
        assert binary.error(got[::step], want) < entry["tolerance"]


@pytest.mark.parametrize("folder, model, entry", variants(["float32"]))
def test_greedy_tokens(folder, model, entry):
    for i in range(len(ROWS)):
        want = np.load(variant_folder(model) / f"greedy_{i}.npy")
        got = binary.generate(model, prompt(folder, i), STEPS, "--ignore-eos", *EXACT)
        assert got.tolist() == want.tolist()


@pytest.mark.parametrize("folder, model, entry", variants())
def test_reference_kernels(folder, model, entry):
    """--kernels reference, the path of devices without our kernels, is held to the same bound."""
    want = np.load(variant_folder(model) / "logits_0.npy")
    got = binary.logits(model, prompt(folder, 0), *EXACT, "--kernels", "reference")
    assert binary.error(got, want) < entry["tolerance"]


def with_config(folder, name, changes):
    """A copy of fixtures/f32 under other config keys; None removes one."""
    shutil.copytree(REFERENCE / "fixtures" / "f32", folder / name)
    config = json.loads((folder / name / "config.json").read_text()) | changes
    (folder / name / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not None}))
    return folder / name


@pytest.mark.parametrize("scaling", [{}, {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}])
def test_every_spelling_of_a_rope_is_the_same(tmp_path, scaling):
    """rope_theta at the top or inside rope_parameters, `type` or `rope_type`: bit-identical logits."""
    kind = {"rope_type": "llama3"} if scaling else {"rope_type": "default"}
    spellings = {
        "top": {"rope_theta": 1e6, "rope_scaling": scaling | kind if scaling else None},
        "parameters": {"rope_theta": None, "rope_parameters": {"rope_theta": 1e6} | scaling | kind},
    }
    if scaling:
        spellings["type"] = {"rope_theta": 1e6, "rope_scaling": scaling | {"type": "llama3"}}
    ids = prompt(REFERENCE / "fixtures", 1)
    logits = {n: binary.logits(with_config(tmp_path, n, c), ids, *EXACT) for n, c in spellings.items()}
    assert all(np.array_equal(logits["top"], other) for other in logits.values())
    plain = binary.logits(REFERENCE / "fixtures" / "f32", ids, *EXACT)
    assert not np.array_equal(logits["top"], plain)


TEXTS = [p.stem for p in sorted(smollm2.TEXTS.glob("*.txt"))]


def smollm2_file(name):
    return np.load(REFERENCE / "fixtures_smollm2" / f"{name}.npy")


@pytest.mark.parametrize("text", TEXTS)
def test_smollm2_logits(smollm2_path, text):
    got = smollm2.sample(binary.logits(smollm2_path, smollm2_file(f"{text}_ids"), *EXACT))
    assert binary.error(got, smollm2_file(f"{text}_sample")) < oracle.TOLERANCE["float32"]


def test_smollm2_default_arithmetic(smollm2_path):
    """Top-1 equal to mlx-lm's at 99.9 % of positions, all texts together."""
    same = [binary.logits(smollm2_path, smollm2_file(f"{t}_ids")).argmax(-1) == smollm2_file(f"{t}_top")[:, 0] for t in TEXTS]
    assert np.concatenate(same).mean() >= 0.999


def test_default_arithmetic_is_float_accurate(smollm2_path):
    """Mean KL against the float path at most 1e-5."""
    ids = smollm2_file("prose_ids")
    assert kl(binary.logits(smollm2_path, ids, *EXACT), binary.logits(smollm2_path, ids)) < 1e-5


@pytest.mark.parametrize("flags", [(), EXACT])
def test_smollm2_greedy_answer(smollm2_path, flags):
    want = smollm2_file("chat_greedy")
    got = binary.generate(smollm2_path, smollm2_file("chat_ids"), len(want), "--ignore-eos", *flags)
    assert got.tolist() == want.tolist()
