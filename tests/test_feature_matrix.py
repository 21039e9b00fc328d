"""Every feature beside every other in one batch, and with every other in one request: each answer is, byte for byte, what it is alone."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from checkpoints import edit_json, variation
from serving import Server, events, wait_for

COMPLETIONS, CHAT, EMBEDDINGS = "/v1/completions", "/v1/chat/completions", "/v1/embeddings"
CONTEXT = 2048
LONG = 1900  # tokens: outlasts a crowd of short requests
TRIES = 10  # to have the crowd served while the long one runs
PROMPT = "Once upon a time"
LONG_PROMPT = "the cat and the hat " * 40  # many chunks of prefill

SHORT = {"prompt": PROMPT, "temperature": 1, "seed": 3, "max_tokens": 16, "logprobs": 2}
SHORT_CHAT = {"messages": [{"role": "user", "content": PROMPT}], "temperature": 1, "seed": 3, "max_tokens": 120, "logprobs": True, "top_logprobs": 2}
ENDLESS = {"max_tokens": LONG, "ignore_eos": True}


def string_schema(n):
    return {"type": "string", "minLength": n, "maxLength": n, "pattern": "^[a-z]*$"}


def tools(n):
    parameters = {"type": "object", "properties": {"a": string_schema(n)}, "required": ["a"], "additionalProperties": False}
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}], "tool_choice": "required", "parallel_tool_calls": False}


# name -> (its fields, those that make it go on for long where they are not ENDLESS)
ON_COMPLETIONS = {
    "greedy": ({"temperature": 0}, {}),
    "seed": ({"seed": 99}, {}),
    "top_k": ({"top_k": 5}, {}),
    "top_p": ({"top_p": 0.7}, {}),
    "min_p": ({"min_p": 0.2}, {}),
    "typical_p": ({"typical_p": 0.5}, {}),
    "xtc": ({"xtc_probability": 0.7, "xtc_threshold": 0.02}, {}),
    "dry": ({"dry_multiplier": 2, "dry_allowed_length": 1}, {}),
    "penalties": ({"repetition_penalty": 1.3, "frequency_penalty": 0.7, "presence_penalty": 0.4, "repeat_last_n": 50}, {}),
    "logit_bias": ({"logit_bias": {"90": 4, "100": -100}}, {}),
    "logprobs": ({"logprobs": 20}, {}),
    "prompt_logprobs": ({"prompt_logprobs": 2}, {}),
    "echo": ({"echo": True}, {}),
    "n": ({"n": 3}, {}),
    "best_of": ({"best_of": 4}, {}),
    "stop": ({"stop": ["e", "zz"]}, {"stop": ["never comes"]}),
    "stop_token_ids": ({"stop_token_ids": list(range(60, 90))}, {"stop_token_ids": []}),
    "min_tokens": ({"min_tokens": 16}, {"min_tokens": LONG}),
    "ignore_eos": ({"ignore_eos": True}, {}),
    "guided_json": ({"guided_json": string_schema(5)}, {"guided_json": string_schema(LONG)}),
    "guided_regex": ({"guided_regex": "[a-c]{3,6}"}, {"guided_regex": f"[a-c]{{{LONG}}}"}),
    "guided_choice": ({"guided_choice": ["red", "green"]}, {"guided_choice": ["r" * LONG, "g" * LONG]}),
    "guided_grammar": ({"guided_grammar": 'start: "x"{3,9} "y"'}, {"guided_grammar": f'start: "x"{{{LONG}}} "y"'}),
    "suffix": ({"suffix": " happily ever after."}, {}),
    "stream": ({"stream": True}, {}),
    "priority": ({"priority": -3}, {}),
    "long prompt": ({"prompt": LONG_PROMPT}, {"max_tokens": 1400}),
    "ids": ({"prompt": list(range(30, 130))}, {}),
    "prompts": ({"prompt": [LONG_PROMPT, PROMPT, LONG_PROMPT]}, {"max_tokens": 1400}),
}  # fmt: skip
ON_CHAT = {
    "tools": (tools(5), tools(LONG)),
    "json_object": ({"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": string_schema(LONG)}}}),
}  # fmt: skip
OF_BOTH = [name for name in ON_COMPLETIONS if name not in ("logprobs", "echo", "best_of", "suffix", "ids", "prompts", "long prompt")]
EMBED = {"input": [PROMPT, LONG_PROMPT], "encoding_format": "base64"}
EMBED_LONG = {"input": [LONG_PROMPT] * 60, "encoding_format": "base64"}

FORMS = ["guided_json", "guided_regex", "guided_choice", "guided_grammar"]
# What cannot go together in one request -> the field that the refusal names.
REFUSED = {
    ("best_of", "stream"): "best_of",
    ("prompt_logprobs", "stream"): "prompt_logprobs",
    ("echo", "suffix"): "suffix",
    ("suffix", "ids"): "prompt",
}
REFUSED |= {pair: pair[1] for pair in [*itertools.combinations(FORMS, 2), *(("json_object", form) for form in FORMS)]}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The tiny model, three tokens of whose vocabulary have become those that fill-in-the-middle needs."""
    folder = variation(tmp_path_factory.mktemp("model") / "fim")
    file = folder / "tokenizer.json"
    spec = json.loads(file.read_text())
    vocab, added = spec["model"]["vocab"], spec["added_tokens"]
    for old, new in zip(list(vocab)[-3:], ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")):
        vocab[new] = vocab.pop(old)
        added.append(added[0] | {"id": vocab[new], "content": new})
    edit_json(file, {"model": spec["model"] | {"merges": spec["model"]["merges"][:-3]}, "added_tokens": added})
    with Server(folder, "--max-ctx", str(CONTEXT), "--prefill-chunk", "32") as server:
        yield server
        server.check_alive()


# --- requests and answers ----------------------------------------------------------------------------------------------------


def merged(logprobs, more):
    """The logprobs of a choice with those of a further event."""
    if logprobs is None or more is None:
        return logprobs or more
    return {key: [*logprobs[key], *more[key]] if isinstance(more[key], list) else more[key] for key in more}


def gathered(chunks):
    """The choices of a stream as they are without it."""
    choices = {}
    for choice in itertools.chain.from_iterable(chunk["choices"] for chunk in chunks):
        index, delta = choice["index"], choice.get("delta") or {"content": choice.get("text")}
        text, calls, logprobs, _ = choices.get(index, ("", [], None, None))
        for part in delta.get("tool_calls", []):
            if "id" in part:
                calls.append(part["function"])
            else:
                calls[-1]["arguments"] += part["function"]["arguments"]
        choices[index] = (text + (delta.get("content") or ""), calls, merged(logprobs, choice["logprobs"]), choice["finish_reason"])
    return [choices[index] for index in sorted(choices)]


def read(choice):
    message = choice.get("message") or {"content": choice.get("text")}
    calls = [call["function"] for call in message.get("tool_calls") or []]
    return (message["content"] or "", calls, choice["logprobs"], choice["finish_reason"])


def answer(server, request):
    """(the choices, what else the reply says), or (400, the field at fault)."""
    path, body = request
    status, reply = server.request(path, body)
    if status == 400:
        return 400, reply["error"]["param"]
    assert status == 200, (body, reply)
    if path == EMBEDDINGS:
        return [entry["embedding"] for entry in reply["data"]], None
    if body.get("stream"):
        return gathered(events(reply.encode())), None
    prompt_logprobs = [choice.get("prompt_logprobs") for choice in reply["choices"]] + [reply.get("prompt_logprobs")]
    usage = reply["usage"]
    return [read(choice) for choice in reply["choices"]], (prompt_logprobs, usage["prompt_tokens"], usage["completion_tokens"])


def short(name):
    if name == "embeddings":
        return EMBEDDINGS, EMBED
    if name in ON_CHAT:
        return CHAT, SHORT_CHAT | ON_CHAT[name][0]
    return COMPLETIONS, SHORT | ON_COMPLETIONS[name][0]


def long(name):
    if name == "embeddings":
        return EMBEDDINGS, EMBED_LONG
    path, body = short(name)
    more = (ON_CHAT if name in ON_CHAT else ON_COMPLETIONS)[name][1]
    return path, body | ENDLESS | more


NAMES = [*ON_COMPLETIONS, *ON_CHAT, "embeddings"]
SHORTS = [short(name) for name in NAMES]


def alone(server, request):
    result = answer(server, request)
    server.wait_idle()
    return result


def beside(server, request, crowd):
    """(the answer to `request`, those to the crowd): all of the crowd was served, together, while `request` ran."""
    with ThreadPoolExecutor(len(crowd) + 1) as pool:
        for _ in range(TRIES):
            first = pool.submit(answer, server, request)
            wait_for(lambda: first.done() or running(server), "the long request to run")
            answers = list(pool.map(lambda each: answer(server, each), crowd))
            overlapped = running(server) > 0  # the crowd has its answers, so it is the long request that runs
            result = first.result()
            server.wait_idle()
            if overlapped:
                return result, answers
    raise AssertionError(f"{request} never outlasted the crowd")


def running(server):
    return server.get("/health")[1]["running"]


# --- tests -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shorts_alone(server):
    return [alone(server, request) for request in SHORTS]


@pytest.mark.parametrize("name", NAMES)
def test_in_one_batch(server, shorts_alone, name):
    """A long request with the feature, and while it runs one with each feature."""
    request = long(name)
    expected = alone(server, request)
    result, answers = beside(server, request, SHORTS)
    assert expected[0] != 400 and result == expected
    for other, got, want in zip(NAMES, answers, shorts_alone, strict=True):
        assert got == want and want[0] != 400, other


# These say how the answer is told or who comes first, not what it says.
NEUTRAL = {"ignore_eos", "priority", "stream", "logprobs", "prompt_logprobs", "echo", "n"}


def test_features_do_something(shorts_alone):
    texts = {name: result[0][0][0] for name, result in zip(NAMES, shorts_alone) if name in ON_COMPLETIONS}
    assert texts["echo"] == PROMPT + texts["priority"]
    texts["echo"] = texts["priority"]
    changed = {name for name, text in texts.items() if text != texts["priority"]}
    assert changed | {"best_of"} == set(ON_COMPLETIONS) - NEUTRAL  # the best of several may be the first


def compatible(a, b):
    """Whether one request can have both: not two values for one field."""
    return all(a[key] == b[key] for key in a.keys() & b.keys())


def pairs():
    """(names, request) of every two features that an endpoint has."""
    for a, b in itertools.combinations(ON_COMPLETIONS, 2):
        fields = ON_COMPLETIONS[a][0], ON_COMPLETIONS[b][0]
        if compatible(*fields):
            yield (a, b), (COMPLETIONS, SHORT | fields[0] | fields[1])
    for a, b in itertools.product(ON_CHAT, OF_BOTH):
        yield (a, b), (CHAT, SHORT_CHAT | ON_CHAT[a][0] | ON_COMPLETIONS[b][0])


PAIRS = list(pairs())
CROWD = 16


def test_in_one_request(server):
    """Two features in a request: refused where they contradict each other, else the same alone and in company."""
    expected = [alone(server, request) for _, request in PAIRS]
    refused = {names: want[1] for (names, _), want in zip(PAIRS, expected) if want[0] == 400}
    assert refused == REFUSED
    got = []
    for i in range(0, len(PAIRS), CROWD):
        got += beside(server, long("greedy"), [request for _, request in PAIRS[i : i + CROWD]])[1]
    for (names, _), want, result in zip(PAIRS, expected, got, strict=True):
        assert result == want, names


@pytest.mark.parametrize("names, request_", [(n, r) for n, r in PAIRS if n[1] == "stream" and n not in REFUSED], ids=lambda v: v[0])
def test_streams_join_to_the_whole_answer(server, names, request_):
    path, body = request_
    assert alone(server, request_)[0] == alone(server, (path, body | {"stream": False}))[0]
