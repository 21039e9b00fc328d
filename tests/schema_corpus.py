"""JSON schemas over every keyword that docs/api.md claims, in families, and the realistic ones by hand."""

from itertools import combinations

TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
SMALL = {"type": "integer", "minimum": 0, "maximum": 9}
NAME = {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"}


def closed(properties, required=None, **more):
    required = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False} | more


def types():
    yield from ({"type": t} for t in TYPES)
    yield from ({"type": list(pair)} for pair in combinations(TYPES, 2))
    yield from ({}, True, {"type": TYPES}, {"title": "a", "description": "b", "default": 1, "examples": [2], "$comment": "c", "type": "boolean"})
    yield {"type": "integer", "deprecated": True, "readOnly": True, "writeOnly": False, "x-order": 3, "contentEncoding": "none"}


def strings():
    for low, high in ((0, 0), (0, 1), (1, 1), (2, 3), (0, 7), (5, 5), (3, 40), (30, 30)):
        yield {"type": "string", "minLength": low, "maxLength": high}
    yield from ({"type": "string", "minLength": 4}, {"type": "string", "maxLength": 4}, {"maxLength": 2})
    for pattern in (
        "^a+$", "^[0-9]{3}-[0-9]{4}$", r"^\d+$", r"^\w{2,5}$", r"^\s\S$", "^(red|green|blue)$", "^[^\"]{1,4}$", "^a?b*c+$",
        r"^\+?[1-9]\d{1,14}$", "^[A-Z]{2}[0-9]{2}$", "^$", "^.{3}$", r"^\\$", "^\"$", r"^[\u00e0-\u00ff]{2}$", r"^\(\)$", "^(ab){2,3}$", "^[a-f0-9]{8}$",
        r"^v\d+\.\d+\.\d+$", "^/[a-z]+(/[a-z]+)*$", "^((a|b)c)*$", "^\\t\\n$", "^日本$",
    ):
        yield {"type": "string", "pattern": pattern}
    yield from ({"type": "string", "pattern": found, "maxLength": 9} for found in ("abc", "^x", "y$", "[xyz]{2}"))
    yield {"type": "string", "pattern": "^[ab]*$", "minLength": 3, "maxLength": 5}
    yield {"pattern": "^only text is matched$"}
    for name in ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"):
        yield {"type": "string", "format": name, "maxLength": 60}
    yield {"type": "string", "format": "email", "maxLength": 12}
    yield {"type": "string", "format": "date", "pattern": "^20"}


def numbers():
    for low, high in ((0, 0), (0, 9), (-5, 5), (10, 10), (99, 101), (-120, -7), (1, 1000000), (-9007199254740991, 9007199254740991)):
        yield {"type": "integer", "minimum": low, "maximum": high}
        yield {"type": "number", "minimum": low, "maximum": high}
    for low, high in ((0, 1), (-1, 1), (2.5, 2.75), (-0.125, 0.5), (99.5, 100.5)):
        yield {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high}
        yield {"type": "number", "minimum": low, "exclusiveMaximum": high}
    for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        yield from ({"type": kind, bound: value} for kind in ("integer", "number") for value in (0, -17, 1000))
    for step in (1, 2, 3, 7, 10, 100):
        yield {"type": "integer", "multipleOf": step, "minimum": -500, "maximum": 500}
    yield from ({"type": "number", "multipleOf": step, "minimum": 0, "maximum": 20} for step in (0.5, 0.25, 5))
    yield {"type": "integer", "multipleOf": 6, "minimum": -20, "maximum": 40}
    yield {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 3, "exclusiveMinimum": True, "maximum": 9}


def values():
    for value in (None, True, False, 0, -3, 2.5, 1.0, "", "text", "é\"\\\n", [], [1, [2, None]], {}, {"a": {"b": [True]}, "c": "d"}, 10**15):
        yield {"const": value}
    yield {"enum": ["é", "\u00e9b", 'a"b', None, 1]}
    yield {"enum": [1, 2, 3], "type": "integer"}
    yield {"enum": ["a", 1, None], "type": ["string", "null"]}
    yield {"enum": [str(i) for i in range(300)]}
    yield {"type": "object", "properties": {"kind": {"const": "x"}}, "required": ["kind"]}


def arrays():
    for low, high in ((0, 0), (0, 1), (1, 1), (2, 4), (3, 3), (0, 5)):
        yield {"type": "array", "items": SMALL, "minItems": low, "maxItems": high}
    yield from ({"type": "array", "minItems": 2}, {"type": "array", "maxItems": 2}, {"minItems": 1}, {"type": "array", "items": False})
    yield from ({"type": "array", "items": {"type": t}, "maxItems": 3} for t in TYPES)
    pair = [SMALL, NAME]
    yield {"type": "array", "prefixItems": pair}
    yield {"type": "array", "prefixItems": pair, "items": False}
    yield {"type": "array", "prefixItems": pair, "items": {"type": "null"}, "minItems": 1, "maxItems": 4}
    yield {"type": "array", "prefixItems": pair, "items": False, "minItems": 2}
    yield {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": pair, "additionalItems": False}
    yield {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": pair, "additionalItems": {"type": "null"}, "minItems": 3, "maxItems": 4}
    yield {"type": "array", "items": {"type": "array", "items": SMALL, "minItems": 1, "maxItems": 2}, "minItems": 1, "maxItems": 3}


def objects():
    abc = {"a": SMALL, "b": NAME, "c": {"type": "boolean"}}
    for n in range(4):
        yield from (closed(abc, list(names)) for names in combinations(abc, n))
    yield {"type": "object", "properties": abc}
    yield {"type": "object", "properties": abc, "required": ["b", "z"]}
    yield {"type": "object", "additionalProperties": SMALL}
    yield {"type": "object", "properties": {"a": SMALL}, "additionalProperties": {"type": "string", "maxLength": 3}}
    yield {"type": "object", "properties": {"a b": SMALL, 'q"': SMALL, "é": SMALL, "": SMALL}, "required": ["a b", 'q"', "é", ""]}
    yield {"type": "object", "patternProperties": {"^n_": SMALL}, "additionalProperties": False}
    yield {"type": "object", "patternProperties": {"^n_": SMALL, "^s_": NAME}, "additionalProperties": {"type": "null"}}
    yield {"type": "object", "properties": {"n_1": {"type": "integer"}}, "required": ["n_1"], "patternProperties": {"^n_": SMALL}}
    yield {"type": "object", "minProperties": 1, "additionalProperties": SMALL}
    yield {"type": "object", "maxProperties": 2, "additionalProperties": SMALL}
    yield {"type": "object", "maxProperties": 0}
    yield closed(abc, ["a"], minProperties=1)
    yield closed(abc, [], minProperties=1, maxProperties=1)
    yield closed(abc, [], maxProperties=1)
    yield {"type": "object", "properties": {"a": SMALL}, "required": ["a"], "minProperties": 2, "maxProperties": 3}
    yield {"properties": {"a": False}, "type": "object"}
    yield {"required": ["x"], "properties": {"x": SMALL}}


def combined():
    yield {"anyOf": [SMALL, NAME]}
    yield {"anyOf": [{"type": "integer", "maximum": 3}, {"type": "integer", "minimum": 7}]}
    yield {"type": "string", "anyOf": [{"maxLength": 2}, {"pattern": "^long"}]}
    yield {"oneOf": [SMALL, NAME, {"type": "null"}]}
    yield {"oneOf": [closed({"kind": {"const": "a"}, "x": SMALL}), closed({"kind": {"const": "b"}, "y": NAME})]}
    yield {"oneOf": [{"const": "p"}, {"const": "q"}]}
    yield {"allOf": [{"type": "integer"}, {"minimum": 2}, {"maximum": 4}]}
    yield {"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}, {"pattern": "^[ab]+$"}]}
    yield {"allOf": [{"type": "object", "properties": {"a": SMALL}, "required": ["a"]}, {"properties": {"b": NAME}, "required": ["b"]}]}
    yield {"allOf": [{"type": "array", "items": {"type": "integer"}}, {"minItems": 1, "maxItems": 2}, {"items": {"minimum": 5}}]}
    yield {"allOf": [{"anyOf": [SMALL, {"type": "null"}]}, {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string"}]}]}
    yield {"type": ["string", "integer"], "minLength": 2, "maxLength": 3, "minimum": 5, "maximum": 8}
    yield {"type": "object", "properties": {"a": {"anyOf": [NAME, {"type": "null"}]}}, "required": ["a"], "allOf": [{"properties": {"a": {"type": ["string", "null"]}}}]}


def references():
    yield {"$ref": "#/$defs/small", "$defs": {"small": SMALL}}
    yield {"$ref": "#/definitions/name", "definitions": {"name": NAME}}
    yield {"$ref": "#here", "$defs": {"x": {"$anchor": "here"} | SMALL}}
    yield {"$ref": "#/$defs/a~1b", "$defs": {"a/b": SMALL}}
    yield {"$ref": "#/$defs/a%20b", "$defs": {"a b": SMALL}}
    yield closed({"a": {"anyOf": [NAME, SMALL]}, "b": {"$ref": "#/properties/a/anyOf/1"}})
    yield {"$ref": "#/$defs/n", "$defs": {"n": {"$ref": "#/$defs/m"}, "m": SMALL}}
    yield {"$ref": "#/$defs/small", "maximum": 3, "$defs": {"small": SMALL}}
    yield {"$id": "http://example.com/root", "$ref": "other", "$defs": {"o": {"$id": "other"} | SMALL}}
    yield closed({"value": SMALL, "children": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2}})
    yield closed({"value": SMALL, "next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}})
    yield {"$ref": "#/$defs/even", "$defs": {"even": closed({"odd": {"$ref": "#/$defs/odd"}}, []), "odd": closed({"even": {"$ref": "#/$defs/even"}}, [])}}
    tree = {"anyOf": [SMALL, closed({"op": {"enum": ["+", "*"]}, "l": {"$ref": "#/$defs/e"}, "r": {"$ref": "#/$defs/e"}})]}
    yield {"$ref": "#/$defs/e", "$defs": {"e": tree}}


def realistic():
    text = {"type": "string", "maxLength": 40}
    money = {"type": "number", "minimum": 0, "maximum": 100000, "multipleOf": 0.25}
    yield closed({"city": text, "country": text})
    yield closed({"name": text, "age": {"type": "integer", "minimum": 0, "maximum": 130}, "email": {"type": "string", "format": "email", "maxLength": 40}})
    yield closed({"location": text, "unit": {"enum": ["celsius", "fahrenheit"]}})
    yield closed({"sentiment": {"enum": ["positive", "neutral", "negative"]}, "confidence": {"type": "number", "minimum": 0, "maximum": 1}})
    yield closed({"steps": {"type": "array", "items": closed({"explanation": text, "output": text}), "minItems": 1, "maxItems": 3}, "final_answer": text})
    yield closed({"id": {"type": "string", "format": "uuid"}, "created": {"type": "string", "format": "date-time"}, "tags": {"type": "array", "items": text, "maxItems": 3}})
    yield closed({"lines": {"type": "array", "items": {"$ref": "#/$defs/line"}, "minItems": 1, "maxItems": 3}, "total": money}, **{"$defs": {"line": closed({"sku": NAME, "count": SMALL, "price": money})}})
    yield closed({"title": text, "chapters": {"type": "array", "items": text, "minItems": 2, "maxItems": 4}})
    yield closed({"query": text, "filters": closed({"from": {"type": ["string", "null"], "format": "date"}, "limit": {"type": "integer", "minimum": 1, "maximum": 100}})})
    shape = [closed({"kind": {"const": "circle"}, "radius": money}), closed({"kind": {"const": "box"}, "width": money, "height": money})]
    yield closed({"shapes": {"type": "array", "items": {"oneOf": shape}, "minItems": 1, "maxItems": 3}})
    yield closed({"host": {"type": "string", "format": "ipv4"}, "port": {"type": "integer", "minimum": 1, "maximum": 65535}, "tls": {"type": "boolean"}})
    yield closed({"reply": {"anyOf": [{"type": "null"}, text]}, "escalate": {"type": "boolean"}})


FAMILIES = [types, strings, numbers, values, arrays, objects, combined, references, realistic]
