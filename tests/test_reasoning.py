"""Reasoning over HTTP: told apart from the answer, streamed and counted; ended by its budget; before answers of a form and calls."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import TINY
from scripted_model import scripted_model
from serving import Server, stream

HELLO = [{"role": "user", "content": "hi"}]
GREEDY = {"messages": HELLO, "temperature": 0}
TURNS = "{% for m in messages %}{{ m.role }}: {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}\n{% endfor %}"
ASKS = TURNS + "assistant:{{ '\\n' }}"
CALL = '\n{"name": "now", "arguments": {}}\n</tool_call>'
THINKS = ["<think>", "Two", " and", " two.", "</think>", "\n\n", "It", " is", " four!"]
CALLS = ["<think>", "We", " should", " look.", "</think>", "\n\n", "<tool_call>", CALL]
NOW = [{"type": "function", "function": {"name": "now"}}]
COLOUR = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"], "additionalProperties": False}


@pytest.fixture(scope="module", params=["by itself", "in the prompt"])
def server(request, tmp_path_factory):
    """A model that reasons, either of its own accord or because its prompt has begun to."""
    words, opened = (THINKS, "") if request.param == "by itself" else (THINKS[1:], "<think>")
    folder = scripted_model(tmp_path_factory.mktemp("thinks"), words, TURNS + "assistant:" + opened + "{{ '\\n' }}")
    with Server(folder, "--max-ctx", "1024") as server:
        server.opened = bool(opened)
        yield server


@pytest.fixture(scope="module")
def caller(tmp_path_factory):
    """One that calls a tool when it has reasoned."""
    with Server(scripted_model(tmp_path_factory.mktemp("calls"), CALLS, ASKS), "--max-ctx", "1024") as server:
        yield server


def whole(server, **fields):
    status, reply = server.request("/v1/chat/completions", GREEDY | fields)
    assert status == 200, reply
    return reply


def gathered(server, **fields):
    """(message, finish_reason) of each choice of a stream."""
    choices = {}
    for event in stream(server, "/v1/chat/completions", GREEDY | fields):
        for choice in event["choices"]:
            message = choices.setdefault(choice["index"], {"reasoning_content": "", "content": "", "calls": "", "finish": None})
            delta = choice["delta"]
            assert not (delta.get("reasoning_content") and (message["content"] or message["calls"])), "reasoning comes first"
            message["reasoning_content"] += delta.get("reasoning_content", "")
            message["content"] += delta.get("content") or ""
            message["calls"] += "".join(c["function"].get("name", "") + c["function"]["arguments"] for c in delta.get("tool_calls", []))
            message["finish"] = choice["finish_reason"] or message["finish"]
    return [choices[i] for i in sorted(choices)]


def parts(choice):
    """A whole answer's choice in the shape of `gathered`."""
    message = choice["message"]
    calls = "".join(c["function"]["name"] + c["function"]["arguments"] for c in message.get("tool_calls", []))
    return {"reasoning_content": message.get("reasoning_content", ""), "content": message["content"] or "", "calls": calls, "finish": choice["finish_reason"]}


def ask(server, **fields):
    """The one choice, which the stream must give too, and the usage."""
    reply = whole(server, **fields)
    expected = [parts(choice) for choice in reply["choices"]]
    assert gathered(server, **fields) == expected
    return expected[0], reply["usage"]


def check_call(message):
    assert message["calls"].startswith("now") and json.loads(message["calls"].removeprefix("now")) == {}
    return True


def reasoned(usage):
    return usage["completion_tokens_details"]["reasoning_tokens"]


def test_it_is_told_apart(server):
    message, usage = ask(server)
    assert message == {"reasoning_content": "Two and two.", "content": "It is four!", "calls": "", "finish": "stop"}
    n_before = len(THINKS[: THINKS.index("</think>") + 1]) - server.opened
    assert reasoned(usage) == n_before and usage["completion_tokens"] == len(THINKS) - server.opened


def test_with_the_official_client(server):
    client = server.client().chat.completions
    message = client.create(model="default", **GREEDY).choices[0].message
    assert (message.reasoning_content, message.content) == ("Two and two.", "It is four!")
    with client.stream(model="default", **GREEDY) as events:
        final = events.get_final_completion()
    assert final.choices[0].message.content == "It is four!"
    chunks = list(client.create(model="default", stream=True, **GREEDY))
    assert "".join(getattr(c.choices[0].delta, "reasoning_content", "") for c in chunks) == "Two and two."


def test_reasoning_that_max_tokens_cuts(server):
    message, usage = ask(server, max_tokens=3)
    assert message["content"] == "" and message["finish"] == "length"
    assert message["reasoning_content"] == ("Two and two." if server.opened else "Two and")
    assert reasoned(usage) == usage["completion_tokens"] == 3
    assert whole(server, max_tokens=3)["choices"][0]["message"]["content"] is None


def test_stop_strings_are_those_of_the_answer(server):
    message, _ = ask(server, stop=["two", " four"])
    assert (message["reasoning_content"], message["content"], message["finish"]) == ("Two and two.", "It is", "stop")


def test_logprobs_name_every_token(server):
    reply = whole(server, logprobs=True)
    tokens = [t["token"] for t in reply["choices"][0]["logprobs"]["content"]]
    assert tokens == THINKS[server.opened :]


def test_several_choices(server):
    reply = whole(server, n=3)
    assert len({json.dumps(c["message"]) for c in reply["choices"]}) == 1
    assert reasoned(reply["usage"]) == 3 * reasoned(whole(server)["usage"])
    assert [parts(c) for c in reply["choices"]] == gathered(server, n=3)


@pytest.mark.parametrize("budget", [0, 1, 2])
def test_the_budget_ends_it(server, budget):
    message, usage = ask(server, reasoning_budget=budget)
    assert message["reasoning_content"] == "".join(THINKS[1 : 1 + budget])
    assert message["content"] == "It is four!"
    assert reasoned(usage) == (not server.opened) + budget + len(["\n", "</think>"])


def test_a_budget_that_is_not_reached(server):
    assert ask(server, reasoning_budget=100) == ask(server)


@pytest.mark.parametrize(("effort", "reasoning"), [("none", ""), ("minimal", "Two and two."), ("high", "Two and two.")])
def test_effort_is_a_budget(server, effort, reasoning):
    assert ask(server, reasoning_effort=effort)[0]["reasoning_content"] == reasoning


FORMS = [
    {"response_format": {"type": "json_schema", "json_schema": {"name": "c", "schema": COLOUR}}},
    {"structured_outputs": {"regex": "yes|no"}},
    {"structured_outputs": {"regex": "\n\nyes"}},
    {"structured_outputs": {"choice": ["<b>", "<think>"]}},
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("budget", [None, 2])
def test_a_form_begins_behind_it(server, form, budget):
    message, _ = ask(server, reasoning_budget=budget, **form)
    assert message["reasoning_content"] == ("Two and two." if budget is None else "Two and") and message["finish"] == "stop"
    if "response_format" in form:
        assert json.loads(message["content"])["colour"] in ("red", "blue") and message["content"][0] == "{"
    else:
        rules = form["structured_outputs"]
        assert message["content"] in (rules.get("choice") or [*rules["regex"].split("|")])


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "now"}}])
@pytest.mark.parametrize("budget", [None, 2])
def test_calls_come_behind_it(caller, choice, budget):
    message, usage = ask(caller, tools=NOW, tool_choice=choice, parallel_tool_calls=False, reasoning_budget=budget)
    assert message["reasoning_content"] == ("We should look." if budget is None else "We should")
    assert (message["content"], message["finish"]) == ("", "tool_calls")
    check_call(message)
    assert 0 < reasoned(usage) < usage["completion_tokens"]


def test_a_form_beside_tools(caller, server):
    for some in (caller, server):
        message, _ = ask(some, tools=NOW, structured_outputs={"regex": "yes|no"})
        assert message["reasoning_content"].endswith(".")
        assert message["content"] in ("yes", "no") or check_call(message)


def test_a_model_that_must_call_but_only_talks(server):
    message, _ = ask(server, tools=NOW, tool_choice="required", parallel_tool_calls=False)
    assert (message["reasoning_content"], message["content"]) == ("Two and two.", "")
    check_call(message)


def test_min_tokens_and_ignore_eos_count_every_token(server):
    n = len(THINKS) - server.opened
    assert ask(server, min_tokens=n)[0]["content"] == "It is four!"
    assert ask(server, ignore_eos=True, max_tokens=n + 4)[1]["completion_tokens"] == n + 4


def test_earlier_reasoning_reaches_the_template(server):
    def prompt_tokens(**fields):
        turns = [*HELLO, {"role": "assistant", "content": "Hello."} | fields, *HELLO]
        return whole(server, messages=turns, max_tokens=1)["usage"]["prompt_tokens"]

    assert prompt_tokens(reasoning_content="Zz") > prompt_tokens()
    status, reply = server.request("/v1/chat/completions", {"messages": [{"role": "assistant", "content": "a", "reasoning_content": 5}]})
    assert status == 400 and reply["error"]["param"] == "messages"


def test_a_message_that_is_continued_goes_on_where_it_stands(server):
    def goes_on(content):
        turns = [*HELLO, {"role": "assistant", "content": content}]
        message, _ = ask(server, messages=turns, continue_final_message=True)
        return message["reasoning_content"], message["content"]

    assert goes_on("<think>Two and") == ("two.", "It is four!")
    assert goes_on("<think>Two and two.\n</think>\n\nIt is") == ("", " four!")


def test_off_it_is_text(tmp_path):
    folder = scripted_model(tmp_path / "model", THINKS, ASKS)
    with Server(folder, "--max-ctx", "1024", "--reasoning", "off") as server:
        message, usage = ask(server)
        assert message["content"] == "".join(THINKS) and reasoned(usage) == 0
        status, reply = server.chat("hi", reasoning_budget=5)
        assert status == 400 and reply["error"]["param"] == "reasoning_budget"


def test_models_that_do_not_reason(tiny_server):
    for fields in ({"reasoning_budget": 5}, {"reasoning_effort": "low"}):
        status, reply = tiny_server.chat("hi", **fields)
        assert status == 400 and reply["error"]["param"] == next(iter(fields))
    reply = tiny_server.chat("hi", max_tokens=3, reasoning_effort="none")[1]
    assert reply["usage"]["completion_tokens_details"] == {"reasoning_tokens": 0}
    assert "reasoning_content" not in reply["choices"][0]["message"]


def test_a_template_that_reads_the_effort_gets_it(tmp_path):
    template = tmp_path / "effort.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}{{ reasoning_effort or '' }}")
    with Server(TINY, "--max-ctx", "512", "--chat-template", str(template)) as server:
        tokens = [server.chat("hi", max_tokens=1, **f)[1]["usage"]["prompt_tokens"] for f in ({}, {"reasoning_effort": "low"})]
        assert tokens[1] == tokens[0] + len("low")
        status, reply = server.chat("hi", reasoning_effort="low", chat_template_kwargs={"reasoning_effort": "high"})
        assert status == 400 and reply["error"]["param"] == "reasoning_effort"


BAD = [{"reasoning_budget": -1}, {"reasoning_budget": 1.5}, {"reasoning_budget": "x"}, {"reasoning_effort": "much"}, {"reasoning_effort": 5}]


@pytest.mark.parametrize("fields", BAD)
def test_what_is_refused(server, fields):
    status, reply = server.chat("hi", **fields)
    assert status == 400 and reply["error"]["param"] == next(iter(fields))
    status, reply = server.chat("hi", reasoning_effort="low", reasoning_budget=5)
    assert status == 400 and reply["error"]["param"] == "reasoning_effort"


@pytest.fixture(scope="module")
def babbler(tmp_path_factory):
    """A model that says anything, tags in many tokens, under a template whose prompts end inside the reasoning."""
    template = tmp_path_factory.mktemp("templates") / "thinks.jinja"
    template.write_text(TURNS + "assistant:<think>{{ '\\n' }}")
    with Server(TINY, "--max-ctx", "1024", "--chat-template", str(template)) as server:
        yield server
        server.wait_idle()


def test_a_model_that_says_anything(babbler):
    """Whatever comes: the budget holds, and behind it answers fit their form, alone and in company."""
    plain = {"ignore_eos": True, "max_tokens": 80}
    forms = [plain, {"structured_outputs": {"regex": "yes|no"}}, {"tools": NOW, "tool_choice": "required", "parallel_tool_calls": False}]

    def ask_one(seed):
        budget, form = [0, 1, 9, 40][seed % 4], forms[seed % 3]
        message, usage = ask(babbler, **({"max_tokens": 250, "seed": seed, "reasoning_budget": budget} | form | {"temperature": 1}))
        # A cut character is finished; then at most a token a character.
        assert budget < reasoned(usage) <= budget + 3 + len("\n</think>")
        assert "</think>" not in message["content"] and message["finish"] == ("length" if form is plain else "tool_calls" if "tools" in form else "stop")
        if "tools" in form:
            check_call(message)
        elif form is not plain:
            assert message["content"] in ("yes", "no")
        return message

    alone = [ask_one(seed) for seed in range(12)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask_one, range(12))) == alone
