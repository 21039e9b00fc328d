"""Tools over HTTP: calls fit their schemas in every format, streamed as OpenAI streams them; results and null contents are kept."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import openai
import pytest
from conftest import ROOT, TINY
from serving import Server, stream

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "unit": {"enum": ["C", "F"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
ADD = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"], "additionalProperties": False, "$defs": {"n": {"enum": [1, 2]}}}
PARAMETERS = {"get_weather": WEATHER, "add-1": ADD, "now": {"type": "object", "properties": {}, "additionalProperties": False}}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": WEATHER, "strict": True}},
    {"type": "function", "function": {"name": "add-1", "parameters": ADD}},
    {"type": "function", "function": {"name": "now"}},
]
FORMATS = [None, "hermes", "brackets", "headers", "plain", "mistral-args"]  # templates, and a --tool-parser without one here
HELLO = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module", params=FORMATS, ids=str)
def server(request):
    """A model that says anything, under the template of each family and under one that knows no tools."""
    template = ROOT / "reference" / "text_templates" / f"{request.param}.jinja"
    flags = ["--chat-template", str(template)] if template.exists() else ["--tool-parser", request.param or "auto"]
    with Server(TINY, "--max-ctx", "2048", "--reasoning", "off", *flags) as server:
        yield server
        server.check_alive()


def check_calls(calls, names=tuple(PARAMETERS)):
    assert len({call["id"] for call in calls}) == len(calls)
    for call in calls:
        assert re.fullmatch("call_[0-9a-f]{24}", call["id"]) and call["type"] == "function"
        assert call["function"]["name"] in names
        jsonschema.validate(json.loads(call["function"]["arguments"]), PARAMETERS[call["function"]["name"]])


def gathered(server, body):
    """(message, finish_reason) of each choice of a stream, put together as OpenAI's clients do."""
    choices = {}
    for event in stream(server, "/v1/chat/completions", body):
        for choice in event["choices"]:
            message, finish = choices.get(choice["index"], ({"content": "", "tool_calls": []}, None))
            assert finish is None
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            for part in delta.get("tool_calls", []):
                if "id" in part:
                    assert part["index"] == len(message["tool_calls"]) and part["function"]["arguments"] == ""
                    message["tool_calls"].append({k: part[k] for k in ("id", "type", "function")})
                else:
                    assert set(part) == {"index", "function"} and part["index"] == len(message["tool_calls"]) - 1
                    message["tool_calls"][-1]["function"]["arguments"] += part["function"]["arguments"]
            choices[choice["index"]] = message, choice["finish_reason"]
    return [choices[i] for i in sorted(choices)]


def without_ids(message):
    return message["content"] or "", [call["function"] for call in message.get("tool_calls", [])]


SAMPLED = {"temperature": 1, "max_tokens": 300}


@pytest.mark.parametrize("choice", ["required", "get_weather", "now"])
def test_calls_that_must_come(server, choice):
    named = choice != "required"
    fields = SAMPLED | {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": choice}} if named else choice}

    def ask(seed):
        status, reply = server.chat("hi", n=2, seed=seed, parallel_tool_calls=False, **fields)
        assert status == 200, reply
        for c in reply["choices"]:
            assert c["finish_reason"] == "tool_calls", c
            assert c["message"]["content"] is None and len(c["message"]["tool_calls"]) == 1
            check_calls(c["message"]["tool_calls"], [choice] if named else PARAMETERS)
        streamed = gathered(server, {"messages": HELLO, "n": 2, "seed": seed, "parallel_tool_calls": False} | fields)
        assert [(without_ids(m), f) for m, f in streamed] == [(without_ids(c["message"]), c["finish_reason"]) for c in reply["choices"]]
        return [c["message"]["tool_calls"][0]["function"]["name"] for c in reply["choices"]]

    with ThreadPoolExecutor(4) as pool:
        names = sum(pool.map(ask, range(6)), [])
    assert named or len(set(names)) > 1


def test_several_calls(server):
    for seed in range(4):
        body = SAMPLED | {"messages": HELLO, "seed": seed, "tools": TOOLS[2:], "tool_choice": "required"}
        (message, finish), = gathered(server, body)
        check_calls(message["tool_calls"] if finish == "tool_calls" else message["tool_calls"][:-1])


def test_auto_and_none(server):
    for seed in range(8):
        for choice in ("auto", None):
            status, reply = server.chat("hi", tools=TOOLS, tool_choice=choice, seed=seed, **SAMPLED)
            assert status == 200, reply
            c = reply["choices"][0]
            assert ("tool_calls" in c["message"]) == (c["finish_reason"] == "tool_calls") or c["finish_reason"] == "length"
            if c["finish_reason"] == "tool_calls":
                check_calls(c["message"]["tool_calls"])
        plain = server.chat("hi", seed=seed, **SAMPLED)[1]["choices"][0]["message"]
        assert server.chat("hi", tools=TOOLS, tool_choice="none", seed=seed, **SAMPLED)[1]["choices"][0]["message"] == plain


def test_results_and_null_contents_are_kept(server):
    """Case 31. The prompt grows with each part of a call and its result."""

    def prompt_tokens(messages):
        status, reply = server.request("/v1/chat/completions", {"messages": messages, "tools": TOOLS, "max_tokens": 1})
        assert status == 200, (messages, reply)
        return reply["usage"]["prompt_tokens"]

    def call(name, arguments):
        return {"role": "assistant", "content": None, "tool_calls": [{"id": "call_abc", "type": "function", "function": {"name": name, "arguments": arguments}}]}

    def result(content):
        return {"role": "tool", "tool_call_id": "call_abc", "content": content}

    base = prompt_tokens([*HELLO, call("now", "{}"), result("x")])
    assert prompt_tokens(HELLO) < base
    assert prompt_tokens([*HELLO, call("get_weather", '{"city": "Paris", "unit": "C"}'), result("x")]) > base
    assert prompt_tokens([*HELLO, call("now", "{}"), result("a much longer result")]) > base
    assert prompt_tokens([*HELLO, call("now", "{}"), result([{"type": "text", "text": "a much"}, {"type": "text", "text": " longer result"}])]) > base


def test_the_model_is_told_of_its_tools(server):
    def prompt_tokens(**fields):
        return server.chat("hi", max_tokens=1, **fields)[1]["usage"]["prompt_tokens"]

    none = prompt_tokens()
    assert none < prompt_tokens(tools=TOOLS[2:]) < prompt_tokens(tools=TOOLS)
    assert prompt_tokens(tools=TOOLS, tool_choice="none") == none


def test_a_form_beside_tools(server):
    fields = {"tools": TOOLS, "structured_outputs": {"regex": "yes|no"}, "temperature": 1, "max_tokens": 300}
    for seed in range(6):
        c = server.chat("hi", seed=seed, **fields)[1]["choices"][0]
        if c["finish_reason"] == "tool_calls":
            check_calls(c["message"]["tool_calls"])
        elif c["finish_reason"] == "stop":
            assert c["message"]["content"] in ("yes", "no")


def function(**fields):
    return [{"type": "function", "function": {"name": "f"} | fields}]


REFUSED = [
    ({"tools": [5]}, "tools"), ({"tools": [{}]}, "tools"), ({"tools": {}}, "tools"), ({"tools": [{"type": "web_search"}]}, "tools"),
    ({"tools": [{"type": "function"}]}, "tools"), ({"tools": [{"type": "function", "function": 5}]}, "tools"),
    ({"tools": [{"type": "function", "function": {}}]}, "tools"), ({"tools": function(name="")}, "tools"), ({"tools": function(name="a b")}, "tools"),
    ({"tools": function(name='"}')}, "tools"), ({"tools": function(name="x" * 65)}, "tools"), ({"tools": function(description=5)}, "tools"),
    ({"tools": function(parameters=5)}, "tools"), ({"tools": function(parameters={"type": "string"})}, "tools"),
    ({"tools": function() * 2}, "tools"), ({"tools": function() * 129}, "tools"),
    ({"tools": function(parameters={"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)y$"}}})}, "tools"),
    ({"tools": function(parameters={"type": "object", "not": {}})}, "tools"),
    ({"tools": TOOLS, "tool_choice": "any"}, "tool_choice"), ({"tools": TOOLS, "tool_choice": 5}, "tool_choice"),
    ({"tools": TOOLS, "tool_choice": {"type": "function"}}, "tool_choice"),
    ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "other"}}}, "tool_choice"),
    ({"tool_choice": "required"}, "tool_choice"), ({"tools": [], "tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"), ({"parallel_tool_calls": 1}, "parallel_tool_calls"),
    ({"functions": [{"name": "f"}]}, "functions"), ({"function_call": {"name": "f"}}, "function_call"),
    ({"messages": [{"role": "assistant", "tool_calls": [{"function": 5}]}]}, "messages"),
]  # fmt: skip


def test_what_cannot_be_held_is_refused(server):
    for fields, param in REFUSED:
        status, reply = server.request("/v1/chat/completions", {"messages": HELLO, "max_tokens": 1} | fields)
        assert status == 400 and reply["error"]["param"] == param, (fields, reply)
    names_keyword = {"messages": HELLO, "tools": TOOLS[:1] + function(parameters={"type": "object", "not": {}})}
    message = server.request("/v1/chat/completions", names_keyword)[1]["error"]["message"]
    assert "tools[1].function.parameters" in message and "'not'" in message


def test_the_official_client_with_a_real_model(smollm2_server):
    client = smollm2_server.client().chat.completions
    tools = TOOLS[:1]
    ask = [{"role": "user", "content": "What is the weather in Paris in degrees Celsius? Use the function."}]
    reply = client.create(model="default", messages=ask, tools=tools, tool_choice="required", parallel_tool_calls=False, temperature=0, max_tokens=200)
    choice = reply.choices[0]
    assert choice.finish_reason == "tool_calls" and choice.message.content is None
    call, = choice.message.tool_calls
    jsonschema.validate(json.loads(call.function.arguments), WEATHER)
    with client.stream(model="default", messages=ask, tools=tools, tool_choice="required", parallel_tool_calls=False, temperature=0, max_tokens=200) as events:
        assert events.get_final_completion().choices[0].message.tool_calls[0].function.arguments == call.function.arguments
    history = [*ask, choice.message, {"role": "tool", "tool_call_id": call.id, "content": "18 degrees, sunny"}]
    answer = client.create(model="default", messages=history, tools=tools, temperature=0, max_tokens=60)
    assert answer.choices[0].message.content or answer.choices[0].message.tool_calls
    with pytest.raises(openai.BadRequestError):
        client.create(model="default", messages=ask, tools=tools, tool_choice={"type": "function", "function": {"name": "x"}})
