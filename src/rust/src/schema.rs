//! JSON schemas that llguidance holds in every document it lets through. Others are refused with the keyword at
//! fault and its place, because llguidance itself skips keywords that it does not know.

use std::fmt::Display;

use llguidance::derivre::{RegexAst, RegexBuilder};
use llguidance::regex_to_lark;
use serde_json::{Map, Value};

use crate::schema_depth::check_ends;
use crate::Result;

/// What a keyword's value is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Note, // says nothing about the document
    Rule,
    Number,
    Pattern,
    Const,
    Enum,
    Format,
    Schemas,      // a schema, or a list of them
    NamedSchemas, // an object of them
    PatternSchemas,
}
use Kind::*;

#[rustfmt::skip]
const KEYWORDS: &[(Kind, &[&str])] = &[
    (Note, &["$schema", "$id", "$anchor", "$comment", "title", "description", "default", "examples", "deprecated",
             "readOnly", "writeOnly", "contentEncoding", "contentMediaType"]),
    (Rule, &["type", "$ref", "required", "minProperties", "maxProperties", "minItems", "maxItems", "minLength",
             "maxLength"]),
    (Number, &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    (Pattern, &["pattern"]),
    (Format, &["format"]),
    (Const, &["const"]),
    (Enum, &["enum"]),
    (Schemas, &["allOf", "anyOf", "oneOf", "items", "prefixItems", "additionalItems", "additionalProperties"]),
    (NamedSchemas, &["properties", "$defs", "definitions"]),
    (PatternSchemas, &["patternProperties"]),
];

/// Of llguidance's formats, those that say something.
#[rustfmt::skip]
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

pub fn check(schema: &Value) -> Result<()> {
    check_schema(schema, "#")?;
    check_ends(schema)
}

fn check_schema(schema: &Value, at: &str) -> Result<()> {
    match schema {
        Value::Bool(_) => Ok(()),
        Value::Object(members) => {
            check_min_properties(members, at)?;
            members.iter().try_for_each(|(name, value)| check_keyword(name, value, &format!("{at}/{name}")))
        }
        _ => Err(format!("{at} must be a schema: an object or a boolean").into()),
    }
}

fn kind_of(name: &str) -> Option<Kind> {
    if name.starts_with("x-") && name != "x-guidance" {
        return Some(Note); // x-guidance: llguidance's own options
    }
    KEYWORDS.iter().find(|(_, names)| names.contains(&name)).map(|(kind, _)| *kind)
}

fn check_keyword(name: &str, value: &Value, at: &str) -> Result<()> {
    let kind = kind_of(name).ok_or_else(|| format!("the keyword '{name}' at {at} is not supported"))?;
    match (kind, value) {
        (Enum, Value::Array(values)) if values.is_empty() => {
            Err(format!("{at} has no values: nothing can match it").into())
        }
        (Number | Const | Enum, _) => check_document(value, at),
        (Format, _) if !FORMATS.iter().any(|known| value == known) => {
            Err(format!("the format {value} at {at} is not supported").into())
        }
        (Pattern, Value::String(pattern)) => check_pattern(pattern, at),
        (Schemas, Value::Array(list)) => check_all(list.iter().enumerate(), at),
        (Schemas, _) => check_schema(value, at),
        (NamedSchemas | PatternSchemas, Value::Object(members)) => {
            if kind == PatternSchemas {
                members.keys().try_for_each(|pattern| check_pattern(pattern, at))?;
            }
            check_all(members, at)
        }
        (NamedSchemas | PatternSchemas, _) => Err(format!("{at} must be an object").into()),
        _ => Ok(()),
    }
}

fn check_all<'a, Name: Display>(schemas: impl IntoIterator<Item = (Name, &'a Value)>, at: &str) -> Result<()> {
    schemas.into_iter().try_for_each(|(name, schema)| check_schema(schema, &format!("{at}/{name}")))
}

/// As llguidance reads a pattern: found anywhere, \d and \w ASCII.
fn check_pattern(pattern: &str, at: &str) -> Result<()> {
    let ast = RegexAst::SearchRegex(regex_to_lark(pattern, "dw"));
    let unusable = |error| format!("the pattern {pattern:?} at {at} is not supported: {error}").into();
    RegexBuilder::new().mk(&ast).map(drop).map_err(unusable)
}

/// Numbers are compared as doubles, and control characters without an escape of their own cannot be written: \u0061
/// is not allowed, for it would be another way to write a name that a schema tells apart.
fn check_document(value: &Value, at: &str) -> Result<()> {
    const MOST: f64 = 9007199254740992.0; // 2^53
    let unwritable = |c: char| c.is_control() && !"\n\r\t\u{8}\u{c}".contains(c);
    match value {
        Value::Number(number) if !number.as_f64().is_some_and(|real| real.abs() < MOST) => {
            Err(format!("the number {number} at {at} is beyond 2^53: it cannot be held exactly").into())
        }
        Value::String(text) if text.contains(unwritable) => {
            Err(format!("the text at {at} has a control character, which is not supported").into())
        }
        Value::Array(values) => values.iter().try_for_each(|value| check_document(value, at)),
        Value::Object(members) => members.values().try_for_each(|value| check_document(value, at)),
        _ => Ok(()),
    }
}

/// A document may repeat a name that the schema does not list, and the repeated ones count once.
fn check_min_properties(members: &Map<String, Value>, at: &str) -> Result<()> {
    let least = members.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
    let required = members.get("required").and_then(Value::as_array).map_or(0, Vec::len);
    if least > required as u64 + 1 {
        return Err(format!("'minProperties' at {at} may exceed the number of 'required' names by one at most").into());
    }
    Ok(())
}
