"""The HTTP API end to end, through the openai client and raw requests, on tiny random weights and on SmolLM2."""

import json
import random
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from conftest import TINY
from serving import Server, stream, wait_for

HELLO = [{"role": "user", "content": "What is the capital of France?"}]


# --- the openai client ------------------------------------------------------------------------------------------------------


def test_openai_chat(smollm2_server):
    reply = smollm2_server.client().chat.completions.create(model="default", messages=HELLO, temperature=0)
    assert reply.choices[0].message.content == "The capital of France is Paris."
    assert reply.choices[0].message.role == "assistant" and reply.choices[0].finish_reason == "stop"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (37, 7, 44)
    assert reply.model == "SmolLM2-135M-Instruct.Q4_1" and reply.object == "chat.completion"


def test_openai_chat_stream(smollm2_server):
    options = {"include_usage": True}
    chunks = list(
        smollm2_server.client().chat.completions.create(model="default", messages=HELLO, temperature=0, stream=True, stream_options=options)
    )
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "The capital of France is Paris."
    assert chunks[0].choices[0].delta.role == "assistant" and len(chunks) > 5
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == 44
    assert len({c.id for c in chunks}) == 1 and len({c.created for c in chunks}) == 1


def test_openai_completions(smollm2_server):
    client = smollm2_server.client()
    fields = {"model": "default", "prompt": "The capital of France is", "temperature": 0, "max_tokens": 12}
    whole = client.completions.create(**fields)
    parts = list(client.completions.create(**fields, stream=True))
    assert "Paris" in whole.choices[0].text and whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 12
    assert "".join(c.choices[0].text for c in parts) == whole.choices[0].text


def test_openai_models_and_names(smollm2_server):
    client = smollm2_server.client()
    model = client.models.list().data[0].id
    for name in (model, "default", "mlxforge"):
        assert client.chat.completions.create(model=name, messages=HELLO, max_tokens=1).model == model
    with pytest.raises(openai.NotFoundError) as e:
        client.chat.completions.create(model="nope", messages=HELLO)
    assert e.value.code == "model_not_found" and e.value.type == "invalid_request_error"


def test_openai_errors(tiny_server):
    client = tiny_server.client()
    with pytest.raises(openai.BadRequestError) as e:
        client.chat.completions.create(model="default", messages=HELLO, temperature=-1)
    assert e.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as e:
        client.chat.completions.create(model="default", messages=HELLO, n=1000)
    assert e.value.param == "n"


def test_openai_client_that_leaves_a_stream(tiny_server):
    with tiny_server.client().chat.completions.create(model="default", messages=HELLO, stream=True, extra_body={"ignore_eos": True}) as chunks:
        next(iter(chunks))
    tiny_server.wait_idle()


# --- alone and in company ----------------------------------------------------------------------------------------------------

EIGHT = [
    {"content": "What is the capital of France?", "temperature": 0},
    {"content": "Write a haiku about rivers.", "temperature": 1, "seed": 1},
    {"content": "Count from one to twenty.", "temperature": 0},
    {"content": "Tell me about lighthouses. " * 20, "temperature": 0.8, "top_p": 0.9, "seed": 7},
    {"content": "Name three colours.", "temperature": 1.5, "top_k": 40, "seed": 3},
    {"content": "x", "temperature": 1, "top_k": 1},
    {"content": "Why is the sky blue? " * 9, "temperature": 1, "min_p": 0.1, "seed": 5},
    {"content": "Explain rain.", "temperature": 0, "stop": ["e"], "min_tokens": 4},
]


def outcome(server, request, n):
    """What must not depend on company: text, finish reason and usage, streamed or not."""
    fields = {"max_tokens": n, "ignore_eos": n % 2 == 0} | request
    content = fields.pop("content")
    if n % 3 == 0:
        body = {"messages": [{"role": "user", "content": content}], "stream_options": {"include_usage": True}} | fields
        chunks = stream(server, "/v1/chat/completions", body)
        text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
        finish = [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]][-1]
        return text, finish, chunks[-1]["usage"]
    status, reply = server.chat(content, **fields)
    assert status == 200, reply
    choice = reply["choices"][0]
    return choice["message"]["content"], choice["finish_reason"], reply["usage"]


@pytest.mark.parametrize("which", ["tiny_server", "smollm2_server"])
def test_answers_do_not_depend_on_company(which, request):
    """Eight different requests together, joining and leaving: each byte-identical with its run alone."""
    server = request.getfixturevalue(which)
    lengths = [30 + 9 * i for i in range(8)] if which == "tiny_server" else [12 + 5 * i for i in range(8)]
    alone = [outcome(server, r, n) for r, n in zip(EIGHT, lengths)]
    rng = random.Random(1)
    for _ in range(3):
        order = rng.sample(range(8), 8)

        def late(i, delay):
            time.sleep(delay)
            return i, outcome(server, EIGHT[i], lengths[i])

        with ThreadPoolExecutor(8) as pool:
            together = dict(pool.map(late, order, [rng.random() * 0.3 for _ in order]))
        for i in range(8):
            assert together[i] == alone[i], EIGHT[i]


def test_small_chunks_small_batches_and_little_memory_change_nothing():
    """One thread, chunks of 5, three at a time, and a budget that forces preemption."""
    lengths = [40 + 3 * i for i in range(8)]
    with Server(TINY, "--max-ctx", "1024") as server:
        alone = [outcome(server, r, n) for r, n in zip(EIGHT, lengths)]
    flags = ["--threads", "1", "--prefill-chunk", "5", "--max-batch", "3", "--max-ctx", "1024", "--kv-budget", "640KiB"]
    with Server(TINY, *flags) as server, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda i: outcome(server, EIGHT[i], lengths[i]), range(8))) == alone


def test_rows_keep_their_own_settings(tiny_server):
    """Greedy, top_k 1 and a seeded row together: the first two are greedy from the first token on."""
    rows = [{"temperature": 0}, {"temperature": 1, "top_k": 1}, {"temperature": 1.5, "seed": 7, "top_p": 0.9}]
    rows = [r | {"max_tokens": 48, "ignore_eos": True} for r in rows]
    greedy, _, seeded = (tiny_server.chat("abc", **r)[1]["choices"][0]["message"]["content"] for r in rows)
    for _ in range(4):
        with ThreadPoolExecutor(3) as pool:
            got = [r[1]["choices"][0]["message"]["content"] for r in pool.map(lambda r: tiny_server.chat("abc", **r), rows)]
        assert got == [greedy, greedy, seeded]


# --- disconnects, draining, limits -------------------------------------------------------------------------------------------


def half_request(server, body, keep):
    """Sends a request, reads up to `keep` bytes of the reply, and returns the open socket."""
    data = json.dumps(body).encode()
    s = socket.create_connection(("127.0.0.1", server.port))
    s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
    s.settimeout(5)
    try:
        while keep > 0 and (got := s.recv(min(keep, 4096))):
            keep -= len(got)
    except TimeoutError:
        pass
    return s


def hang_up(s, reset):
    if reset:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def test_200_disconnects():
    """RST and FIN, before the first byte, during prefill and mid-stream, streaming or not; four rows in a batch."""
    rng = random.Random(2)
    with Server(TINY, "--max-batch", "4", "--prefill-chunk", "16", "--max-ctx", "4096") as server:

        def leave(i):
            content = "a" * rng.choice([3, 300, 1800])
            body = {"messages": [{"role": "user", "content": content}], "max_tokens": 4000, "ignore_eos": True, "stream": i % 2 == 0}
            s = half_request(server, body, rng.choice([0, 200, 3000]) if i % 2 == 0 else 0)
            time.sleep(rng.choice([0, 0, 0.005, 0.03]))
            hang_up(s, i % 4 < 2)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(leave, range(200)))
        server.wait_idle()
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda i: server.chat("hi", max_tokens=4, ignore_eos=True), range(4)))
        assert [status for status, _ in replies] == [200] * 4
        server.check_alive()


def long_stream(server, n):
    return server.client().chat.completions.create(model="default", messages=HELLO, max_tokens=n, stream=True, extra_body={"ignore_eos": True})


def test_sigterm_drains(smollm2_path):
    """A request in flight is finished; new ones are refused; the exit status is 0."""
    server = Server(smollm2_path, "--max-ctx", "1024")
    chunks = iter(long_stream(server, 60))
    got = [next(chunks)]
    server.process.terminate()
    wait_for(lambda: server.get("/health")[1]["status"] == "draining", "draining")
    status, reply = server.chat("hi")
    assert status == 503 and reply["error"]["message"]
    got += list(chunks)
    assert got[-1].choices[0].finish_reason == "length" and len(got) > 20
    assert server.process.wait(20) == 0


def test_second_signal_ends_at_once(smollm2_path):
    server = Server(smollm2_path, "--max-ctx", "2048")
    chunks = iter(long_stream(server, 2000))
    next(chunks)
    server.process.terminate()
    wait_for(lambda: server.get("/health")[1]["status"] == "draining", "draining")
    start = time.monotonic()
    server.process.terminate()
    assert server.process.wait(5) != 0 and time.monotonic() - start < 2


def test_context_limits():
    """The tiny tokenizer makes one token of every `q`: prompts of 254 to 257 tokens in a context of 256."""
    with Server(TINY, "--max-ctx", "256") as server:
        for n, tokens in ((254, 2), (255, 1)):
            status, reply = server.complete("q" * n, ignore_eos=True)
            assert status == 200 and reply["usage"]["prompt_tokens"] == n and reply["usage"]["completion_tokens"] == tokens
            assert reply["choices"][0]["finish_reason"] == "length"
        for n in (256, 257, 5000):
            for streamed in (False, True):
                status, reply = server.complete("q" * n, stream=streamed)
                assert status == 400 and reply["error"]["code"] == "context_length_exceeded"
                assert str(n) in reply["error"]["message"] and "256" in reply["error"]["message"]
                assert reply["error"]["param"] == "prompt"
        # Refused unread, and refused by the engine: the field is the client's.
        for text in ("q" * 5000, "q" * 250):
            for path, field, body in (
                ("/v1/chat/completions", "messages", {"messages": [{"role": "user", "content": text}]}),
                ("/v1/responses", "input", {"input": text}),
            ):
                status, reply = server.request(path, body)
                assert status == 400 and reply["error"]["param"] == field, reply
        scored = {"max_tokens": 0, "echo": True, "logprobs": 0}  # nothing is generated, so nothing needs room
        status, reply = server.complete("q" * 256, **scored)
        assert status == 200 and len(reply["choices"][0]["logprobs"]["tokens"]) == 256
        assert server.complete("q" * 257, **scored)[0] == 400
        for n, status in ((256, 200), (257, 400)):
            assert server.request("/v1/embeddings", {"input": "q" * n})[0] == status
        server.check_alive()


def test_a_prompt_beyond_the_kv_budget_is_refused_at_once():
    with Server(TINY, "--kv-budget", "64KiB") as server:
        blocks = server.get("/health")[1]["kv_blocks_total"]
        running = threading.Thread(target=server.complete, args=("q" * 20,), kwargs={"max_tokens": 40, "ignore_eos": True})
        running.start()
        status, reply = server.complete("q" * (blocks * 32 + 1))
        assert 400 <= status < 600 and status != 500 and reply["error"]["message"]
        running.join()
        assert server.complete("q" * 20, max_tokens=2)[0] == 200


def test_queue_full(smollm2_path):
    """A model that takes seconds for its answer, so that the queue stays full meanwhile."""
    with Server(smollm2_path, "--max-batch", "1", "--max-waiting", "2", "--max-ctx", "4096") as server:
        body = {"messages": HELLO, "max_tokens": 3900, "ignore_eos": True, "stream": True}
        held = []
        for i in range(3):
            held.append(half_request(server, body, 200 if i == 0 else 0))
            wait_for(lambda: server.get("/health")[1]["waiting"] + server.get("/health")[1]["running"] >= i + 1, "a queue")
        status, reply = server.chat("hi")
        assert status == 429 and reply["error"]["code"] == "queue_full"
        for s in held:
            hang_up(s, False)
        server.wait_idle()
        server.check_alive()


def test_environment_and_older_command_line():
    env = {"MLXFORGE_HOST": "127.0.0.1", "MLXFORGE_MAX_CTX": "300", "MLXFORGE_MAX_WAITING": "7", "MLXFORGE_KV_BUDGET": "1MiB", "MLXFORGE_PORT": "1"}
    with Server(TINY, env=env) as server:  # --port 0 is over MLXFORGE_PORT
        assert server.get("/health")[1]["max_waiting"] == 7
        assert server.get("/v1/models")[1]["data"][0]["max_model_len"] == 300
    with Server(TINY, "--max-ctx", "200", "--alias", "gpt-4o", env=env) as server:
        model = server.get("/v1/models")[1]["data"][0]
        assert model["max_model_len"] == 200 and model["id"] == "f32"
        assert server.chat("hi", model="gpt-4o", max_tokens=2)[1]["model"] == "f32"
