"""/v1/embeddings and /v1/rerank against mlx-lm's hidden states."""

import json
from concurrent.futures import ThreadPoolExecutor

import mlx.core as mx
import numpy as np
import openai
import oracle
import pytest
from checkpoints import with_pooling
from conftest import TINY
from serving import Server

TOLERANCE = 1e-4  # of a component of a vector of length 1
TEXTS = ["hello", "a river", "naïve 😀 日本語", "x" * 150]
MODES = {"lasttoken": lambda h: h[-1], "mean_tokens": lambda h: h.mean(0), "cls_token": lambda h: h[0]}


@pytest.fixture(scope="module")
def model():
    return oracle.load(TINY)


def expected(model, ids, pool=MODES["lasttoken"], dimensions=None):
    hidden = oracle.to_numpy(model.model(mx.array([ids]))[0])  # after the last norm
    vector = pool(hidden.astype(np.float64))[:dimensions]
    return vector / np.linalg.norm(vector)


def ids_of(server, text):
    return server.request("/tokenize", {"prompt": text})[1]["tokens"]


def embed(server, **body):
    status, reply = server.request("/v1/embeddings", body)
    assert status == 200, reply
    assert reply["object"] == "list" and [d["index"] for d in reply["data"]] == list(range(len(reply["data"])))
    return [d["embedding"] for d in reply["data"]], reply


def test_are_mlx_lms_last_states_normalised(tiny_server, model):
    for ids in ([7], [40, 41, 42], list(range(30, 200))):
        (vector,), reply = embed(tiny_server, input=ids)
        assert np.abs(np.array(vector) - expected(model, ids)).max() < TOLERANCE
        assert reply["usage"] == {"prompt_tokens": len(ids), "total_tokens": len(ids)}
        assert abs(np.linalg.norm(vector) - 1) < 1e-6


@pytest.mark.parametrize("mode", MODES)
def test_pooling_of_the_models_files(tmp_path, model, mode):
    with Server(with_pooling(tmp_path / "m", mode), "--max-ctx", "512") as server:
        for text in TEXTS:
            (vector,), _ = embed(server, input=text)
            assert np.abs(np.array(vector) - expected(model, ids_of(server, text), MODES[mode])).max() < TOLERANCE


def test_input_of_every_kind(tiny_server):
    ids = [ids_of(tiny_server, t) for t in TEXTS]
    alone = [embed(tiny_server, input=t)[0][0] for t in TEXTS]
    assert embed(tiny_server, input=TEXTS)[0] == alone
    assert embed(tiny_server, input=ids)[0] == alone
    assert [embed(tiny_server, input=i)[0][0] for i in ids] == alone


def test_dimensions_are_cut_and_normalised_again(tiny_server, model):
    (vector,), _ = embed(tiny_server, input=[40, 41, 42], dimensions=5)
    assert np.abs(np.array(vector) - expected(model, [40, 41, 42], dimensions=5)).max() < TOLERANCE


def test_openai_client(tiny_server):
    """Which asks for base64 unless it is told not to; more inputs than the engine's queue holds."""
    create = tiny_server.client().embeddings.create
    texts = [f"text {i}" for i in range(700)]
    packed = create(model="default", input=texts)
    plain = create(model="default", input=texts, encoding_format="float")
    assert len(packed.data) == 700 and packed.usage == plain.usage
    for a, b in zip(packed.data, plain.data):
        assert np.array_equal(np.float32(a.embedding), np.float32(b.embedding))
    with pytest.raises(openai.BadRequestError) as e:
        create(model="default", input="")
    assert e.value.param == "input"


def test_the_same_bits_in_company(tiny_server):
    def ask(i):
        if i % 3 == 0:
            return tiny_server.complete(TEXTS[i % 4], max_tokens=30, temperature=1, seed=i, ignore_eos=True)[1]["choices"][0]["text"]
        return embed(tiny_server, input=[TEXTS[i % 4], "y" * i], encoding_format="base64")[0]

    alone = [ask(i) for i in range(12)]
    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(ask, range(12))) == alone


@pytest.mark.parametrize(
    "body, param",
    [
        ({}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": ["a", ""]}, "input"),
        ({"input": ["a", 5]}, "input"),
        ({"input": {}}, "input"),
        ({"input": [10**9]}, "input"),
        ({"input": [-1]}, "input"),
        ({"input": ["a"] * 2049}, "input"),
        ({"input": "a", "dimensions": 0}, "dimensions"),
        ({"input": "a", "dimensions": 65}, "dimensions"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format"),
        ({"input": "x" * 600}, "input"),
    ],
    ids=lambda v: str(v)[:40],
)
def test_bad_requests(tiny_server, body, param):
    status, reply = tiny_server.request("/v1/embeddings", body)
    assert status == 400 and reply["error"]["param"] == param, reply


def test_rerank_is_by_cosine(tmp_path, model):
    documents = ["a river", "the longest river", "q" * 40, "name"]
    with Server(with_pooling(tmp_path / "m", "mean_tokens"), "--max-ctx", "512") as server:
        vectors = [expected(model, ids_of(server, t), MODES["mean_tokens"]) for t in ["Name a river", *documents]]
        cosines = [float(vectors[0] @ v) for v in vectors[1:]]
        status, reply = server.request("/v1/rerank", {"query": "Name a river", "documents": documents})
        assert status == 200, reply
        order = [r["index"] for r in reply["results"]]
        assert order == sorted(range(4), key=lambda i: -cosines[i])
        for r in reply["results"]:
            assert r["relevance_score"] == pytest.approx(cosines[r["index"]], abs=TOLERANCE)
            assert r["document"] == {"text": documents[r["index"]]}
        fields = {"query": "Name a river", "documents": [{"text": d} for d in documents], "top_n": 2, "return_documents": False}
        top = server.request("/v1/rerank", fields)[1]["results"]
        assert [r["index"] for r in top] == order[:2] and "document" not in top[0]
        for bad, param in (({"query": ""}, "query"), ({"documents": []}, "documents"), ({"documents": [1]}, "documents"), ({"top_n": 0}, "top_n")):
            status, reply = server.request("/v1/rerank", {"query": "a", "documents": ["b"]} | bad)
            assert status == 400 and reply["error"]["param"] == param


def test_rerank_needs_a_model_for_it(tiny_server):
    status, reply = tiny_server.request("/v1/rerank", {"query": "a", "documents": ["b"]})
    assert status == 400 and reply["error"]["param"] == "model" and "1_Pooling" in reply["error"]["message"]


def test_pooling_that_is_not_supported_is_named(tmp_path):
    with Server(with_pooling(tmp_path / "m", "max_tokens"), "--max-ctx", "512") as server:
        status, reply = server.request("/v1/embeddings", {"input": "a"})
        assert status == 400 and "pooling_mode_max_tokens" in reply["error"]["message"]
        server.check_alive()
