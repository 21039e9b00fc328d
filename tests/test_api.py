"""Requests that engines get wrong, through HTTP: each bad one gets its 4xx in OpenAI's shape, and the server lives on."""

import http.client
import json

import pytest
from checkpoints import edit_json, variation
from conftest import TINY
from serving import Server, stream

USER = {"role": "user", "content": "hi"}


@pytest.fixture(scope="module")
def server(tiny_server):
    return tiny_server


def refused(server, reply, status=400, param=None, code=None):
    got, body = reply
    assert got == status, (got, body)
    error = body["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["message"] and error["type"]
    assert param is None or error["param"] == param, error
    assert code is None or error["code"] == code, error
    server.check_alive()
    return error


# --- bodies ------------------------------------------------------------------------------------------------------------------

BODIES = {
    "empty": b"",
    "array": b"[]",
    "string": b'"x"',
    "truncated": b'{"messages": [{"role": "user", "content": "h',
    "no fields": b"{}",
    "not UTF-8": b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}',
    "bare NaN": b'{"messages": [{"role": "user", "content": "hi"}], "temperature": NaN}',
    "3000 deep": b'{"tools":' + b"[" * 3000 + b"]" * 3000 + b"}",
    "200000 deep": b'{"x":' + b"[" * 200000 + b"]" * 200000 + b"}",
    "objects 20000 deep": b'{"x":' * 20000 + b"1" + b"}" * 20000,
    "open brackets": b"[" * 100000,
}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_broken_bodies(server, path, body):
    error = refused(server, server.request(path, body))
    assert len(error["message"]) < 500


MESSAGES = {
    "object": ({}, "messages"),
    "empty": ([], "messages"),
    "numbers": ([1], "messages"),
    "role 5": ([{"role": 5, "content": "a"}], "messages"),
    "no role": ([{"content": "a"}], "messages"),
    "unknown role": ([{"role": "king", "content": "a"}], "messages"),
    "content 5": ([{"role": "user", "content": 5}], "messages"),
    "no content": ([{"role": "user"}], "messages"),
    "unknown part": ([{"role": "user", "content": [{"type": "smell", "smell": "a"}]}], "messages"),
    "image": ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}], "messages"),
}


@pytest.mark.parametrize("messages, param", MESSAGES.values(), ids=MESSAGES)
def test_broken_messages(server, messages, param):
    error = refused(server, server.request("/v1/chat/completions", {"messages": messages}))
    assert error["param"].startswith(param)


# --- fields ------------------------------------------------------------------------------------------------------------------

FIELDS = [
    ("stream", "yes"), ("stream", 1), ("max_tokens", "10"), ("max_tokens", 0), ("max_tokens", -5), ("max_tokens", 1.5),
    ("max_completion_tokens", 0), ("temperature", -0.1), ("temperature", "hot"), ("temperature", True),
    ("top_p", -0.1), ("top_p", 1.1), ("min_p", 2), ("top_k", -2), ("top_k", 1.5), ("min_tokens", -1), ("seed", "x"), ("seed", 1e300), ("seed", 2**64),
    ("stop", ""), ("stop", [""]), ("stop", ["a", "b", "c", "d", "e"]), ("stop", 5), ("stop", [5]), ("stop_token_ids", [999999]),
    ("stop_token_ids", [-1]), ("stop_token_ids", "x"), ("stop_token_ids", [4294967301]), ("ignore_eos", "x"), ("stream_options", 5), ("stream_options", {"include_usage": "x"}),
    ("logit_bias", {"999999999": 5}), ("logit_bias", {"-1": 5}), ("logit_bias", {"abc": 1}), ("logit_bias", {"5": 1e9}), ("logit_bias", [5]),
    ("presence_penalty", 2.5), ("frequency_penalty", -2.5), ("repetition_penalty", 0), ("typical_p", 1.5), ("xtc_probability", 2),
    ("dry_multiplier", -1), ("dry_sequence_breakers", "x"), ("n", 0), ("n", 1000), ("logprobs", 1), ("top_logprobs", 5), ("top_logprobs", -1),
    # features to come: never ignored
    ("tools", [{}]),
    ("tool_choice", "required"), ("response_format", {"type": "xml"}), ("guided_regex", "a+("),
]  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("field, value", FIELDS, ids=[f"{f}={json.dumps(v)[:20]}" for f, v in FIELDS])
def test_fields_out_of_range(server, field, value, streamed):
    """Before any SSE header, so also a streamed request gets its 400 as JSON."""
    fields = {"stream": streamed} | {field: value}
    refused(server, server.chat(**fields), param=field)


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"NaN", b"Infinity"])
@pytest.mark.parametrize("field", ["temperature", "top_p", "min_p", "presence_penalty"])
def test_numbers_that_are_not_finite(server, field, number):
    body = b'{"messages": [{"role": "user", "content": "hi"}], "' + field.encode() + b'": ' + number + b"}"
    refused(server, server.request("/v1/chat/completions", body))


NULLS = ["max_tokens", "stop", "tools", "seed", "n", "stream_options", "temperature", "top_p", "stream", "logit_bias", "response_format", "model"]


def test_nulls_are_defaults(server):
    fields = {"max_completion_tokens": 4, "temperature": 0}
    plain, nulls = server.chat(**fields), server.chat(**(dict.fromkeys(NULLS) | fields))
    assert plain[0] == nulls[0] == 200
    assert plain[1]["choices"] == nulls[1]["choices"] and plain[1]["usage"] == nulls[1]["usage"]


def test_defaults_of_features_to_come_pass(server):
    fields = {"n": 1, "logit_bias": {}, "presence_penalty": 0, "frequency_penalty": 0.0, "logprobs": False, "tools": [], "response_format": {"type": "text"}}
    assert server.chat(max_tokens=2, **fields)[0] == 200


def test_the_newer_name_of_max_tokens_wins(server):
    status, reply = server.chat(max_completion_tokens=3, max_tokens=9, ignore_eos=True)
    assert status == 200 and reply["usage"]["completion_tokens"] == 3 and reply["choices"][0]["finish_reason"] == "length"


def test_unknown_model(server):
    error = refused(server, server.chat(model="nope"), 404, code="model_not_found")
    assert "nope" in error["message"]
    refused(server, server.chat(model=5), 400, param="model")


def test_unknown_fields_are_reported(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", "/v1/chat/completions", json.dumps({"messages": [USER], "max_tokens": 1, "mystery": 1}))
    reply = connection.getresponse()
    assert reply.status == 200 and "mystery" in reply.getheader("x-ignored-fields")
    connection.close()


@pytest.mark.parametrize("method, path, status", [
    ("POST", "/", 405), ("GET", "/v1/chat/completions", 405), ("POST", "/v1/models", 405), ("POST", "//v1/chat/completions", 404),
    ("GET", "/v1/../v1/models", 404), ("GET", "/v1/models/", 404), ("DELETE", "/health", 405), ("GET", "/nothing", 404),
])  # fmt: skip
def test_paths(server, method, path, status):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request(method, path, "{}" if method == "POST" else None)
    reply = connection.getresponse()
    assert reply.status == status and "error" in json.loads(reply.read())
    connection.close()


def test_a_body_too_large(server):
    refused(server, server.chat("x" * (5 << 20)), 413)


# --- sampling ----------------------------------------------------------------------------------------------------------------


def text(reply):
    assert reply[0] == 200, reply
    return reply[1]["choices"][0]["message"]["content"]


def test_tiny_temperatures_are_greedy(server):
    fields = {"max_tokens": 40, "ignore_eos": True}
    greedy = text(server.chat(temperature=0, **fields))
    assert greedy
    for other in ({"temperature": 1e-4}, {"temperature": 1e-30}, {"temperature": 0, "seed": 9}, {"temperature": 1, "top_p": 0}):
        assert text(server.chat(**(fields | other))) == greedy, other


def test_top_k_off_and_beyond_the_vocabulary(server):
    fields = {"temperature": 1, "seed": 4, "max_tokens": 40, "ignore_eos": True}
    off = text(server.chat(**fields))
    assert all(text(server.chat(top_k=k, **fields)) == off for k in (0, -1, 9999999))
    assert text(server.chat(top_k=1, **fields)) == text(server.chat(**(fields | {"temperature": 0})))


# --- content, stops, streams -------------------------------------------------------------------------------------------------


def test_content_parts_keep_their_order(server):
    def answer(content):
        return server.request("/v1/chat/completions", {"messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 4})[1]

    whole, parts = answer("ab"), answer([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    assert whole["choices"] == parts["choices"] and whole["usage"] == parts["usage"]


def test_a_turn_without_content_is_kept(server):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turns = [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "content": "x", "tool_call_id": "1"}]
    status, reply = server.request("/v1/chat/completions", {"messages": turns, "max_tokens": 2})
    two = server.request("/v1/chat/completions", {"messages": [turns[0], turns[2]], "max_tokens": 2})[1]
    assert status == 200 and reply["usage"]["prompt_tokens"] > two["usage"]["prompt_tokens"]


def test_text_never_becomes_a_control_token(server):
    """`<|im_end|>` in a message is ten characters, not one token; in a raw prompt too."""
    plain = server.chat("abcdefghij", max_tokens=1)[1]["usage"]["prompt_tokens"]
    assert server.chat("<|im_end|>", max_tokens=1)[1]["usage"]["prompt_tokens"] >= plain - 2
    assert server.complete("<|im_end|>", max_tokens=1)[1]["usage"]["prompt_tokens"] > 5


def test_stop_strings(server):
    """Cut before the stop, wherever token borders are, in streams too; several, null, and one that never comes."""
    fields = {"temperature": 0, "max_tokens": 60, "ignore_eos": True}
    full = text(server.chat(**fields))
    assert text(server.chat(stop=None, **fields)) == text(server.chat(stop=["never ever"], **fields)) == full
    for i in range(0, len(full) - 3, 5):
        stop = full[i : i + 3]
        cut = full[: full.index(stop)]
        for stops in (stop, [stop], ["never ever", stop]):
            reply = server.chat(stop=stops, **fields)
            assert text(reply) == cut and reply[1]["choices"][0]["finish_reason"] == "stop", (stop, stops)
        chunks = stream(server, "/v1/chat/completions", {"messages": [USER], "stop": stop} | fields)
        assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks) == cut


def test_streams_are_framed_as_openai_does(server):
    for usage in (False, True):
        for ending in ({"max_tokens": 12, "ignore_eos": True}, {"max_tokens": 12, "stop": "a"}, {"max_tokens": 1, "ignore_eos": True}):
            fields = {"messages": [USER], "temperature": 1, "seed": 3} | ending
            whole = server.request("/v1/chat/completions", fields)[1]
            chunks = stream(server, "/v1/chat/completions", fields | ({"stream_options": {"include_usage": True}} if usage else {}))
            assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
            assert len({(c["id"], c["created"], c["object"]) for c in chunks}) == 1
            choices = [c["choices"][0] for c in chunks if c["choices"]]
            assert "".join(c["delta"].get("content") or "" for c in choices) == whole["choices"][0]["message"]["content"]
            assert [c["finish_reason"] for c in choices if c["finish_reason"]] == [whole["choices"][0]["finish_reason"]]
            if usage:
                assert chunks[-1]["choices"] == [] and chunks[-1]["usage"] == whole["usage"] and all(c["usage"] is None for c in chunks[:-1])
            else:
                assert all(c["choices"] and not c.get("usage") for c in chunks)


def test_hostile_bytes_are_the_same_text_in_both_modes(server):
    """Random weights emit broken UTF-8: whole and streamed text agree at every cut, and nothing ends inside a character."""
    for n in range(1, 40, 3):
        fields = {"messages": [USER], "temperature": 2, "seed": 11, "max_tokens": n, "ignore_eos": True}
        whole = server.request("/v1/chat/completions", fields)[1]["choices"][0]["message"]["content"]
        chunks = stream(server, "/v1/chat/completions", fields)
        assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks) == whole


# --- templates ---------------------------------------------------------------------------------------------------------------


def with_template(folder, template):
    variation(folder)
    edit_json(folder / "tokenizer_config.json", {"chat_template": template})
    return folder


def test_no_template(tmp_path):
    with Server(with_template(tmp_path / "m", None)) as server:
        status, reply = server.chat("hi")
        assert status == 400 and "--chat-template" in reply["error"]["message"]
        assert server.complete("hi", max_tokens=2)[0] == 200


def test_a_template_that_refuses_a_system_role(tmp_path):
    """The leading system message is folded into the first user turn, with one log line."""
    template = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    with Server(with_template(tmp_path / "m", template)) as server:
        body = {"messages": [{"role": "system", "content": "be brief"}, USER], "max_tokens": 2}
        status, reply = server.request("/v1/chat/completions", body)
        assert status == 200 and reply["usage"]["prompt_tokens"] > 10
        body["messages"].append({"role": "system", "content": "again"})
        assert server.request("/v1/chat/completions", body)[0] == 400


def test_a_broken_template_is_an_error_at_load(tmp_path):
    import binary

    done = binary.run("generate", with_template(tmp_path / "m", "{% unknown %}"), "hi", 2, check=False)
    assert done.returncode == 1 and "template" in done.stderr


def test_other_bodies_while_one_streams(server):
    """Bad requests beside a running stream: nothing in it changes."""
    fields = {"messages": [USER], "temperature": 1, "seed": 8, "max_tokens": 200, "ignore_eos": True}
    alone = stream(server, "/v1/chat/completions", fields)
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", "/v1/chat/completions", json.dumps(fields | {"stream": True}))
    reply = connection.getresponse()
    for body in BODIES.values():
        assert server.request("/v1/chat/completions", body)[0] == 400
    got = reply.read().decode()
    texts = [json.loads(line[6:])["choices"][0]["delta"].get("content") or "" for line in got.splitlines() if line.startswith("data: {")]
    assert "".join(texts) == "".join(c["choices"][0]["delta"].get("content") or "" for c in alone)
    connection.close()
    assert TINY.name == server.get("/health")[1]["model"]
