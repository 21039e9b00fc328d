//! The tojson filter as Hugging Face defines it: Python's json.dumps.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// Deeper values are refused: a namespace can hold itself.
const MAX_DEPTH: usize = 200;

struct Style {
    ascii: bool,
    indent: Option<String>, // of one level; None: all on one line
    item: String,
    key: String,
    sort: bool,
}

/// value|tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)
pub fn tojson(value: &Value, positional: Rest<Value>, kwargs: Kwargs) -> Result<String, Error> {
    let argument = |n: usize, name: &str| match positional.get(n) {
        Some(value) => Ok(value.clone()),
        None => Ok::<_, Error>(kwargs.get::<Option<Value>>(name)?.unwrap_or_else(|| ().into())),
    };
    let ascii = argument(0, "ensure_ascii")?;
    let indent = argument(1, "indent")?;
    let separators = argument(2, "separators")?;
    let sort = argument(3, "sort_keys")?;
    kwargs.assert_all_used()?;

    let indent = indent_text(&indent)?;
    let default_item = if indent.is_some() { "," } else { ", " };
    let (item, key) = if separators.is_none() {
        (default_item.into(), ": ".into())
    } else {
        let text = |at| Ok::<_, Error>(separators.get_item_by_index(at)?.to_string());
        (text(0)?, text(1)?)
    };
    let style = Style { ascii: ascii.is_true(), indent, item, key, sort: sort.is_true() };
    let mut out = String::new();
    style.write(value, 0, &mut out)?;
    Ok(out)
}

fn indent_text(indent: &Value) -> Result<Option<String>, Error> {
    if indent.is_none() {
        return Ok(None);
    }
    if let Some(text) = indent.as_str() {
        return Ok(Some(text.to_owned()));
    }
    let width = indent.as_i64().ok_or_else(|| wrong("tojson: indent is neither a number nor text"))?;
    Ok(Some(" ".repeat(usize::try_from(width).unwrap_or(0).min(100))))
}

impl Style {
    fn write(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(wrong("tojson: the value nests too deeply"));
        }
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&number(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default(), out),
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<_> = value.try_iter()?.collect();
                self.container(('[', ']'), &items, depth, out, |item, out| self.write(item, depth + 1, out))?;
            }
            ValueKind::Map => {
                let mut keys: Vec<_> = value.try_iter()?.collect();
                if self.sort {
                    keys.sort();
                }
                self.container(('{', '}'), &keys, depth, out, |key, out| {
                    self.string(&key_text(key)?, out);
                    out.push_str(&self.key);
                    self.write(&value.get_item(key)?, depth + 1, out)
                })?;
            }
            kind => return Err(wrong(format!("tojson: a value of kind {kind} is not JSON"))),
        }
        Ok(())
    }

    fn container(
        &self,
        (open, close): (char, char),
        items: &[Value],
        depth: usize,
        out: &mut String,
        write_item: impl Fn(&Value, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        out.push(open);
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                out.push_str(&self.item);
            }
            self.new_line(depth + 1, out);
            write_item(item, out)?;
        }
        if !items.is_empty() {
            self.new_line(depth, out);
        }
        out.push(close);
        Ok(())
    }

    fn new_line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            out.push_str(&indent.repeat(depth));
        }
    }

    fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' || (self.ascii && !c.is_ascii()) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

/// Python's repr: floats keep a fraction or an exponent.
fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    let float = f64::try_from(value.clone()).unwrap_or(f64::NAN);
    if float.is_nan() {
        return "NaN".into();
    }
    if float.is_infinite() {
        return if float > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    // Rust's Debug changes to exponents where Python does, but writes 1e16 for Python's 1e+16.
    let text = format!("{float:?}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            format!("{mantissa}e{:+03}", exponent.parse::<i32>().unwrap_or_default())
        }
        None => text,
    }
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.to_string()),
        ValueKind::None => Ok("null".into()),
        ValueKind::Bool => Ok(key.to_string().to_lowercase()),
        ValueKind::Number => Ok(number(key)),
        kind => Err(wrong(format!("tojson: a key of kind {kind} is not JSON"))),
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}
