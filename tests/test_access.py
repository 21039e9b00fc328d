"""API keys, CORS and the loopback rules of the real binary (src/server/access_test.cpp has the whole table)."""

import openai
import pytest
from conftest import TINY
from serving import Server

MODELS = "/v1/models"


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text("# two of them\nalice: sk-alice\nsk-second\n")
    flags = ["--api-key-file", str(keys), "--cors-origin", "https://chat.example"]
    with Server(TINY, *flags, env={"MLXFORGE_API_KEY": "sk-environment"}) as server:
        yield server


def test_the_official_client_with_right_and_wrong_keys(locked):
    for key in ("sk-alice", "sk-second", "sk-environment"):
        assert locked.client(api_key=key).models.list().data[0].id == "f32"
    with pytest.raises(openai.AuthenticationError) as e:
        locked.client(api_key="sk-alic").models.list()
    assert e.value.code == "invalid_api_key"
    assert locked.get("/health")[0] == 200


def test_anthropics_header_and_the_name_in_the_log(locked):
    assert locked.request(MODELS, headers={"x-api-key": "sk-alice"})[0] == 200
    assert locked.request(MODELS)[0] == 401
    assert locked.find(r"GET /v1/models 200 key=alice")
    assert not locked.find("sk-")


def test_listed_origins_and_rebound_names(locked):
    key = {"Authorization": "Bearer sk-alice"}
    assert locked.request(MODELS, headers=key | {"Origin": "https://chat.example"})[0] == 200
    assert locked.request(MODELS, headers=key | {"Origin": "https://evil.example"})[0] == 403
    assert locked.request(MODELS, headers=key | {"Host": "evil.example"})[0] == 403


@pytest.mark.parametrize("text", ["a:k\na:l\n", "a:\n", None])
def test_bad_key_files_end_the_start(tmp_path, text):
    path = tmp_path / "keys"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AssertionError, match="ended with 2"):
        Server(TINY, "--api-key-file", str(path))


def test_each_key_has_its_own_allowance():
    flags = ["--api-key", "sk-a", "--api-key", "sk-b", "--requests-per-minute", "2", "--max-ctx", "512"]
    with Server(TINY, *flags) as server:
        clients = {name: server.client(api_key=f"sk-{name}") for name in "ab"}

        def ask(name):
            return clients[name].completions.create(model="default", prompt="x", max_tokens=1)

        ask("a"), ask("a")
        with pytest.raises(openai.RateLimitError) as e:
            ask("a")
        assert e.value.code == "rate_limit_exceeded" and 1 <= int(e.value.response.headers["retry-after"]) <= 30
        ask("b")
        assert clients["a"].models.list().data


def test_tokens_are_limited_too_and_a_long_answer_leaves_a_debt():
    with Server(TINY, "--tokens-per-minute", "30", "--max-ctx", "512") as server:
        assert server.complete("q" * 40, max_tokens=50, ignore_eos=True)[0] == 200
        status, reply = server.complete("q", max_tokens=1)
        assert status == 429 and reply["error"]["type"] == "rate_limit_error"
        assert int(reply["error"]["message"].split(" in ")[1].split()[0]) > 100  # 60 tokens over, 30 a minute


def test_strict_refuses_what_nobody_knows():
    fields = {"max_tokens": 1, "temprature": 0, "stream_options": {"includeusage": True}, "stream": False}
    with Server(TINY, "--strict", "--max-ctx", "512") as server:
        status, reply = server.chat("x", **fields)
        assert status == 400 and reply["error"]["param"] in ("temprature", "stream_options.includeusage")
        assert "temprature" in reply["error"]["message"] and "stream_options.includeusage" in reply["error"]["message"]
        assert server.chat("x", max_tokens=1)[0] == 200
    with Server(TINY, "--max-ctx", "512") as server:
        assert server.chat("x", **fields)[0] == 200
        assert server.find("temprature, stream_options.includeusage")
