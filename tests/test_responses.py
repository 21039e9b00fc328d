"""/v1/responses through the official openai client, beside what /v1/chat/completions answers."""

import json

import jsonschema
import openai
import pytest

HELLO = "What is the capital of France?"
PARIS = "The capital of France is Paris."
GREEDY = {"model": "default", "temperature": 0, "max_output_tokens": 96}
COLOUR = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"], "additionalProperties": False}
PAINT = {"type": "function", "name": "paint", "description": "Paints.", "parameters": COLOUR, "strict": True}


@pytest.fixture
def client(smollm2_server):
    return smollm2_server.client()


def ask(client, streamed, **fields):
    """The final response; streamed, it is the last event's, and the client's own accumulation agrees."""
    if not streamed:
        return client.responses.create(**(GREEDY | fields))
    with client.responses.create(**(GREEDY | fields), stream=True) as stream:
        events = list(stream)
    assert [e.sequence_number for e in events] == list(range(len(events)))
    text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    assert text == events[-1].response.output_text
    return events[-1].response


def facts(response):
    """What does not differ from one time to the next."""
    usage = response.usage
    return (
        [(item.type, item.status, getattr(item, "content", None) and item.content[0].text) for item in response.output],
        response.status,
        response.incomplete_details and response.incomplete_details.reason,
        (usage.input_tokens, usage.output_tokens, usage.total_tokens),
    )


@pytest.mark.parametrize("streamed", [False, True])
def test_a_response(client, streamed):
    response = ask(client, streamed, input=HELLO, metadata={"a": "b"})
    assert facts(response) == ([("message", "completed", PARIS)], "completed", None, (37, 7, 44))
    assert response.output_text == PARIS and response.object == "response" and response.id.startswith("resp_")
    assert response.metadata == {"a": "b"} and response.temperature == 0 and response.error is None
    cut = ask(client, streamed, input=HELLO, max_output_tokens=3)
    assert facts(cut) == ([("message", "incomplete", "The capital of")], "incomplete", "max_output_tokens", (37, 3, 40))


def test_events(client):
    with client.responses.create(input=HELLO, stream=True, **GREEDY) as stream:
        events = list(stream)
    deltas = [e for e in events if e.type == "response.output_text.delta"]
    assert [e.type for e in events] == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
        *["response.output_text.delta"] * len(deltas),
        "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
    ]  # fmt: skip
    assert len(deltas) > 3 and events[-4].text == PARIS and events[-3].part.text == PARIS
    assert len({events[2].item.id, events[3].item_id, events[-4].item_id, events[-2].item.id}) == 1
    assert events[0].response.status == "in_progress" and events[0].response.id == events[-1].response.id


def test_the_clients_own_stream_helper(client):
    with client.responses.stream(input=HELLO, model="default", temperature=0) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == PARIS


CONVERSATION = [
    {"role": "user", "content": [{"type": "input_text", "text": "My name is "}, {"type": "input_text", "text": "Ada."}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello, Ada."}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"role": "user", "content": "What is my name?"},
]


def test_items_and_instructions_are_those_of_chat_completions(smollm2_server, client):
    messages = [
        {"role": "system", "content": "You are terse."}, {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": "Hello, Ada."}, CONVERSATION[3],
    ]  # fmt: skip
    _, chat = smollm2_server.request("/v1/chat/completions", {"messages": messages, "temperature": 0, "max_tokens": 96})
    response = ask(client, False, input=CONVERSATION, instructions="You are terse.")
    assert response.output_text == chat["choices"][0]["message"]["content"]
    assert response.usage.input_tokens == chat["usage"]["prompt_tokens"]


@pytest.mark.parametrize("streamed", [False, True])
def test_previous_response(smollm2_server, client, streamed):
    """The conversation goes on as if it had been sent whole; instructions are not carried over."""
    first = ask(client, streamed, input=HELLO, instructions="You are terse.")
    second = ask(client, streamed, input="And of Italy?", previous_response_id=first.id)
    messages = [{"role": "user", "content": HELLO}, {"role": "assistant", "content": first.output_text}, {"role": "user", "content": "And of Italy?"}]
    _, chat = smollm2_server.request("/v1/chat/completions", {"messages": messages, "temperature": 0, "max_tokens": 96})
    assert second.output_text == chat["choices"][0]["message"]["content"]
    assert second.previous_response_id == first.id and second.usage.input_tokens == chat["usage"]["prompt_tokens"]


def test_get_and_delete(client):
    kept = ask(client, False, input=HELLO)
    assert client.responses.retrieve(kept.id).to_dict() == kept.to_dict()
    streamed = ask(client, True, input=HELLO)
    assert client.responses.retrieve(streamed.id).to_dict() == streamed.to_dict()
    client.responses.delete(kept.id)
    for use in (client.responses.retrieve, client.responses.delete):
        with pytest.raises(openai.NotFoundError):
            use(kept.id)
    passing = ask(client, False, input=HELLO, store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(passing.id)
    for gone in (kept, passing):
        with pytest.raises(openai.BadRequestError) as e:
            ask(client, False, input="x", previous_response_id=gone.id)
        assert e.value.param == "previous_response_id"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_schema(client, streamed):
    form = {"format": {"type": "json_schema", "name": "colour", "schema": COLOUR, "strict": True}}
    jsonschema.validate(json.loads(ask(client, streamed, input="Name a colour.", text=form).output_text), COLOUR)


@pytest.mark.parametrize("streamed", [False, True])
def test_tools(smollm2_server, client, streamed):
    response = ask(client, streamed, input="Paint it red.", tools=[PAINT], tool_choice="required", parallel_tool_calls=False)
    [call] = response.output
    assert (call.type, call.name, call.status) == ("function_call", "paint", "completed") and call.call_id.startswith("call_")
    jsonschema.validate(json.loads(call.arguments), COLOUR)
    named = ask(client, streamed, input="hi", tools=[PAINT], tool_choice={"type": "function", "name": "paint"})
    assert named.output[0].name == "paint"
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "Done."}
    after = ask(client, streamed, input=[result], previous_response_id=response.id)
    assert after.output_text
    function = {"name": "paint", "arguments": call.arguments}
    messages = [
        {"role": "user", "content": "Paint it red."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": call.call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call.call_id, "content": "Done."},
    ]
    _, chat = smollm2_server.request("/v1/chat/completions", {"messages": messages, "temperature": 0, "max_tokens": 96})
    assert after.output_text == chat["choices"][0]["message"]["content"]


def test_call_events(client):
    with client.responses.create(input="hi", tools=[PAINT], tool_choice="required", stream=True, **GREEDY) as stream:
        events = list(stream)
    types = [e.type for e in events if e.type != "response.function_call_arguments.delta"]
    assert types[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    arguments = "".join(e.delta for e in events if e.type == "response.function_call_arguments.delta")
    done = [e for e in events if e.type == "response.function_call_arguments.done"]
    assert done and arguments == "".join(e.arguments for e in done)


@pytest.mark.parametrize(
    "fields, param",
    [
        ({"input": []}, "input"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "input"),
        ({"previous_response_id": "resp_nope"}, "previous_response_id"),
        ({"text": {"format": {"type": "xml"}}}, "text"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"truncation": "auto"}, "truncation"),
        ({"background": True}, "background"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"temperature": -1}, "temperature"),
    ],
)
def test_refused(client, fields, param):
    with pytest.raises(openai.BadRequestError) as e:
        ask(client, False, **({"input": HELLO} | fields))
    assert e.value.param == param
