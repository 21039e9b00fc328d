//! Whether some finite document fits a schema: one that must contain itself, and so on, would never end.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::Result;

pub fn check_ends(schema: &Value) -> Result<()> {
    let mut search = Search { root: schema, refs: HashMap::new(), fuel: 100_000 };
    if search.ends(schema)? {
        return Ok(());
    }
    Err("no finite document fits: a '$ref' leads back to itself".into())
}

struct Search<'a> {
    root: &'a Value,
    refs: HashMap<&'a str, bool>, // false: being looked at, further up
    fuel: usize,
}

impl<'a> Search<'a> {
    fn ends(&mut self, schema: &'a Value) -> Result<bool> {
        self.fuel = self.fuel.checked_sub(1).ok_or("its references are too entangled")?;
        let Value::Object(members) = schema else { return Ok(true) };
        Ok(self.reference_ends(members)?
            && self.all(list(members, "allOf"))?
            && self.any(list(members, "anyOf"))?
            && self.any(list(members, "oneOf"))?
            && self.all(needed_items(members))?
            && self.all(needed_properties(members))?)
    }

    /// References to other places than a path in this document are left to llguidance.
    fn reference_ends(&mut self, members: &'a Map<String, Value>) -> Result<bool> {
        let Some(Value::String(reference)) = members.get("$ref") else { return Ok(true) };
        let Some(target) = reference.strip_prefix('#').and_then(|path| self.root.pointer(path)) else {
            return Ok(true);
        };
        if let Some(&ends) = self.refs.get(reference.as_str()) {
            return Ok(ends);
        }
        self.refs.insert(reference, false);
        let ends = self.ends(target)?;
        if ends {
            self.refs.insert(reference, true);
        } else {
            self.refs.remove(reference.as_str());
        }
        Ok(ends)
    }

    fn all(&mut self, schemas: impl IntoIterator<Item = &'a Value>) -> Result<bool> {
        for schema in schemas {
            if !self.ends(schema)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Of no alternatives: true.
    fn any(&mut self, schemas: &'a [Value]) -> Result<bool> {
        for schema in schemas {
            if self.ends(schema)? {
                return Ok(true);
            }
        }
        Ok(schemas.is_empty())
    }
}

/// What an array must have.
fn needed_items(members: &Map<String, Value>) -> Vec<&Value> {
    let least = members.get("minItems").and_then(Value::as_u64).unwrap_or(0) as usize;
    if least == 0 || members.get("type") != Some(&"array".into()) {
        return Vec::new();
    }
    let mut first = list(members, "prefixItems");
    if first.is_empty() {
        first = list(members, "items");
    }
    let others = ["items", "additionalItems"].iter().filter_map(|name| members.get(*name)).filter(|s| s.is_object());
    first.iter().take(least).chain(others.filter(|_| least > first.len())).collect()
}

/// What an object must have.
fn needed_properties(members: &Map<String, Value>) -> Vec<&Value> {
    if members.get("type") != Some(&"object".into()) {
        return Vec::new();
    }
    let properties = members.get("properties").and_then(Value::as_object);
    let schema_of = |name: &str| properties.and_then(|p| p.get(name)).or_else(|| members.get("additionalProperties"));
    list(members, "required").iter().filter_map(|name| schema_of(name.as_str()?)).collect()
}

fn list<'a>(members: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    members.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
