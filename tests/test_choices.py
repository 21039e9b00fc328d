"""n, best_of and lists of prompts over HTTP: each choice is what it is alone, streams interleave, nothing is left behind."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from conftest import TINY
from serving import Server, stream
from test_server import half_request, hang_up

HELLO = [{"role": "user", "content": "Name a river."}]
SAMPLED = {"temperature": 1, "seed": 5, "max_tokens": 24, "ignore_eos": True}


def texts(reply):
    assert [c["index"] for c in reply["choices"]] == list(range(len(reply["choices"])))
    return [c["text"] for c in reply["choices"]]


def test_openai_client(smollm2_server):
    """Case 33."""
    create = smollm2_server.client().chat.completions.create
    reply = create(model="default", messages=HELLO, n=3, temperature=1, seed=3, max_tokens=16)
    assert [c.index for c in reply.choices] == [0, 1, 2]
    assert len({c.message.content for c in reply.choices}) == 3
    assert all(c.finish_reason in ("stop", "length") for c in reply.choices)
    one = create(model="default", messages=HELLO, temperature=1, seed=3, max_tokens=16)
    assert one.choices[0].message.content == reply.choices[0].message.content
    assert reply.usage.prompt_tokens == one.usage.prompt_tokens
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens

    parts, ends = ["", "", ""], []
    for chunk in create(model="default", messages=HELLO, n=3, temperature=1, seed=3, max_tokens=16, stream=True):
        choice = chunk.choices[0]
        assert choice.index not in ends
        parts[choice.index] += choice.delta.content or ""
        ends += [choice.index] if choice.finish_reason else []
    assert parts == [c.message.content for c in reply.choices] and sorted(ends) == [0, 1, 2]

    for bad in (0, 129, 1000):
        with pytest.raises(openai.BadRequestError) as e:
            create(model="default", messages=HELLO, n=bad)
        assert e.value.param == "n"


def test_fewer_choices_are_the_first_of_more(tiny_server):
    """So a choice depends on its index and on nothing else."""
    eight = texts(tiny_server.complete("q" * 70, n=8, **SAMPLED)[1])
    assert len(set(eight)) == 8
    for n in (1, 3):
        assert texts(tiny_server.complete("q" * 70, n=n, **SAMPLED)[1]) == eight[:n]


def test_lists_of_prompts_are_their_prompts_alone(tiny_server):
    prompts = ["abc", "q" * 50, "xyz" * 12]
    alone = [text for p in prompts for text in texts(tiny_server.complete(p, n=2, **SAMPLED)[1])]
    reply = tiny_server.complete(prompts, n=2, **SAMPLED)[1]
    assert texts(reply) == alone
    assert reply["usage"]["completion_tokens"] == 6 * 24
    streamed = [""] * 6
    for event in stream(tiny_server, "/v1/completions", {"prompt": prompts, "n": 2} | SAMPLED):
        for choice in event["choices"]:
            streamed[choice["index"]] += choice["text"]
    assert streamed == alone


def test_best_of_returns_the_likeliest(tiny_server):
    every = tiny_server.complete("abc", n=6, logprobs=0, **SAMPLED)[1]["choices"]
    mean = [sum(c["logprobs"]["token_logprobs"]) / 24 for c in every]
    order = sorted(range(6), key=lambda i: -mean[i])
    reply = tiny_server.complete("abc", n=2, best_of=6, **SAMPLED)[1]
    assert texts(reply) == [every[i]["text"] for i in order[:2]]
    assert reply["usage"]["completion_tokens"] == 6 * 24


def test_best_of_counts_nothing_after_a_stop_string(tiny_server):
    """The engine may have gone on for some tokens, of which nobody is told."""
    for seed in range(12):
        fields = SAMPLED | {"seed": seed, "stop": ["e", "a", "t"], "max_tokens": 60}
        every = tiny_server.complete("abc", n=6, logprobs=0, **fields)[1]["choices"]
        mean = [sum(c["logprobs"]["token_logprobs"]) / len(c["logprobs"]["token_logprobs"]) for c in every]
        best = max(range(6), key=lambda i: mean[i])
        assert texts(tiny_server.complete("abc", best_of=6, **fields)[1]) == [every[best]["text"]]


def test_choices_in_company_with_little_memory():
    """Few rows, a small cache, other requests: the same bytes."""
    asks = [("q" * 70, 4), ("abc", 1), ("r" * 33, 3), ("xyz" * 20, 2), ("hello", 5)]

    def answer(server, ask):
        status, reply = server.complete(ask[0], n=ask[1], **SAMPLED | {"max_tokens": 60})
        assert status == 200, reply
        return texts(reply)

    with Server(TINY, "--max-ctx", "512") as server:
        alone = [answer(server, a) for a in asks]
    for flags in (["--max-batch", "3"], ["--kv-budget", "512KiB"], ["--max-batch", "1", "--threads", "1", "--prefill-chunk", "5"]):
        with Server(TINY, "--max-ctx", "512", *flags) as server, ThreadPoolExecutor(5) as pool:
            assert list(pool.map(lambda a: answer(server, a), asks)) == alone
            server.wait_idle()


def test_disconnects_free_every_choice():
    """Case 29 for n > 1: RST and FIN at any time, streamed or not."""
    rng = random.Random(4)
    with Server(TINY, "--max-batch", "4", "--prefill-chunk", "16", "--max-ctx", "2048") as server:

        def leave(i):
            message = {"role": "user", "content": "a" * rng.choice([3, 300])}
            body = {"messages": [message], "n": rng.choice([2, 7]), "max_tokens": 1500, "ignore_eos": True, "stream": i % 2 == 0}
            s = half_request(server, body, rng.choice([0, 200, 3000]) if i % 2 == 0 else 0)
            time.sleep(rng.choice([0, 0.005, 0.05]))
            hang_up(s, i % 4 < 2)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(leave, range(40)))
        server.wait_idle()
        server.check_alive()
