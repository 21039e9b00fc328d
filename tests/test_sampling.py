"""Logit processors over HTTP: greedy answers equal those of mlx-lm's model under mlx-lm's own processors, or under the published
formula; bad values are refused; random filters keep to their seed in company."""

import json
from concurrent.futures import ThreadPoolExecutor

import mlx.core as mx
import numpy as np
import oracle
import pytest
from conftest import TINY
from mlx_lm.sample_utils import make_logits_processors
from tokenizers import Tokenizer

PROMPT = [40, 41, 42, 40, 41, 43, 44, 40, 41]


@pytest.fixture(scope="module")
def model():
    return oracle.load(TINY)


def dry(tokens, row, multiplier, base, allowed):
    """By definition: the longest n such that the text's last n tokens stand before an earlier occurrence of the candidate."""
    longest = {}
    for i, token in enumerate(tokens):
        n = 0
        while n < i and tokens[i - 1 - n] == tokens[-1 - n]:
            n += 1
        longest[token] = max(longest.get(token, 0), n)
    for token, n in longest.items():
        if n >= allowed:
            row[token] -= multiplier * base ** (n - allowed)
    return row


def processed(row, tokens, n_prompt, fields):
    """The row after the processors, in the order of docs/api.md."""
    bias = {int(id): value for id, value in fields.get("logit_bias", {}).items()}
    window = fields.get("repeat_last_n", 10**9)
    prompt_and_output = make_logits_processors(bias, fields.get("repetition_penalty"), window)
    output = make_logits_processors(
        None, None, 0, fields.get("presence_penalty"), window, fields.get("frequency_penalty"), window
    )
    x = mx.array(row)[None]
    for processor in prompt_and_output:
        x = processor(mx.array(tokens), x)
    for processor in output if len(tokens) > n_prompt else []:
        x = processor(mx.array(tokens[n_prompt:]), x)
    row = np.array(x[0])
    if "dry_multiplier" in fields:
        dry(tokens, row, fields["dry_multiplier"], fields.get("dry_base", 1.75), fields.get("dry_allowed_length", 2))
    return row


def greedy(model, n, fields):
    """The text of n tokens, and how clear the closest choice was."""
    tokens, gap = list(PROMPT), np.inf
    for _ in range(n):
        row = processed(oracle.logits(model, tokens)[-1], tokens, len(PROMPT), fields)
        second, first = np.sort(row)[-2:]
        gap = min(gap, first - second)
        tokens.append(int(row.argmax()))
    text = Tokenizer.from_file(str(TINY / "tokenizer.json")).decode(tokens[len(PROMPT) :])
    return text, gap


GREEDY = [
    {"logit_bias": {"65": 100, "66": 99.5, "40": -100}},
    {"repetition_penalty": 1.8},
    {"repetition_penalty": 1.5, "repeat_last_n": 3},
    {"frequency_penalty": 1.1},
    {"presence_penalty": 1.5, "repeat_last_n": 3},
    {"frequency_penalty": 0.4, "presence_penalty": 0.7, "repetition_penalty": 1.2, "logit_bias": {"70": 3, "71": -2}},
    {"dry_multiplier": 1.5, "dry_allowed_length": 1, "dry_sequence_breakers": []},
    {"dry_multiplier": 3, "dry_base": 2, "repetition_penalty": 1.1, "dry_sequence_breakers": []},
]


@pytest.mark.parametrize("fields", GREEDY, ids=lambda f: ",".join(f))
def test_greedy_answers_equal_mlx_lm(tiny_server, model, fields):
    text, gap = greedy(model, 24, fields)
    assert gap > 1e-4, "the reference itself is too close to call; choose other values"
    status, reply = tiny_server.complete(PROMPT, temperature=0, max_tokens=24, ignore_eos=True, **fields)
    assert status == 200, reply
    assert reply["choices"][0]["text"] == text


COMPANY = [f | {"temperature": 0} for f in GREEDY] + [
    {"temperature": 1, "seed": 3, "typical_p": 0.4},
    {"temperature": 1.5, "seed": 4, "xtc_probability": 0.5, "xtc_threshold": 0.05},
    {"temperature": 1, "seed": 5, "frequency_penalty": 2, "logit_bias": {"65": -100}, "top_p": 0.9},
    {"temperature": 1, "seed": 6, "dry_multiplier": 2, "xtc_probability": 1, "typical_p": 0.9, "min_p": 0.01},
    {"temperature": 0},
    {"temperature": 1, "seed": 7},
]


def test_processors_keep_to_their_row(tiny_server):
    """Case 12, for all of them: in company as alone."""

    def answer(fields):
        status, reply = tiny_server.complete(PROMPT, max_tokens=40, ignore_eos=True, **fields)
        assert status == 200, reply
        return reply["choices"][0]["text"]

    alone = [answer(f) for f in COMPANY]
    assert len(set(alone)) == len(alone)  # each of them does something
    with ThreadPoolExecutor(len(COMPANY)) as pool:
        assert list(pool.map(answer, COMPANY)) == alone


def test_a_bias_of_100_decides_and_one_of_minus_100_bans(tiny_server):
    def answers(**fields):
        return [tiny_server.complete(PROMPT, max_tokens=8, temperature=t, seed=1, **fields)[1]["choices"][0]["text"] for t in (0, 1)]

    tokenizer = Tokenizer.from_file(str(TINY / "tokenizer.json"))
    ids = {c: str(tokenizer.token_to_id(c)) for c in "AB%"}
    assert answers(logit_bias={ids["A"]: 100}) == ["AAAAAAAA"] * 2
    assert all(set(text) <= {"A", "B"} for text in answers(logit_bias={ids["A"]: 100, ids["B"]: 99}))
    assert set(answers()[0]) == {"%"}  # so it bans something that would have come
    assert "%" not in answers(logit_bias={ids["%"]: -100})[0]


@pytest.mark.parametrize("value", ["-0.1", "1e999", "NaN", "Infinity", '"1"', "[1]"])
@pytest.mark.parametrize("name", ["temperature", "top_p", "min_p", "typical_p", "repetition_penalty", "dry_multiplier", "xtc_probability"])
def test_bad_numbers_are_refused(tiny_server, name, value):
    """Case 36."""
    body = '{"prompt": "a", "max_tokens": 2, "%s": %s}' % (name, value)
    status, reply = tiny_server.request("/v1/completions", body.encode())
    assert status == 400, reply
    assert reply["error"]["param"] in (name, "body")


@pytest.mark.parametrize("bias", [{"999999999": 5}, {"-1": 5}, {"abc": 1}, {"5": 1e9}, {"5": "1"}, {"288": 1}, [1]])
def test_bad_biases_are_refused(tiny_server, bias):
    """Case 38."""
    status, reply = tiny_server.complete("a", max_tokens=2, logit_bias=bias)
    assert status == 400 and reply["error"]["param"] == "logit_bias", json.dumps(reply)
    tiny_server.check_alive()
