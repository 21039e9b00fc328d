//! A chat template under minijinja, with the settings and helpers of transformers' apply_chat_template.

use std::fmt;

use minijinja::machinery::{get_compiled_template, Instruction, Instructions};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};
use minijinja_contrib::pycompat::unknown_method_callback;
use regex::Regex;

use crate::{guard, json, Result};

const NAME: &str = "chat";

/// Instructions of one rendering: seconds of work, a thousand times what a long conversation needs.
const FUEL: u64 = 50_000_000;

pub struct Template {
    env: Environment<'static>,
}

impl Template {
    pub fn compile(source: &str) -> Result<Self> {
        let mut env = environment()?;
        let source = without_generation_tags(source)?;
        env.add_template_owned(NAME, source).map_err(|e| with_causes(&e))?;
        check_names(&env)?;
        Ok(Self { env })
    }

    /// `context`: the variables as a JSON object. Its parser refuses nesting beyond 128.
    pub fn render(&self, context: &str) -> Result<String> {
        guard(|| {
            let context: serde_json::Value = serde_json::from_str(context)?;
            let rendered = self.env.get_template(NAME)?.render(Serde(context));
            rendered.map_err(|error| match raised(&error) {
                Some(message) => message.into(),
                None => format!("the chat template failed: {}", with_causes(&error)).into(),
            })
        })
    }
}

fn environment() -> Result<Environment<'static>> {
    let mut env = Environment::new();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.set_fuel(Some(FUEL));
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    env.set_unknown_method_callback(unknown_method_callback);
    minijinja_contrib::add_to_environment(&mut env);
    env.add_filter("tojson", json::tojson);
    // Python iterates text and mappings, and Jinja's undefined value too.
    env.add_test("iterable", |value: &Value| is_sequence(value) || value.kind() == ValueKind::Iterable);
    env.add_test("sequence", is_sequence);
    env.add_function("raise_exception", |message: Value| -> std::result::Result<Value, Error> {
        let error = Error::new(ErrorKind::InvalidOperation, "raise_exception");
        Err(error.with_source(Raised(message.to_string())))
    });
    env.add_function("strftime_now", strftime_now);
    Ok(env)
}

fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Map)
}

/// transformers marks the assistant's part with {% generation %}, which prints its body unchanged.
fn without_generation_tags(source: &str) -> Result<String> {
    let opening = Regex::new(r"(\{%[-+]?\s*)generation(\s*[-+]?%\})")?;
    let closing = Regex::new(r"(\{%[-+]?\s*)endgeneration(\s*[-+]?%\})")?;
    let source = opening.replace_all(source, "${1}if true${2}");
    Ok(closing.replace_all(&source, "${1}endif${2}").into_owned())
}

/// minijinja finds an unknown filter or test only where it is reached; a template that has one is refused at once.
fn check_names(env: &Environment<'static>) -> Result<()> {
    let template = env.get_template(NAME)?;
    let compiled = get_compiled_template(&template);
    for instructions in std::iter::once(&compiled.instructions).chain(compiled.blocks.values()) {
        check_instructions(env, instructions)?;
    }
    Ok(())
}

fn check_instructions(env: &Environment<'static>, instructions: &Instructions) -> Result<()> {
    let mut state = env.empty_state();
    for pc in 0.. {
        let (what, name, error) = match instructions.get(pc) {
            Some(Instruction::ApplyFilter(name, ..)) => ("filter", name, state.apply_filter(name, &[]).err()),
            Some(Instruction::PerformTest(name, ..)) => ("test", name, state.perform_test(name, &[]).err()),
            Some(_) => continue,
            None => break,
        };
        let kind = error.map(|e| e.kind());
        if matches!(kind, Some(ErrorKind::UnknownFilter | ErrorKind::UnknownTest)) {
            return Err(format!("it uses the unknown {what} {name:?}").into());
        }
    }
    Ok(())
}

/// The message of a raise_exception call, which reaches the client word for word.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

fn raised(error: &Error) -> Option<String> {
    let first: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(Some(first), |e| e.source());
    causes.find_map(|e| e.downcast_ref::<Raised>()).map(ToString::to_string)
}

fn with_causes(error: &Error) -> String {
    let first: &(dyn std::error::Error + 'static) = error;
    let causes = std::iter::successors(Some(first), |e| e.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// datetime.now().strftime(format), which is C's strftime on the local time.
fn strftime_now(format: &str) -> std::result::Result<String, Error> {
    if format.is_empty() {
        return Ok(String::new());
    }
    let wrong = || Error::new(ErrorKind::InvalidOperation, "strftime_now: unusable format");
    let format = std::ffi::CString::new(format).map_err(|_| wrong())?;
    let mut buffer = vec![0u8; 1024];
    // SAFETY: `time` is zeroed plain data, `format` ends with NUL, and strftime writes at most buffer.len() bytes.
    let written = unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut time: libc::tm = std::mem::zeroed();
        libc::localtime_r(&now, &mut time);
        libc::strftime(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr(), &time)
    };
    buffer.truncate(written);
    String::from_utf8(buffer).map_err(|_| wrong())
}
