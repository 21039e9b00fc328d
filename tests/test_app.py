"""The commands as people use them, on the default model (test_cli.py has the contract on tiny checkpoints)."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("MLXFORGE_BUILD", ROOT / "build"))
MODEL = ROOT / "build/models/SmolLM2-135M-Instruct.Q4_1.gguf"


def run(*words, program="bin/mlxforge", stdin="", check=True):
    done = subprocess.run([BUILD / program, *map(str, words)], input=stdin, capture_output=True, text=True, timeout=300)
    assert not check or done.returncode == 0, done.stderr
    return done


def test_generate_answers_the_question():
    done = run("generate", MODEL, "What is the capital of France?")
    assert done.stdout == "The capital of France is Paris.\n"


def test_default_model_is_found_from_any_folder_and_by_every_link():
    for program in ["bin/mlxforge", "bin/mlxforge-cli", "mlxforge", "mlxforge-cli"]:
        done = subprocess.run([BUILD / program, "inspect"], capture_output=True, text=True, cwd="/", timeout=60)
        assert done.returncode == 0 and "SmolLM2-135M-Instruct.Q4_1" in done.stdout, (program, done.stderr)


def test_older_command_lines():
    answer = "The capital of France is Paris.\n"
    prompt = "What is the capital of France?"
    assert run("generate", MODEL, prompt, 64, program="mlxforge-cli").stdout == answer
    assert run("--model", MODEL, prompt, program="bin/mlxforge-cli").stdout == answer


def test_raw_prompt_is_not_a_chat():
    out = json.loads(run("generate", MODEL, "The capital of France is", 8, "--raw", "--json").stdout)
    assert out["prompt_tokens"] < 8 and "Paris" in out["text"]


def test_dump_weights_lists_every_tensor():
    from gguf import GGUFReader

    lines = run("dump-weights", MODEL, program="bin/mlxforge-cli").stdout.splitlines()
    want = {
        f"{t.name} ({','.join(map(str, reversed(t.shape.tolist())))}) {t.tensor_type.name} {t.n_bytes}"
        for t in GGUFReader(MODEL).tensors
    }
    assert set(lines[:-1]) == want and len(lines) == len(want) + 1
    assert lines[-1].startswith("peak memory: ")


def test_dump_weights_refuses_an_unusable_dtype(tmp_path):
    from safetensors.numpy import save_file

    save_file({"a.weight": np.zeros((2, 3), np.float32), "b.weight": np.zeros(4, np.int64)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    done = run("dump-weights", tmp_path, check=False)
    assert done.returncode == 1 and "b.weight (4) I64 32" in done.stdout
    assert "b.weight" in done.stderr and "I64" in done.stderr


def test_errors_are_one_clear_line(tmp_path):
    np.save(tmp_path / "bad.npy", np.array([49152], np.int32))
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    cases = [
        (2, ["generate"], "PROMPT"),
        (2, ["--port", "http"], "--port"),
        (2, ["generate", MODEL, "x", "many"], "many"),
        (2, ["logits", MODEL], "--ids"),
        (2, ["--max-waiting", 0], "--max-waiting"),
        (1, ["bench", MODEL, "--prompt", 100_000], "--prompt"),
        (1, ["bench", MODEL, "--depth", 8000, "--gen", 8000], "--depth"),
        (1, ["bench", MODEL, "--batch", 8, "--prompt", 16, "--gen", 16, "--kv-budget", "10M"], "blocks for --batch 8"),
        (1, ["generate", MODEL, tmp_path / "bad.npy"], "49152"),
        (1, ["generate", MODEL, tmp_path / "absent.npy"], "absent.npy"),
        (1, ["generate", "org/name", "hello"], "hub id"),
        (1, ["inspect", tmp_path / "broken.gguf"], "broken.gguf"),
        (1, ["generate", tmp_path / "broken.gguf", "hello"], "broken.gguf"),
        (1, ["generate", MODEL, "hello", "--device", "cuda"], "--device cpu"),
        (1, ["generate", MODEL, "hello", "--kernels", "reference", "--activations", "int8"], "int8"),
        (1, ["generate", MODEL, "hello", "--chat-template", tmp_path / "none.jinja"], "none.jinja"),
    ]
    for status, words, part in cases:
        done = run(*words, check=False)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert done.returncode == status and len(errors) == 1 and part in errors[0], (words, done.returncode, done.stderr)
        assert done.stdout == "", words


def test_chat_without_a_terminal():
    said = "What is the capital of France?\n/system Answer in capitals.\n/reset\n/nonsense\nWhat is the capital of France?\n/quit\nunread\n"
    done = run("chat", MODEL, stdin=said)
    answers = done.stdout.splitlines()
    assert answers[0] == "The capital of France is Paris." and len(answers) >= 2
    assert "/help" in done.stderr


def test_bench_prints_one_object_per_batch():
    words = ["bench", MODEL, "--json", "--batch", "1,2", "--prompt", 16, "--gen", 8]
    rows = [json.loads(line) for line in run(*words).stdout.splitlines()]
    assert [row["batch"] for row in rows] == [1, 2]
    for row in rows:
        assert {"model", "device", "isa", "threads", "prompt", "gen", "prefill_tok_s", "decode_tok_s", "gb_s", "bw_share", "peak_share",
                "rss_mb", "logits_hash"} <= row.keys()
        layer = {"norm_linear", "rope_append", "paged_attention", "linear_residual", "norm_gated_linear"}
        assert row["op_ms"].keys() == {"embed", "head", "rest"} | layer
        assert all(ms > 0 for ms in row["op_ms"].values())
        assert sum(row["op_ms"].values()) == pytest.approx(1000 * row["batch"] / row["decode_tok_s"])
        assert row["decode_tok_s"] > 0 and row["prefill_tok_s"] > 0
    assert rows[0]["logits_hash"] == rows[1]["logits_hash"] != "0" * 16
