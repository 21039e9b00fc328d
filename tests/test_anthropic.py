"""/v1/messages through the official anthropic client and raw requests, beside what /v1/chat/completions answers."""

import json
import urllib.request

import anthropic
import jsonschema
import pytest
from serving import Server

HELLO = [{"role": "user", "content": "What is the capital of France?"}]
PARIS = "The capital of France is Paris."
GREEDY = {"model": "default", "max_tokens": 96, "temperature": 0}
ASKED = {"model": "default", "max_tokens": 96, "extra_body": {"temperature": 0}}  # the client has no such argument any more

COLOUR = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"], "additionalProperties": False}


def client_of(server, key="none"):
    return anthropic.Anthropic(base_url=server.url, api_key=key, max_retries=0, timeout=120)


@pytest.fixture
def client(smollm2_server):
    return client_of(smollm2_server)


def test_a_message(client):
    message = client.messages.create(messages=HELLO, **ASKED)
    assert message.type == "message" and message.role == "assistant" and message.id.startswith("msg_")
    assert [(block.type, block.text) for block in message.content] == [("text", PARIS)]
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)
    assert (message.usage.input_tokens + message.usage.cache_read_input_tokens, message.usage.output_tokens) == (37, 7)
    assert message.model == "SmolLM2-135M-Instruct.Q4_1"


RAW = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"]


def test_events(client):
    """The exact order of Anthropic's events; the client's own accumulation is the whole answer."""
    with client.messages.stream(messages=HELLO, **ASKED) as stream:
        types = [event.type for event in stream if event.type in RAW]
        final = stream.get_final_message()
    deltas = types.count("content_block_delta")
    assert deltas > 3
    assert types == [*RAW[:2], *["content_block_delta"] * deltas, "content_block_stop", "message_delta", "message_stop"]
    assert final.content[0].text == PARIS and final.stop_reason == "end_turn" and final.usage.output_tokens == 7


def test_frames(smollm2_server):
    """On the wire: each event named by its type; ping where Anthropic sends it."""
    body = json.dumps({"messages": HELLO, "stream": True} | GREEDY).encode()
    request = urllib.request.Request(f"{smollm2_server.url}/v1/messages", body, {"anthropic-version": "2023-06-01", "anthropic-beta": "x"})
    with urllib.request.urlopen(request) as reply:
        frames = reply.read().decode().removesuffix("\n\n").split("\n\n")
    events = []
    for frame in frames:
        name, data = frame.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    start = events[0]["message"]
    assert events[2] == {"type": "ping"}
    assert (start["content"], start["stop_reason"], start["usage"]["input_tokens"], start["usage"]["output_tokens"]) == ([], None, 37, 0)
    assert events[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None} and events[-2]["usage"]["output_tokens"] == 7


@pytest.mark.parametrize("streamed", [False, True])
def test_endings(client, streamed):
    def ask(**fields):
        if not streamed:
            return client.messages.create(messages=HELLO, **(ASKED | fields))
        with client.messages.stream(messages=HELLO, **(ASKED | fields)) as stream:
            return stream.get_final_message()

    stopped = ask(stop_sequences=["xyz", " is Paris", "Paris"])
    assert (stopped.content[0].text, stopped.stop_reason, stopped.stop_sequence) == ("The capital of France", "stop_sequence", " is Paris")
    cut = ask(max_tokens=3)
    assert (cut.content[0].text, cut.stop_reason, cut.usage.output_tokens) == ("The capital of", "max_tokens", 3)
    silent = ask(stop_sequences=["The"])
    assert (silent.content, silent.stop_reason) == ([], "stop_sequence")


BLOCKS = [
    {"role": "user", "content": [{"type": "text", "text": "My name is "}, {"type": "text", "text": "Ada.", "cache_control": {"type": "ephemeral"}}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Hello, Ada."}]},
    {"role": "user", "content": "What is my name?"},
]
SYSTEM = [{"type": "text", "text": "You are terse."}, {"type": "text", "text": " Very terse."}]


def test_conversations_are_those_of_chat_completions(smollm2_server, client):
    """The same prompt and so the same answer, as text or as blocks; count_tokens knows its length."""
    plain = [{"role": "user", "content": "My name is Ada."}, BLOCKS[1] | {"content": "Hello, Ada."}, BLOCKS[2]]
    system = "You are terse. Very terse."
    _, chat = smollm2_server.request("/v1/chat/completions", {"messages": [{"role": "system", "content": system}, *plain]} | GREEDY)
    for messages, words in ((plain, system), (BLOCKS, SYSTEM)):
        message = client.messages.create(messages=messages, system=words, **ASKED)
        assert message.content[0].text == chat["choices"][0]["message"]["content"]
        counted = client.messages.count_tokens(messages=messages, system=words, model="default")
        assert counted.input_tokens == chat["usage"]["prompt_tokens"] == message.usage.input_tokens + message.usage.cache_read_input_tokens


PAINT = {"name": "paint", "description": "Paints.", "input_schema": COLOUR}


@pytest.mark.parametrize("streamed", [False, True])
def test_tools(smollm2_server, client, streamed):
    def ask(**fields):
        if not streamed:
            return client.messages.create(**(ASKED | fields))
        with client.messages.stream(**(ASKED | fields)) as stream:
            return stream.get_final_message()

    message = ask(messages=HELLO, tools=[PAINT], tool_choice={"type": "any", "disable_parallel_tool_use": True})
    [call] = message.content
    assert (call.type, call.name, message.stop_reason) == ("tool_use", "paint", "tool_use") and call.id.startswith("toolu_")
    jsonschema.validate(call.input, COLOUR)
    assert ask(messages=HELLO, tools=[PAINT], tool_choice={"type": "tool", "name": "paint"}).content[0].name == "paint"
    plain = ask(messages=HELLO, tools=[PAINT], tool_choice={"type": "none"})
    assert plain.content[0].type == "text"
    turns = [*HELLO, {"role": "assistant", "content": [call.to_dict()]}]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "Done."}]}
    after = ask(messages=[*turns, {"role": "user", "content": [result]}])
    function = {"name": "paint", "arguments": json.dumps(call.input)}
    messages = [
        *HELLO,
        {"role": "assistant", "content": None, "tool_calls": [{"id": call.id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call.id, "content": "Done."},
    ]
    _, chat = smollm2_server.request("/v1/chat/completions", {"messages": messages} | GREEDY)
    assert after.content[0].text == chat["choices"][0]["message"]["content"]


def test_a_schema(client):
    config = {"format": {"type": "json_schema", "schema": COLOUR}}
    message = client.messages.create(messages=HELLO, output_config=config, **ASKED)
    jsonschema.validate(json.loads(message.content[0].text), COLOUR)


def test_an_answer_that_is_begun(smollm2_server, client):
    messages = [*HELLO, {"role": "assistant", "content": "The capital of"}]
    _, chat = smollm2_server.request("/v1/chat/completions", {"messages": messages, "continue_final_message": True} | GREEDY)
    assert client.messages.create(messages=messages, **ASKED).content[0].text == chat["choices"][0]["message"]["content"] == " France is Paris."


def test_errors(client, smollm2_server):
    with pytest.raises(anthropic.BadRequestError) as e:
        client.messages.create(messages=HELLO, **(ASKED | {"extra_body": {"temperature": -1}}))
    assert e.value.body["type"] == "error" and e.value.body["error"]["type"] == "invalid_request_error"
    assert "temperature" in e.value.body["error"]["message"]
    with pytest.raises(anthropic.NotFoundError) as e:
        client.messages.create(messages=HELLO, **(ASKED | {"model": "claude-nope"}))
    assert e.value.body["error"]["type"] == "not_found_error"
    with pytest.raises(anthropic.BadRequestError, match="does not fit|context"):
        client.messages.create(messages=[{"role": "user", "content": "q " * 5000}], **ASKED)
    status, body = smollm2_server.request("/v1/messages/nothing", {})
    assert status == 404 and body["error"]["type"] == "not_found_error" and body["type"] == "error"


def test_a_key(smollm2_path):
    """The client sends it as x-api-key."""
    with Server(smollm2_path, "--max-ctx", "512", "--api-key", "secret") as server:
        assert client_of(server, "secret").messages.create(messages=HELLO, **ASKED).content[0].text == PARIS
        with pytest.raises(anthropic.AuthenticationError) as e:
            client_of(server, "wrong").messages.create(messages=HELLO, **ASKED)
        assert e.value.body["error"]["type"] == "authentication_error"


def test_a_client_that_leaves(tiny_server):
    with client_of(tiny_server).messages.stream(messages=HELLO, model="default", max_tokens=400, extra_body={"ignore_eos": True}) as stream:
        next(iter(stream))
    tiny_server.wait_idle()
