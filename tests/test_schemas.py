"""Structured output over HTTP: what comes fits its schema, as `jsonschema` judges; what cannot be held is refused by name."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import openai
import pytest
import schema_corpus
from conftest import ROOT, TINY
from serving import stream
from tokenizers import Tokenizer

CASES = [pytest.param(family, id=family.__name__) for family in schema_corpus.FAMILIES]
# Others need packages that are not here, or know the calendar.
FORMATS = jsonschema.FormatChecker(formats=["email", "ipv4", "ipv6", "uuid"])


def check(schema, text):
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator(schema, format_checker=FORMATS).validate(json.loads(text))


@pytest.fixture(scope="module")
def soon_ended():
    """A bias of the tiny model towards what ends strings, lists, objects and answers."""
    tokenizer = Tokenizer.from_file(str(TINY / "tokenizer.json"))
    ends = {tokenizer.token_to_id(t): bias for t, bias in (('"', 8), ("}", 7), ("]", 5))}
    controls = [e for e in range(tokenizer.get_vocab_size()) if tokenizer.decode([e]) == ""]
    return {str(e): bias for e, bias in (ends | dict.fromkeys(controls, 9)).items()}


def test_the_corpus_is_large():
    assert sum(len(list(family())) for family in schema_corpus.FAMILIES) >= 200


def keywords(schema):
    """Every key of a schema that is not the name of a member."""
    if isinstance(schema, list):
        return set().union(*map(keywords, schema))
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "$defs", "definitions"):
            found |= keywords(list(value.values()))
        elif key not in ("const", "enum", "default", "examples"):
            found |= keywords(value)
    return found


def test_the_corpus_has_every_keyword_that_is_claimed():
    text = (ROOT / "docs" / "api.md").read_text()
    claim = text[text.index("- Supported keywords:") : text.index("; and annotations")]
    formats = claim[claim.index("`format` (") + 10 : claim.index(": their shape")]
    schemas = [schema for family in schema_corpus.FAMILIES for schema in family()]
    claimed = set(re.findall("`([^`]+)`", claim.replace(formats, "")))
    assert len(claimed) > 25 and claimed - keywords(schemas) == set()
    used = {schema.get("format") for schema in schemas if isinstance(schema, dict)}
    assert set(re.findall("`([^`]+)`", formats)) - used == set()


@pytest.mark.parametrize("family", CASES)
def test_answers_fit_their_schema(tiny_server, soon_ended, family):
    """A model that says anything, so that whatever the grammar lets through comes."""

    def answer(schema, seed):
        fields = {"temperature": 1, "seed": seed, "max_tokens": 400, "logit_bias": soon_ended}
        status, reply = tiny_server.chat("abc", structured_outputs={"json": schema}, **fields)
        assert status == 200, (schema, reply)
        choice = reply["choices"][0]
        assert choice["finish_reason"] == "stop", (schema, choice)
        check(schema, choice["message"]["content"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(answer, *zip(*((s, seed) for s in family() for seed in (1, 2, 3)))))


def test_a_real_model(smollm2_server):
    client = smollm2_server.client().chat.completions

    def answer(schema):
        form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        messages = [{"role": "user", "content": f"Give an example that fits this JSON schema: {json.dumps(schema)}"}]
        reply = client.create(model="default", messages=messages, response_format=form, max_tokens=400, temperature=0.7, seed=5)
        choice = reply.choices[0]
        if choice.finish_reason == "stop":
            check(schema, choice.message.content)
        return choice.finish_reason

    with ThreadPoolExecutor(6) as pool:
        ends = list(pool.map(answer, schema_corpus.realistic()))
    assert ends.count("stop") > len(ends) / 2, ends


def test_pydantic_models_through_the_official_client(smollm2_server):
    from pydantic import BaseModel

    class Place(BaseModel):
        city: str
        population: int
        capital: bool

    messages = [{"role": "user", "content": "Describe Paris."}]
    reply = smollm2_server.client().chat.completions.parse(model="default", messages=messages, response_format=Place, temperature=0, max_tokens=120)
    assert isinstance(reply.choices[0].message.parsed, Place)


FORMS = [
    ({"response_format": {"type": "json_object"}}, lambda text: isinstance(json.loads(text), dict)),
    ({"structured_outputs": {"json_object": True}}, lambda text: isinstance(json.loads(text), dict)),
    ({"structured_outputs": {"json": {"const": [1, 2]}, "disable_any_whitespace": True}}, lambda text: text == "[1,2]"),
    ({"structured_outputs": {"regex": "[a-c]{3,6}"}}, lambda text: 3 <= len(text) <= 6 and set(text) <= set("abc")),
    ({"structured_outputs": {"choice": ["red", "green"]}}, lambda text: text in ("red", "green")),
    ({"structured_outputs": {"grammar": 'start: "x"+ "y"'}}, lambda text: text.rstrip("y") == "x" * (len(text) - 1)),
    ({"guided_grammar": 'root ::= "x" [ab]{2}'}, lambda text: text[0] == "x" and set(text[1:]) <= set("ab") and len(text) == 3),
    ({"guided_json": '{"const": 5}'}, lambda text: json.loads(text) == 5),
    ({"guided_json": {"const": 5}}, lambda text: json.loads(text) == 5),
    ({"guided_regex": "[0-9]{4}"}, lambda text: len(text) == 4 and text.isdigit()),
    ({"guided_choice": ["é", "two words"]}, lambda text: text in ("é", "two words")),
    ({"guided_grammar": 'start: "a" | "b"'}, lambda text: text in ("a", "b")),
]


@pytest.mark.parametrize("fields, fits", FORMS, ids=lambda f: next(iter(f)) if isinstance(f, dict) else "")
def test_every_field(tiny_server, soon_ended, fields, fits):
    """In chat and completions, streamed or not, n answers, alone and in company: the same bytes, of the form."""
    options = {"temperature": 1, "seed": 7, "max_tokens": 300, "n": 3, "logit_bias": soon_ended} | fields

    def texts(_=None):
        status, reply = tiny_server.complete("abc", **options)
        assert status == 200, reply
        return [choice["text"] for choice in reply["choices"]]

    alone = texts()
    assert all(map(fits, alone))
    with ThreadPoolExecutor(6) as pool:
        company = pool.submit(tiny_server.complete, "hello", temperature=1, seed=1, max_tokens=100)
        assert list(pool.map(texts, range(4))) == [alone] * 4
        assert company.result()[0] == 200
    streamed = [""] * 3
    for event in stream(tiny_server, "/v1/completions", {"prompt": "abc"} | options):
        for choice in event["choices"]:
            streamed[choice["index"]] += choice["text"]
    assert streamed == alone
    status, reply = tiny_server.chat("abc", **options)
    assert status == 200 and fits(reply["choices"][0]["message"]["content"])


REFUSED = [
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"type": "string", "pattern": "^(?=x)y$"}}}}, "response_format", "pattern"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"not": {}}}}}, "response_format", "'not'"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "response_format", "schema"),
    ({"response_format": {"type": "json_schema"}}, "response_format", "json_schema"),
    ({"response_format": {"type": "xml"}}, "response_format", "json_object"),
    ({"response_format": {}}, "response_format", "type"),
    ({"response_format": {"type": "json_schema", "schema": {}}}, "response_format", "json_schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "name": 5}}}, "response_format", "name"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": "yes"}}}, "response_format", "strict"),
    ({"response_format": {"type": "json_object", "schema": {"not": {}}}}, "response_format", "'not'"),
    ({"response_format": {"type": "json_object", "schema": "{}"}}, "response_format", "schema"),
    ({"structured_outputs": {"json": {"if": {}}}}, "structured_outputs", "'if'"),
    ({"structured_outputs": {"json": 5}}, "structured_outputs", "structured_outputs.json"),
    ({"structured_outputs": {"json": "{"}}, "structured_outputs", "structured_outputs.json"),
    ({"structured_outputs": {"regex": "["}}, "structured_outputs", "regex"),
    ({"structured_outputs": {"regex": ""}}, "structured_outputs", "regex"),
    ({"structured_outputs": {"choice": []}}, "structured_outputs", "choice"),
    ({"structured_outputs": {"choice": ["a", 5]}}, "structured_outputs", "choice"),
    ({"structured_outputs": {"choice": [""]}}, "structured_outputs", "choice"),
    ({"structured_outputs": {"grammar": "start: nothing"}}, "structured_outputs", "nothing"),
    ({"structured_outputs": {"json_object": 1}}, "structured_outputs", "json_object"),
    ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs", "regex"),
    ({"structured_outputs": {"structural_tag": "x"}}, "structured_outputs", "structural_tag"),
    ({"structured_outputs": {"json": {}, "whitespace_pattern": " "}}, "structured_outputs", "whitespace_pattern"),
    ({"structured_outputs": {"json": {}, "disable_additional_properties": True}}, "structured_outputs", "disable_additional_properties"),
    ({"response_format": {"type": "structural_tag", "structures": [], "triggers": []}}, "response_format", "json_schema"),
    ({"guided_json": {}, "guided_whitespace_pattern": " "}, "guided_whitespace_pattern", "guided_whitespace_pattern"),
    ({"guided_json": {"enum": []}}, "guided_json", "enum"),
    ({"guided_json": {"$ref": "#/$defs/n", "$defs": {"n": {"$ref": "#/$defs/n"}}}}, "guided_json", "$ref"),
    ({"guided_regex": "(?=a)"}, "guided_regex", "look-around"),
    ({"guided_choice": []}, "guided_choice", "guided_choice"),
    ({"guided_grammar": "root ::= 'a'"}, "guided_grammar", "guided_grammar"),
    ({"guided_regex": "a", "guided_choice": ["a"]}, "guided_choice", "guided_regex"),
]


@pytest.mark.parametrize("streaming", [False, True])
def test_what_cannot_be_held_is_refused(tiny_server, streaming):
    for fields, param, word in REFUSED:
        with pytest.raises(openai.BadRequestError) as e:
            tiny_server.client().chat.completions.create(
                model="default", messages=[{"role": "user", "content": "a"}], stream=streaming, max_tokens=1, extra_body=fields
            )
        assert e.value.param == param and word in e.value.message, (fields, e.value.message)


def test_unknown_parts_are_reported(tiny_server):
    create = tiny_server.client().chat.completions.with_raw_response.create
    for form in ({"structured_outputs": {"regex": "a+", "colour": 1}}, {"response_format": {"type": "json_object", "colour": 1}}):
        reply = create(model="default", messages=[{"role": "user", "content": "a"}], max_tokens=4, extra_body=form)
        assert reply.headers["x-ignored-fields"] == next(iter(form)) + ".colour"
