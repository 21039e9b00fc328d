"""lm-eval-harness against the server, as people run it: every log-likelihood and is_greedy is that of mlx-lm's logits."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import gguf
import gguf_llama
import mlx.core as mx
import numpy as np
import oracle
import pytest
import smollm2
from conftest import TINY
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window
from serving import Server
from tokenizers import Tokenizer

MAX_LENGTH = 64  # so that the long texts take several windows

TASKS = {
    "choice": {
        "output_type": "multiple_choice", "doc_to_text": "{{question}}", "doc_to_choice": "{{choices}}", "doc_to_target": "answer",
        "metric_list": [{"metric": "acc"}],
    },
    "continuation": {
        "output_type": "loglikelihood", "doc_to_text": "{{context}}", "doc_to_target": "{{continuation}}", "target_delimiter": "",
        "metric_list": [{"metric": "acc"}],
    },
    "rolling": {
        "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}", "metric_list": [{"metric": "bits_per_byte"}],
    },
}  # fmt: skip
DOCUMENTS = {
    "choice": [
        {"question": "The capital of France is", "choices": ["Paris.", "Rome.", "a kind of cheese."], "answer": 0},
        {"question": "Snow is white, coal is", "choices": ["round.", "black."], "answer": 1},
        {"question": "One, two, three,", "choices": ["four", "naïve 😀", "seven hundred and twelve", "ten"], "answer": 0},
    ],
    "continuation": [
        {"context": "One, two, three,", "continuation": " four, five"},
        {"context": "Roses are red, violets are ", "continuation": "blue"},  # the blank belongs to the continuation's first token
        {"context": "", "continuation": "Once upon a time"},
    ],
    "rolling": [{"text": "Two roads diverged in a wood."}, {"text": (smollm2.TEXTS / "prose.txt").read_text()[:700]}],
}


@dataclass
class Subject:
    """A model, how it is served exactly, and mlx-lm's float32 model of the same weights."""

    path: Any
    flags: list
    folder: Any  # of its tokenizer
    prefix: int  # what lm-eval puts before a text that has no context
    net: Any
    arithmetic: Any  # the context in which the oracle computes

    @property
    def words(self):
        return Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    def log_softmax(self, ids):
        """((T, vocab) log-probabilities, the greatest |logit|): row i is of token i + 1."""
        with self.arithmetic():
            x = oracle.logits(self.net, ids)
        return np.array(mx.array(x) - mx.logsumexp(mx.array(x), axis=-1, keepdims=True)), np.abs(x).max()


def tiny(_):
    words = Tokenizer.from_file(str(TINY / "tokenizer.json"))
    return Subject(TINY, [], TINY, words.token_to_id("<s>"), oracle.load(TINY), nullcontext)


def real(folder):
    path = smollm2.model_path()
    reader = gguf.GGUFReader(path)
    words = smollm2.tokenizer(reader)
    words.save(str(folder / "tokenizer.json"))
    special = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"} | special))
    return Subject(path, ["--activations", "float"], folder, words.token_to_id("<|im_start|>"), gguf_llama.load(reader), oracle.blas)


@pytest.fixture(scope="module", params=[tiny, real], ids=lambda f: f.__name__)
def subject(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("tokenizer"))


def write_tasks(folder):
    for name, task in TASKS.items():
        documents = folder / f"{name}.jsonl"
        documents.write_text("".join(json.dumps(d) + "\n" for d in DOCUMENTS[name]))
        dataset = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(documents)}}, "test_split": "test"}
        (folder / f"{name}.yaml").write_text(json.dumps({"task": f"local_{name}"} | dataset | task))  # JSON is YAML


@pytest.fixture(scope="module")
def run(subject, tmp_path_factory):
    """({task: [sample]}, {task: metrics}) of one run of the harness over all tasks, several prompts a request, several requests at once."""
    folder = tmp_path_factory.mktemp("lm_eval")
    write_tasks(folder)
    with Server(subject.path, "--max-ctx", "512", *subject.flags) as server:
        model = {
            "model": "default", "base_url": f"{server.url}/v1/completions", "tokenizer": subject.folder, "tokenizer_backend": "huggingface",
            "max_length": MAX_LENGTH, "num_concurrent": 2, "max_retries": 1,
        }  # fmt: skip
        words = ["--model", "local-completions", "--model_args", ",".join(f"{k}={v}" for k, v in model.items())]
        words += ["--tasks", ",".join(f"local_{name}" for name in TASKS), "--include_path", folder, "--output_path", folder / "out"]
        words += ["--log_samples", "--batch_size", "3"]
        env = os.environ | {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1"}
        done = subprocess.run([sys.executable, "-m", "lm_eval", "run", *words], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        server.wait_idle()
    samples = {name: read_samples(folder / "out", f"samples_local_{name}_*.jsonl") for name in TASKS}
    (results,) = (folder / "out").rglob("results_*.json")
    return samples, {name: json.loads(results.read_text())["results"][f"local_{name}"] for name in TASKS}


def read_samples(folder, pattern):
    (file,) = folder.rglob(pattern)
    return sorted((json.loads(line) for line in file.read_text().splitlines()), key=lambda s: s["doc_id"])


def error_of_a_logprob(subject, most):
    """Of float32: a logit is off by about the rounding of one product's sum in each layer, eps * layers * sqrt(width) of the greatest
    logit; a log-probability is the difference of a logit and a log-sum-exp, each off by as much.
    """
    args = subject.net.args
    return 2 * np.finfo(np.float32).eps * args.num_hidden_layers * np.sqrt(args.hidden_size) * most


@dataclass
class Expected:
    """What mlx-lm says of the tokens from ids[start] on."""

    total: float  # of their log-probabilities
    error: float  # allowed
    greedy: bool  # each is the likeliest
    margin: float  # the least lead of a likeliest token, as a share of what rounding could take from it


def expected(subject, ids, start):
    rows, most = subject.log_softmax(ids)
    rows, ids = rows[start - 1 : -1], ids[start:]
    error = error_of_a_logprob(subject, most)
    second, first = np.sort(rows)[:, -2:].T
    own = rows[np.arange(len(ids)), ids]
    return Expected(own.sum(), error * len(ids), bool((own == first).all()), (first - second).min() / (2 * error))


def pair(subject, context, continuation):
    """(ids, where the continuation begins), as lm-eval cuts them: blanks at the context's end belong to what follows."""
    words = subject.words
    cut = context.rstrip()
    context, continuation = cut, context[len(cut) :] + continuation
    if not context:
        return [subject.prefix, *words.encode(continuation, add_special_tokens=False).ids], 1
    whole = words.encode(context + continuation, add_special_tokens=False).ids
    return whole, len(words.encode(context, add_special_tokens=False).ids)


def check(arguments, response, subject):
    """One request of the harness; returns mlx-lm's view of it."""
    want = expected(subject, *pair(subject, arguments["arg_0"], arguments["arg_1"]))
    [[total, is_greedy]] = response
    assert float(total) == pytest.approx(want.total, abs=want.error)
    assert want.margin > 1, "a tie within rounding: choose another document"
    assert str(is_greedy) == str(want.greedy)
    return want


def test_multiple_choice(subject, run):
    for sample, document in zip(run[0]["choice"], DOCUMENTS["choice"], strict=True):
        pairs = zip(sample["arguments"].values(), sample["resps"], document["choices"], strict=True)
        totals = [check(arguments, response, subject).total for arguments, response, _ in pairs]
        assert sample["acc"] == (np.argmax(totals) == document["answer"])


def test_loglikelihood(subject, run):
    greedy = []
    for sample, _ in zip(run[0]["continuation"], DOCUMENTS["continuation"], strict=True):
        [arguments], [response] = sample["arguments"].values(), sample["resps"]
        greedy.append(check(arguments, response, subject).greedy)
        assert sample["acc"] == greedy[-1]
    assert subject.path == TINY or set(greedy) == {True, False}


def test_loglikelihood_rolling(subject, run):
    bits = size = 0
    for sample, document in zip(run[0]["rolling"], DOCUMENTS["rolling"], strict=True):
        ids = subject.words.encode(document["text"], add_special_tokens=False).ids
        windows = map(make_disjoint_window, get_rolling_token_windows(ids, subject.prefix, MAX_LENGTH - 2, 1))
        wants = [expected(subject, context + continuation, len(context)) for context, continuation in windows]
        assert (len(wants) > 1) == (len(ids) > MAX_LENGTH - 2)
        total = sum(want.total for want in wants)
        [[got]] = sample["resps"]
        assert float(got) == pytest.approx(total, abs=sum(want.error for want in wants))
        bits, size = bits - total / np.log(2), size + len(document["text"].encode())
    assert run[1]["rolling"]["bits_per_byte,none"] == pytest.approx(bits / size, rel=1e-4)
