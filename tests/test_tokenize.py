"""/tokenize, /detokenize and the fields that shape a conversation's prompt, against transformers."""

import pytest
from conftest import ROOT, TINY
from serving import Server
from transformers import AutoTokenizer

TEXTS = ["", "hello", "  two  spaces\n", "naïve 😀 日本語", "<s> and </s> are text here"]
CHAT = [{"role": "user", "content": "Name a river."}, {"role": "assistant", "content": "The longest is"}]
TOOLS = [{"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}}]
TEMPLATE = "{% for m in messages %}({{ m.role }}) {{ m.content }}{% endfor %}{% if add_generation_prompt %}(go {{ mood }}){% endif %}"


@pytest.fixture(scope="module")
def oracle():
    return AutoTokenizer.from_pretrained(TINY)


def tokenize(server, **body):
    status, reply = server.request("/tokenize", body)
    assert status == 200, reply
    assert reply["count"] == len(reply["tokens"]) and reply["max_model_len"] == 512
    return reply


@pytest.mark.parametrize("text", TEXTS)
def test_text(tiny_server, oracle, text):
    reply = tokenize(tiny_server, prompt=text, add_special_tokens=False, return_token_strs=True)
    ids = oracle.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert reply["tokens"] == ids
    assert reply["token_strs"] == oracle.convert_ids_to_tokens(ids)
    status, back = tiny_server.request("/detokenize", {"tokens": ids})
    assert status == 200 and back == {"prompt": oracle.decode(ids)}


def test_special_tokens_are_written_out(tiny_server, oracle):
    for ids in ([oracle.bos_token_id, 40, 41], [40, oracle.eos_token_id], [*oracle.all_special_ids, 50]):
        assert tiny_server.request("/detokenize", {"tokens": ids})[1] == {"prompt": oracle.decode(ids)}


def test_a_prompt_is_what_completions_make_of_it(tiny_server):
    for text in TEXTS[1:]:
        reply = tokenize(tiny_server, prompt=text)
        assert reply["token_strs"] is None
        assert tiny_server.complete(text, max_tokens=1)[1]["usage"]["prompt_tokens"] == reply["count"]
        completion = tiny_server.complete(text, max_tokens=0, echo=True, prompt_logprobs=0)[1]["choices"][0]
        assert [int(id) for row in completion["prompt_logprobs"][1:] for id in row] == reply["tokens"][1:]


@pytest.mark.parametrize("fields", [{}, {"add_generation_prompt": False}, {"continue_final_message": True}], ids=str)
def test_conversations(tiny_server, oracle, fields):
    hf = {"add_generation_prompt": not fields.get("continue_final_message")} | fields
    expected = oracle.apply_chat_template(CHAT, tokenize=True, return_dict=False, **hf)
    assert tokenize(tiny_server, messages=CHAT, **fields)["tokens"] == expected
    reply = tiny_server.request("/v1/chat/completions", {"messages": CHAT, "max_tokens": 1} | fields)[1]
    assert reply["usage"]["prompt_tokens"] == len(expected)


def test_tools(oracle):
    template = ROOT / "reference" / "text_templates" / "hermes.jinja"
    expected = oracle.apply_chat_template(CHAT[:1], chat_template=template.read_text(), tools=TOOLS, tokenize=True, return_dict=False, add_generation_prompt=True)
    with Server(TINY, "--max-ctx", "512", "--chat-template", str(template)) as server:
        assert tokenize(server, messages=CHAT[:1], tools=TOOLS)["tokens"] == expected


def test_tools_where_the_template_reads_none(tiny_server):
    fields = {"messages": CHAT[:1], "tools": TOOLS}
    reply = tiny_server.request("/v1/chat/completions", fields | {"max_tokens": 1})[1]
    assert tokenize(tiny_server, **fields)["count"] == reply["usage"]["prompt_tokens"] > tokenize(tiny_server, messages=CHAT[:1])["count"]


def test_a_request_brings_its_template(oracle):
    fields = {"chat_template": TEMPLATE, "chat_template_kwargs": {"mood": "gently"}}
    expected = oracle.apply_chat_template(CHAT, chat_template=TEMPLATE, mood="gently", tokenize=True, return_dict=False, add_generation_prompt=True)
    with Server(TINY, "--max-ctx", "512", "--allow-request-template") as server:
        tokens = tokenize(server, messages=CHAT, **fields)["tokens"]
        assert tokens[-len(expected) :] == expected and len(tokens) - len(expected) in (0, 1)  # BOS
        status, reply = server.request("/v1/chat/completions", {"messages": CHAT, "max_tokens": 1} | fields)
        assert status == 200 and reply["usage"]["prompt_tokens"] == len(tokens)
        endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}"
        for bad in ("{% if %}", "{{ x | nonsense }}", "{{ raise_exception('no') }}", endless, "{{ messages[0].a.b.c }}"):
            status, reply = server.request("/tokenize", {"messages": CHAT, "chat_template": bad})
            assert status == 400 and reply["error"]["param"] in ("chat_template", "messages"), reply


def test_without_the_flag_it_may_not(tiny_server):
    for path in ("/tokenize", "/v1/chat/completions"):
        status, reply = tiny_server.request(path, {"messages": CHAT, "chat_template": TEMPLATE})
        assert status == 400 and reply["error"]["param"] == "chat_template"
        assert "--allow-request-template" in reply["error"]["message"]


@pytest.mark.parametrize(
    "path, body, param",
    [
        ("/tokenize", {}, "prompt"),
        ("/tokenize", {"prompt": "a", "messages": CHAT}, "prompt"),
        ("/tokenize", {"prompt": 5}, "prompt"),
        ("/tokenize", {"messages": [1]}, "messages"),
        ("/tokenize", {"messages": CHAT, "add_special_tokens": True}, "add_special_tokens"),
        ("/tokenize", {"prompt": "a", "model": "nope"}, "model"),
        ("/tokenize", {"messages": CHAT, "chat_template_kwargs": {"messages": []}}, "chat_template_kwargs"),
        ("/tokenize", {"messages": CHAT, "add_generation_prompt": True, "continue_final_message": True}, "continue_final_message"),
        ("/tokenize", {"messages": CHAT, "tools": [5]}, "tools"),
        ("/tokenize", {"prompt": "a", "tools": TOOLS}, "tools"),
        ("/detokenize", {"tokens": "a"}, "tokens"),
        ("/detokenize", {"tokens": [1.5]}, "tokens"),
        ("/detokenize", {"tokens": [-1]}, "tokens"),
        ("/detokenize", {"tokens": [10**9]}, "tokens"),
        ("/detokenize", {"tokens": [288]}, "tokens"),
    ],
    ids=str,
)
def test_bad_requests(tiny_server, path, body, param):
    status, reply = tiny_server.request(path, body)
    assert status in (400, 404) and reply["error"]["param"] == param, reply


def test_models_by_name(tiny_server):
    real = tiny_server.get("/v1/models")[1]["data"][0]
    client = tiny_server.client()
    for name in (real["id"], "default", "mlxforge"):
        assert tiny_server.get(f"/v1/models/{name}") == (200, real)
        assert client.models.retrieve(name).id == real["id"]
    status, reply = tiny_server.get("/v1/models/no%20such")
    assert status == 404 and reply["error"]["code"] == "model_not_found" and "no such" in reply["error"]["message"]
