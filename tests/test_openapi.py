"""/openapi.json: a valid document, and the real answers of every operation, streamed ones too, are what it says and nothing beyond."""

import json
import re
import urllib.parse

import pytest
from checkpoints import with_pooling
from conftest import TINY
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from scripted_model import scripted_model
from serving import Server
from test_reasoning import ASKS, THINKS

HELLO = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
COLOUR = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"], "additionalProperties": False}
CHAT_TOOLS = [{"type": "function", "function": {"name": "paint", "parameters": COLOUR}}]
CALLS = {"tools": CHAT_TOOLS, "tool_choice": "required", "max_tokens": 200}
MESSAGE_TOOLS = {"tools": [{"name": "paint", "input_schema": COLOUR}], "tool_choice": {"type": "any"}, "max_tokens": 200}
RESPONSE_TOOLS = {"tools": [{"type": "function", "name": "paint", "parameters": COLOUR}], "tool_choice": "required"}
CHAT, TEXT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"

ANY = re.compile(r"{[^}]*}")

# (method, path, body) -> the status expected. Every operation of the document is among them.
REQUESTS = [
    ("get", "/", None, 200),
    ("get", "/health", None, 200),
    ("get", "/metrics", None, 200),
    ("get", "/openapi.json", None, 200),
    ("get", "/v1/models", None, 200),
    ("get", "/v1/models/{default}", None, 200),
    ("get", "/v1/models/{nope}", None, 404),
    ("post", CHAT, HELLO, 200),
    ("post", CHAT, HELLO | {"n": 2, "logprobs": True, "top_logprobs": 3, "prompt_logprobs": 2}, 200),
    ("post", CHAT, HELLO | {"stream": True, "logprobs": True, "top_logprobs": 2}, 200),
    ("post", CHAT, HELLO | {"stream": True, "stream_options": {"include_usage": True}}, 200),
    ("post", CHAT, HELLO | CALLS, 200),
    ("post", CHAT, HELLO | CALLS | {"stream": True}, 200),
    ("post", CHAT, {}, 400),
    ("post", CHAT, HELLO | {"model": "nope"}, 404),
    ("post", TEXT, {"prompt": ["a", "b"], "max_tokens": 4, "echo": True, "logprobs": 2, "prompt_logprobs": 2}, 200),
    ("post", TEXT, {"prompt": "a", "max_tokens": 4, "stream": True, "logprobs": 1}, 200),
    ("post", TEXT, {"prompt": "a" * 600}, 400),
    ("post", MESSAGES, HELLO, 200),
    ("post", MESSAGES, HELLO | {"stream": True}, 200),
    ("post", MESSAGES, HELLO | MESSAGE_TOOLS, 200),
    ("post", MESSAGES, HELLO | MESSAGE_TOOLS | {"stream": True}, 200),
    ("post", MESSAGES, {"messages": []}, 400),
    ("post", "/v1/messages/count_tokens", HELLO, 200),
    ("post", "/v1/messages/count_tokens", {}, 400),
    ("post", RESPONSES, {"input": "hi", "max_output_tokens": 5, "metadata": {"a": "b"}, "instructions": "Be brief."}, 200),
    ("post", RESPONSES, {"input": "hi", "max_output_tokens": 5, "stream": True}, 200),
    ("post", RESPONSES, {"input": "hi"} | RESPONSE_TOOLS, 200),
    ("post", RESPONSES, {"input": "hi", "stream": True} | RESPONSE_TOOLS, 200),
    ("post", RESPONSES, {}, 400),
    ("get", RESPONSES + "/{kept}", None, 200),
    ("get", RESPONSES + "/{kept}/input_items", None, 200),
    ("get", RESPONSES + "/{kept}/input_items?limit=0", None, 400),
    ("delete", RESPONSES + "/{kept}", None, 200),
    ("get", RESPONSES + "/{kept}", None, 404),
    ("get", RESPONSES + "/{kept}/input_items", None, 404),
    ("delete", RESPONSES + "/{kept}", None, 404),
    ("post", "/v1/embeddings", {"input": ["a", "b"], "dimensions": 4}, 200),
    ("post", "/v1/embeddings", {"input": "a", "encoding_format": "base64"}, 200),
    ("post", "/v1/embeddings", {}, 400),
    ("post", "/v1/rerank", {"query": "a", "documents": ["a", {"text": "b"}]}, 200),
    ("post", "/v1/rerank", {"query": "a", "documents": ["a"], "return_documents": False}, 200),
    ("post", "/v1/rerank", {"query": "a"}, 400),
    ("post", "/tokenize", {"prompt": "a", "return_token_strs": True}, 200),
    ("post", "/tokenize", {"messages": HELLO["messages"]}, 200),
    ("post", "/tokenize", {}, 400),
    ("post", "/detokenize", {"tokens": [40, 41]}, 200),
    ("post", "/detokenize", {}, 400),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A model whose files say how to pool, so that it ranks, too."""
    folder = with_pooling(tmp_path_factory.mktemp("model") / "f32", "mean_tokens")
    with Server(folder, "--max-ctx", "512") as server:
        yield server
        server.check_alive()


@pytest.fixture(scope="module")
def document(server):
    status, document = server.get("/openapi.json")
    assert status == 200
    return document


def closed(schema):
    """The same, but that an object has no keys beyond those that are named."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and "type" in schema:
        out.setdefault("additionalProperties", False)
    return out


def check(document, schema, value):
    components = closed(document["components"]["schemas"])
    components["FunctionParameters"] = {"type": "object"}  # in answers: a client's own schema, given back
    Draft202012Validator(closed(schema) | {"components": {"schemas": components}}).validate(value)


def operation_of(document, method, path):
    """(operation, its name): {...} in the path of a request is a value, in the document's a name."""
    for pattern in document["paths"]:
        if ANY.sub("", pattern) == ANY.sub("", path.split("?")[0]) and method in document["paths"][pattern]:
            return document["paths"][pattern][method], (method, pattern)
    raise AssertionError(f"{method} {path} is not in the document")


def events(text):
    """The fields of each event of a stream."""
    return [dict(line.split(": ", 1) for line in frame.split("\n")) for frame in text.removesuffix("\n\n").split("\n\n")]


def check_event(document, schema, event):
    check(document, schema, event)
    if event["data"] != "[DONE]":
        check(document, schema["properties"]["data"]["contentSchema"], json.loads(event["data"]))


def check_answer(document, operation, reply):
    kind = reply.headers["Content-Type"].split(";")[0]
    schema = operation["responses"][str(reply.status)]["content"][kind]["schema"]
    if kind == "text/event-stream":
        assert len(events(reply.text)) >= 3
        for event in events(reply.text):
            check_event(document, schema, event)
    else:
        check(document, schema, json.loads(reply.text) if kind == "application/json" else reply.text)


def test_is_valid(document):
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_answers_of_every_operation(server, document):
    tried, kept = set(), None
    for method, path, body, expected in REQUESTS:
        operation, name = operation_of(document, method, path)
        tried.add(name)
        url = path.replace("{kept}", str(kept)).translate({ord("{"): None, ord("}"): None})
        reply = server.send(method.upper(), url, body)
        assert reply.status == expected, (path, body, reply.text)
        check_answer(document, operation, reply)
        if path == RESPONSES and expected == 200 and not body.get("stream"):
            kept = json.loads(reply.text)["id"]
    assert tried == {(method, path) for path, item in document["paths"].items() for method in item}


@pytest.fixture(scope="module")
def thinker(tmp_path_factory):
    with Server(scripted_model(tmp_path_factory.mktemp("thinker"), THINKS, ASKS), "--max-ctx", "1024") as server:
        yield server


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("path, body, word", [(CHAT, HELLO, "reasoning_content"), (MESSAGES, HELLO, "thinking"), (RESPONSES, {"input": "hi"}, "reasoning_text")])
def test_answers_with_reasoning(thinker, document, path, body, word, streamed):
    limit = "max_output_tokens" if path == RESPONSES else "max_tokens"
    reply = thinker.send("POST", path, body | {limit: 200, "temperature": 0, "stream": streamed})
    assert reply.status == 200 and f'"{word}"' in reply.text
    check_answer(document, operation_of(document, "post", path)[0], reply)


def test_what_a_request_may_be(document):
    """The requests that get a 200 above fit the schemas of their bodies, and those refused for their form do not."""
    for method, path, body, expected in REQUESTS:
        if method != "post" or path == TEXT and expected == 400:
            continue
        operation = operation_of(document, method, path)[0]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        fits = Draft202012Validator(schema | {"components": document["components"]}).is_valid(body)
        assert fits == (expected != 400), (path, body)


def test_needs_a_key_where_one_is_set(document):
    with Server(TINY, "--api-key", "sk-a") as server:
        for path, item in document["paths"].items():
            for method, operation in item.items():
                url = urllib.parse.quote(path, safe="/")
                reply = server.send(method.upper(), url, {} if method == "post" else None)
                assert (reply.status == 401) == (operation.get("security") != []), path
                if reply.status == 401:
                    check_answer(document, operation, reply)
