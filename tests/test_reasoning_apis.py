"""Reasoning in /v1/messages and /v1/responses, read by the official clients."""

import anthropic
import pytest
from scripted_model import scripted_model
from serving import Server
from test_reasoning import ASKS, CALLS, COLOUR, THINKS

HELLO = [{"role": "user", "content": "hi"}]
TOOL = {"name": "now", "input_schema": {"type": "object", "properties": {}}}
ASKED = {"model": "default", "max_tokens": 200, "messages": HELLO, "extra_body": {"temperature": 0}}
GREEDY = {"model": "default", "temperature": 0, "input": "hi"}


@pytest.fixture(scope="module", params=[THINKS, CALLS], ids=["answers", "calls"])
def server(request, tmp_path_factory):
    with Server(scripted_model(tmp_path_factory.mktemp("model"), request.param, ASKS), "--max-ctx", "1024") as server:
        server.calls = request.param is CALLS
        server.reasoning = "We should look." if server.calls else "Two and two."
        yield server


@pytest.fixture
def messages(server):
    client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0).messages

    def ask(streamed, **fields):
        fields = ASKED | ({"tools": [TOOL]} if server.calls else {}) | fields
        if not streamed:
            return client.create(**fields)
        with client.stream(**fields) as stream:
            seen = [(event.type, event.thinking if event.type == "thinking" else "") for event in stream]
            final = stream.get_final_message()
        assert "".join(text for _, text in seen) == "".join(b.thinking for b in final.content if b.type == "thinking")
        return final

    return ask


def shown(message):
    return [(b.type, getattr(b, b.type, None) or b.name) for b in message.content]


@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_blocks(server, messages, streamed):
    rest = ("tool_use", "now") if server.calls else ("text", "It is four!")
    message = messages(streamed)
    assert shown(message) == [("thinking", server.reasoning), rest]
    assert 0 < message.usage.output_tokens_details.thinking_tokens < message.usage.output_tokens
    cut = messages(streamed, thinking={"type": "enabled", "budget_tokens": 2})
    assert shown(cut) == [("thinking", "We should" if server.calls else "Two and"), rest]
    assert shown(messages(streamed, thinking={"type": "disabled"})) == [rest]
    assert shown(messages(streamed, thinking={"type": "adaptive"})) == shown(message)


def test_thinking_blocks_come_back(server, messages):
    message = messages(False)
    if server.calls:
        answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": message.content[1].id, "content": "9"}]}
    else:
        answer = HELLO[0]
    turns = [*HELLO, {"role": "assistant", "content": message.content}, answer]
    without = [*HELLO, {"role": "assistant", "content": message.content[1:]}, answer]
    prompts = [messages(False, messages=m).usage for m in (turns, without)]
    longer, shorter = (u.input_tokens + u.cache_read_input_tokens for u in prompts)
    assert longer > shorter, "the template shows it"


def test_an_answer_that_is_begun_goes_on(server, messages):
    if not server.calls:
        begun = [*HELLO, {"role": "assistant", "content": "It is"}]
        assert shown(messages(False, messages=begun)) == shown(messages(True, messages=begun)) == [("text", " four!")]


def responses(server, streamed, **fields):
    client = server.client().responses
    tool = {"type": "function", "name": "now", "parameters": TOOL["input_schema"], "strict": False}
    fields = GREEDY | ({"tools": [tool]} if server.calls else {}) | fields
    if not streamed:
        return client.create(**fields)
    with client.stream(**fields) as stream:
        events = list(stream)
        final = stream.get_final_response()
    deltas = "".join(e.delta for e in events if e.type == "response.reasoning_text.delta")
    done = "".join(e.text for e in events if e.type == "response.reasoning_text.done")
    assert deltas == done == "".join(item.content[0].text for item in final.output if item.type == "reasoning")
    assert [e.sequence_number for e in events if hasattr(e, "sequence_number")] == sorted(e.sequence_number for e in events)
    return final


@pytest.mark.parametrize("streamed", [False, True])
def test_reasoning_items(server, streamed):
    response = responses(server, streamed)
    reasoning, answer = response.output
    assert (reasoning.type, reasoning.content[0].text, reasoning.summary, reasoning.status) == ("reasoning", server.reasoning, [], "completed")
    assert answer.name == "now" if server.calls else response.output_text == "It is four!"
    assert 0 < response.usage.output_tokens_details.reasoning_tokens < response.usage.output_tokens
    none = responses(server, streamed, reasoning={"effort": "none", "summary": "auto"})
    assert [item.type for item in none.output] == [answer.type] and none.reasoning.effort == "none"
    if not server.calls:
        form = {"format": {"type": "json_schema", "name": "c", "schema": COLOUR}}
        assert responses(server, streamed, text=form).output_text.startswith("{")


@pytest.mark.parametrize("streamed", [False, True])
def test_reasoning_items_come_back(server, streamed):
    first = responses(server, streamed)
    result = {"type": "function_call_output", "call_id": first.output[1].call_id, "output": "9"} if server.calls else HELLO[0]
    items = [HELLO[0], *(item.to_dict() for item in first.output), result]
    again = responses(server, streamed, input=items)
    without = responses(server, streamed, input=[item for item in items if item.get("type") != "reasoning"])
    kept = responses(server, streamed, input=[result], previous_response_id=first.id)
    assert again.usage.input_tokens == kept.usage.input_tokens > without.usage.input_tokens


def test_input_items(server):
    client = server.client().responses
    one = client.input_items.list(responses(server, False).id)
    assert [(i.type, i.role, i.content[0].type, i.content[0].text) for i in one.data] == [("message", "user", "input_text", "hi")]
    said = [{"role": "user", "content": str(i)} for i in range(5)]
    response = responses(server, False, input=said)
    texts = [item.content[0].text for item in client.input_items.list(response.id, limit=2)]
    assert texts == ["4", "3", "2", "1", "0"], "the client asks for page after page"
    assert [i.content[0].text for i in client.input_items.list(response.id, order="asc").data] == ["0", "1", "2", "3", "4"]
    for query, param in (("limit=0", "limit"), ("limit=x", "limit"), ("order=up", "order"), ("after=x", "after"), ("page=2", "page")):
        status, reply = server.get(f"/v1/responses/{response.id}/input_items?{query}")
        assert status == 400 and reply["error"]["param"] == param
    assert server.get("/v1/responses/resp_0/input_items")[0] == 404
