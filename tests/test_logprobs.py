"""Log-probabilities over HTTP against mlx-lm's logits: of the output, of the prompt, and as lm-eval reads them (case 35)."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import mlx.core as mx
import numpy as np
import openai
import oracle
import pytest
from conftest import TINY
from serving import stream

TOLERANCE = 2e-4  # of a log-probability: the f32 bound on logits, which are below 10 here


@pytest.fixture(scope="module")
def model():
    return oracle.load(TINY)


def log_softmax(model, ids):
    """(T, vocab): row i is of token i + 1."""
    x = mx.array(oracle.logits(model, ids))
    return np.array(x - mx.logsumexp(x, axis=-1, keepdims=True))


PROMPTS = [[40, 41, 42], [7], list(range(30, 95)), [3, 200, 250, 17, 90, 90, 90, 12]]


@pytest.mark.parametrize("ids", PROMPTS, ids=len)
def test_prompt_logprobs_are_mlx_lms(tiny_server, model, ids):
    expected = log_softmax(model, ids)
    for k in (0, 3, 20):
        status, reply = tiny_server.complete(ids, max_tokens=1, prompt_logprobs=k, ignore_eos=True)
        assert status == 200, reply
        rows = reply["choices"][0]["prompt_logprobs"]
        assert len(rows) == len(ids) and rows[0] is None
        for i, row in enumerate(rows[1:], 1):
            own = row[str(ids[i])]
            assert own["logprob"] == pytest.approx(expected[i - 1][ids[i]], abs=TOLERANCE)
            order = np.argsort(-expected[i - 1], kind="stable")
            assert own["rank"] == list(order).index(ids[i]) + 1
            top = {int(id): entry["logprob"] for id, entry in row.items()}
            assert set(top) == {ids[i], *map(int, order[:k])}
            for id, logprob in top.items():
                assert logprob == pytest.approx(expected[i - 1][id], abs=TOLERANCE)


def test_output_logprobs_are_of_the_raw_logits(tiny_server, model):
    """Whatever temperature, filters, penalties and bias do."""
    ids = PROMPTS[2]
    fields = {"temperature": 1.3, "seed": 5, "top_k": 30, "repetition_penalty": 1.4, "logit_bias": {"90": 4}, "ignore_eos": True}
    status, reply = tiny_server.complete(ids, max_tokens=20, logprobs=5, **fields)
    assert status == 200, reply
    logprobs = reply["choices"][0]["logprobs"]
    assert {len(v) for v in logprobs.values()} == {20}
    # Its own tokens are not in the answer, so the prompt is extended by the candidate that has the chosen log-probability.
    for chosen, top in zip(logprobs["token_logprobs"], logprobs["top_logprobs"]):
        row = log_softmax(model, ids)[-1]
        assert sorted(top.values(), reverse=True)[:5] == pytest.approx(np.sort(row)[::-1][:5].tolist(), abs=TOLERANCE)
        near = np.abs(row - chosen)
        assert near.min() < TOLERANCE and np.sum(near < 2 * TOLERANCE) == 1, "two candidates look alike; choose another seed"
        ids = [*ids, int(near.argmin())]


def test_openai_client(smollm2_server):
    create = smollm2_server.client().chat.completions.create
    messages = [{"role": "user", "content": "Say: naïve 😀 café"}]
    reply = create(model="default", messages=messages, temperature=0, max_tokens=24, logprobs=True, top_logprobs=5)
    choice = reply.choices[0]
    content = choice.logprobs.content
    assert len(content) == reply.usage.completion_tokens
    assert bytes(itertools.chain(*(t.bytes for t in content))).decode() == choice.message.content
    for token in content:
        top = [t.logprob for t in token.top_logprobs]
        assert len(top) == 5 and top == sorted(top, reverse=True)
        assert token.logprob == top[0] and token.token == token.top_logprobs[0].token  # greedy
    alone = create(model="default", messages=messages, temperature=0, max_tokens=24, logprobs=True).choices[0].logprobs.content
    assert [(t.token, t.logprob, t.top_logprobs) for t in alone] == [(t.token, t.logprob, []) for t in content]

    for bad in ({"logprobs": True, "top_logprobs": 21}, {"top_logprobs": 5}, {"logprobs": True, "top_logprobs": -1}):
        with pytest.raises(openai.BadRequestError) as e:
            create(model="default", messages=messages, **bad)
        assert e.value.param == "top_logprobs"


def test_streamed_entries_equal_whole_ones(tiny_server):
    """The tiny model's text is full of half characters; one entry for each token, in the stream too."""
    fields = {"temperature": 1, "seed": 11, "max_tokens": 60, "ignore_eos": True, "logprobs": True, "top_logprobs": 2}
    body = {"messages": [{"role": "user", "content": "abc"}]} | fields
    whole = tiny_server.chat("abc", **fields)[1]
    entries = [
        entry
        for event in stream(tiny_server, "/v1/chat/completions", body)
        for choice in event["choices"]
        for entry in (choice["logprobs"] or {"content": []})["content"]
    ]
    assert entries == whole["choices"][0]["logprobs"]["content"]
    assert len(entries) == 60 == whole["usage"]["completion_tokens"]
    raw = bytes(itertools.chain(*(e["bytes"] for e in entries)))
    assert raw.decode(errors="replace") == whole["choices"][0]["message"]["content"]


def lm_eval_parse(reply, context_lengths):
    """lm-eval-harness's LocalCompletionsAPI.parse_logprobs, restated: (sum, is_greedy) of each continuation."""
    results = []
    for choice, start in zip(sorted(reply["choices"], key=lambda c: c["index"]), context_lengths):
        own = choice["logprobs"]["token_logprobs"][start:-1]
        top = choice["logprobs"]["top_logprobs"][start:-1]
        results.append((sum(own), all(a == max(b.values()) for a, b in zip(own, top))))
    return results


@pytest.mark.parametrize("max_tokens", [1, 0])
def test_loglikelihood_as_lm_eval_asks_for_it(tiny_server, model, max_tokens):
    """echo, logprobs 1, max_tokens 1, prompts as ids; the last entry is the generated token and is left out."""
    greedy = [5, 6, 7, *oracle.greedy(model, [5, 6, 7], 4)[0].tolist()]
    prompts, contexts = [*PROMPTS[2:], greedy], [10, 2, 3]
    status, reply = tiny_server.complete(prompts, max_tokens=max_tokens, temperature=0, logprobs=1, echo=True, seed=1234)
    assert status == 200, reply
    if max_tokens == 0:  # nothing was generated; lm-eval's own way needs 1
        for choice in reply["choices"]:
            for column in choice["logprobs"].values():
                column.append(None)
    for ids, start, (total, is_greedy) in zip(prompts, contexts, lm_eval_parse(reply, contexts)):
        rows = log_softmax(model, ids)
        expected = sum(rows[i - 1][ids[i]] for i in range(start, len(ids)))
        assert total == pytest.approx(expected, abs=TOLERANCE * len(ids))
        assert is_greedy == all(rows[i - 1].argmax() == ids[i] for i in range(start, len(ids)))
    assert lm_eval_parse(reply, contexts)[2][1]


def test_echo_keeps_the_entry_of_a_stop_token(tiny_server):
    """So that leaving out the last entry always leaves the prompt's."""
    fields = {"max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}
    top = tiny_server.complete([5, 6, 7], **fields)[1]["choices"][0]
    assert len(top["logprobs"]["tokens"]) == 4
    stop = list(range(288))  # every token stops
    stopped = tiny_server.complete([5, 6, 7], stop_token_ids=stop, **fields)[1]["choices"][0]
    assert stopped["finish_reason"] == "stop"
    assert stopped["logprobs"]["token_logprobs"] == top["logprobs"]["token_logprobs"]
    assert stopped["text"] == tiny_server.complete([5, 6, 7], **fields | {"max_tokens": 0})[1]["choices"][0]["text"]


def test_logprobs_do_not_depend_on_company(tiny_server):
    asks = [
        {"logprobs": 5, "temperature": 0},
        {"logprobs": 2, "temperature": 1, "seed": 1, "echo": True},
        {"temperature": 1, "seed": 2},
        {"prompt_logprobs": 3, "logprobs": 0, "temperature": 1, "seed": 3, "frequency_penalty": 1},
        {"logprobs": 20, "temperature": 1, "seed": 4, "n": 3},
        {"echo": True, "logprobs": 1, "max_tokens": 0},
    ]

    def answer(i):
        status, reply = tiny_server.complete(PROMPTS[i % 4], **({"max_tokens": 30, "ignore_eos": True} | asks[i]))
        assert status == 200, reply
        return json.dumps(reply["choices"])

    alone = [answer(i) for i in range(len(asks))]
    for _ in range(3):
        with ThreadPoolExecutor(len(asks)) as pool:
            assert list(pool.map(answer, range(len(asks)))) == alone
