//! Lark grammars whose schemas are held to the rules of all others.

use serde_json::{Deserializer, Value};

use crate::Result;

const SCHEMA: &str = "%json";

/// `text` with each schema in it replaced by what `held` makes of it. llguidance finds schemas by this word alone, so
/// that none is missed; in a string it has to be written another way, such as "\u0025json".
pub fn with_schemas(text: &str, held: impl Fn(Value) -> Result<Value>) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(SCHEMA) {
        let (before, after) = rest.split_at(at + SCHEMA.len());
        let mut values = Deserializer::from_str(after).into_iter();
        let schema = values.next().ok_or("a JSON schema must follow %json")?;
        let schema = schema.map_err(|e| format!("a JSON schema must follow %json: behind it {e}"))?;
        out.push_str(before);
        out.push_str(&held(schema)?.to_string());
        rest = &after[values.byte_offset()..];
    }
    Ok(out + rest)
}
