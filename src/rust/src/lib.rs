//! The C++ face of the Rust libraries. Every function that can fail returns a Result, which cxx turns
//! into an exception; `guard` turns a panic into one too, so none reaches the C++ side.

mod gbnf;
mod gguf;
mod grammar;
mod json;
mod lark;
mod lengths;
mod schema;
mod schema_depth;
mod template;
mod token_bytes;
mod tokenizer;
mod trace;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

use grammar::{Grammars, Matcher};
use template::Template;
use tokenizer::Tokenizer;
use trace::Traces;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Error>;

#[cxx::bridge(namespace = "mlxforge::rs")]
pub mod ffi {
    /// A token that tokenizer_config.json declares.
    struct DeclaredToken {
        id: i64, // -1: not said
        content: String,
        single_word: bool,
        lstrip: bool,
        rstrip: bool,
        normalized: bool,
        special: bool,
    }

    /// tokenizer.ggml.* of a GGUF. An absent array is empty.
    struct GgufVocab {
        model: String,
        pre: String,
        tokens: Vec<String>,
        scores: Vec<f32>,
        types: Vec<i32>,
        merges: Vec<String>,
        special_ids: Vec<u32>, // bos, eos, ...: special whatever their type says
        unknown_id: i64,       // -1: none
        add_space_prefix: bool,
    }

    /// A special token in a text: bytes [begin, end).
    struct Span {
        begin: usize,
        end: usize,
        id: u32,
    }

    /// What the first token of a decoded text loses.
    enum FirstSpace {
        Kept,
        OneDropped,
        AllDropped,
    }

    /// Token `id` stands for bytes[ends[id - 1] .. ends[id]].
    struct TokenTable {
        bytes: Vec<u8>,
        ends: Vec<u32>,
        special: Vec<bool>,
        first_space: FirstSpace,
        byte_level: bool, // else SentencePiece-like
        longest: usize,   // the most bytes of a text that become one token (lengths.rs); 0: any number
    }

    /// What the post-processor puts around a text.
    struct Affixes {
        prefix: Vec<u32>,
        suffix: Vec<u32>,
    }

    enum GrammarKind {
        JsonSchema,
        Regex,
        Choice, // one of the strings in a JSON list
        Lark,
    }

    struct GrammarSource {
        kind: GrammarKind,
        text: String,
        name: String,
        label: String, // what a failure begins with
        blanks: bool,  // JSON: white space between its tokens
    }

    enum AttributeKind {
        Text,
        Integer,
        Real,
        List, // of one text
    }

    struct SpanAttribute {
        name: String,
        kind: AttributeKind,
        text: String,
        number: f64,
    }

    /// A request that has ended.
    struct RequestSpan {
        name: String,
        traceparent: String, // the client's headers (W3C Trace Context); may be empty
        tracestate: String,
        ms: f64, // how long it took
        failed: bool,
        attributes: Vec<SpanAttribute>,
    }

    unsafe extern "C++" {
        include!("base/cancel_flag.h");
        #[namespace = "mlxforge"]
        type CancelFlag;
        fn is_set(self: &CancelFlag) -> bool;
    }

    extern "Rust" {
        type Tokenizer;
        fn tokenizer_from_json(json: &str, declared: &[DeclaredToken]) -> Result<Box<Tokenizer>>;
        fn tokenizer_from_gguf(vocab: &GgufVocab) -> Result<Box<Tokenizer>>;
        fn table(self: &Tokenizer) -> Result<TokenTable>;
        fn affixes(self: &Tokenizer) -> Result<Affixes>;
        fn token(self: &Tokenizer, id: u32) -> String; // empty: no such token
        fn id_of(self: &Tokenizer, token: &str) -> i64; // -1: no such token
        fn specials(self: &Tokenizer, text: &str) -> Result<Vec<Span>>;
        /// Once `cancel` is set the rest of the text is skipped, and the ids mean nothing.
        fn encode(self: &Tokenizer, text: &str, specials: &[Span], cancel: &CancelFlag) -> Result<Vec<u32>>;

        type Template;
        fn compile_template(source: &str) -> Result<Box<Template>>;
        fn render(self: &Template, context: &str) -> Result<String>;

        type Grammars;
        fn grammars_of(table: &TokenTable, end_ids: &[u32]) -> Result<Box<Grammars>>;
        // The first source, which may refer to the others as @name; after_space: behind a space.
        fn compile(self: &Grammars, sources: &[GrammarSource], after_space: bool) -> Result<Box<Matcher>>;

        type Matcher;
        fn fork(self: &Matcher) -> Box<Matcher>;
        fn mask(self: &mut Matcher, out: &mut [u32]) -> Result<()>;
        fn accept(self: &mut Matcher, id: u32) -> Result<()>;
        fn ended(self: &Matcher) -> bool;

        type Traces;
        fn start_traces(endpoint: &str) -> Result<Box<Traces>>;
        fn record(self: &Traces, span: &RequestSpan) -> Result<()>;
        fn news(self: &Traces) -> String;
        fn shut_down(self: &Traces, ms: u64) -> Result<()>;
    }
}

/// Runs `f`; a panic becomes an Err with its message.
pub fn guard<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("internal failure: {}", text.unwrap_or("unknown")).into())
    })
}

fn tokenizer_from_json(json: &str, declared: &[ffi::DeclaredToken]) -> Result<Box<Tokenizer>> {
    guard(|| Ok(Box::new(Tokenizer::from_json(json, declared)?)))
}

fn tokenizer_from_gguf(vocab: &ffi::GgufVocab) -> Result<Box<Tokenizer>> {
    guard(|| Ok(Box::new(gguf::build(vocab)?)))
}

fn compile_template(source: &str) -> Result<Box<Template>> {
    guard(|| Ok(Box::new(Template::compile(source)?)))
}

fn grammars_of(table: &ffi::TokenTable, end_ids: &[u32]) -> Result<Box<Grammars>> {
    guard(|| Ok(Box::new(Grammars::new(table, end_ids)?)))
}

fn start_traces(endpoint: &str) -> Result<Box<Traces>> {
    guard(|| Ok(Box::new(Traces::start(endpoint)?)))
}
