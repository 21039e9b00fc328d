//! Constrained output under llguidance: a vocabulary, grammars compiled for it, and matchers that say which tokens may
//! come next.

use std::fmt::Display;
use std::sync::Arc;

use llguidance::api::{GrammarWithLexer, ParserLimits, TopLevelGrammar};
use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};
use llguidance::{JsonCompileOptions, ParserFactory};
use serde_json::Value;

use crate::ffi::{GrammarKind, GrammarSource, TokenTable};
use crate::gbnf::{is_gbnf, to_lark};
use crate::lark::with_schemas;
use crate::{guard, schema, Error, Result};

/// Between two lexemes of JSON. Bounded, so that a model that likes blanks gets on with it.
const JSON_BLANKS: &str = r"[ \n\r\t]{1,24}";
/// Of the escapes that JSON has only those of one letter: \u0061 would be another way to write a name.
const JSON_ESCAPES: &str = "nrbtf\\\"";

pub struct Grammars {
    factory: ParserFactory,
}

impl Grammars {
    /// `table.bytes` of a special token: its name. `end_ids`: those that end an answer.
    pub fn new(table: &TokenTable, end_ids: &[u32]) -> Result<Self> {
        let words = words(table);
        let info = TokRxInfo::new(u32::try_from(words.len())?, *end_ids.first().ok_or("no token ends an answer")?);
        let trie = TokTrie::from(&info, &words).with_eos_tokens(end_ids);
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new(&env, InferenceCapabilities::default(), &slices())?;
        factory.quiet();
        *factory.limits_mut() = limits();
        Ok(Self { factory })
    }

    pub fn compile(&self, sources: &[GrammarSource], after_space: bool) -> Result<Box<Matcher>> {
        guard(|| {
            let parser = self.factory.create_parser(grammar(sources, after_space)?).map_err(clear)?;
            Ok(Box::new(Matcher { inner: llguidance::Matcher::new(Ok(parser)) }))
        })
    }
}

/// llguidance's message in terms that a client knows.
fn clear(error: impl Display) -> Error {
    let text = error.to_string();
    if text.contains("coerce_one_of") {
        return "'oneOf' is supported only where no document can match two of its schemas".into();
    }
    if text.contains("NoExtensionBias") {
        return "no text fits the grammar here".into();
    }
    text.replace("\n<non-verbose/>", "").into()
}

/// Bounds on what one grammar may cost: some tens of milliseconds to compile and for each mask, some tens of MB.
fn limits() -> ParserLimits {
    ParserLimits { max_lexer_states: 30_000, verbose_errors: false, ..ParserLimits::default() }
}

/// Sets of tokens that the lexer in many of its states lets through as a whole, so that they need not be looked at one by
/// one: the text of JSON's strings, and the letters and digits that regular expressions repeat.
fn slices() -> Vec<String> {
    let letters = ["[ 0-9A-Za-z]{1,30}", "[ A-Za-z]{1,30}", "[ a-z]{1,30}", "[a-z]{1,30}"].map(String::from);
    [SlicedBiasComputer::general_slices(), letters.into()].concat()
}

/// toktrie marks a special token by a byte that is in no text.
fn words(table: &TokenTable) -> Vec<Vec<u8>> {
    let mut begin = 0;
    let word = |(end, special): (&u32, &bool)| {
        let bytes = &table.bytes[begin..*end as usize];
        begin = *end as usize;
        let mark: &[u8] = if *special { &[TokTrie::SPECIAL_TOKEN_MARKER] } else { &[] };
        [mark, bytes].concat()
    };
    table.ends.iter().zip(&table.special).map(word).collect()
}

fn grammar(sources: &[GrammarSource], after_space: bool) -> Result<TopLevelGrammar> {
    let mut grammars = sources.iter().map(part).collect::<Result<Vec<_>>>()?;
    if after_space {
        let start = format!("start: \" \" @{}", sources.first().map_or("", |answer| &answer.name));
        grammars.insert(0, GrammarWithLexer::from_lark(start));
    }
    Ok(TopLevelGrammar { grammars, max_tokens: None })
}

fn part(source: &GrammarSource) -> Result<GrammarWithLexer> {
    let labelled = |error| match source.label.as_str() {
        "" => error,
        label => format!("{label}: {error}").into(),
    };
    let mut grammar = match source.kind {
        GrammarKind::JsonSchema => {
            let schema = serde_json::from_str(&source.text).map_err(Error::from);
            let held = schema.and_then(|schema| held_schema(schema, source.blanks)).map_err(labelled)?;
            GrammarWithLexer::from_json_schema(held)
        }
        GrammarKind::Regex => GrammarWithLexer::from_regex(&source.text),
        GrammarKind::Choice => GrammarWithLexer::from_regex(&choice_regex(source)?),
        GrammarKind::Lark if is_gbnf(&source.text) => GrammarWithLexer::from_lark(to_lark(&source.text)?),
        GrammarKind::Lark => {
            GrammarWithLexer::from_lark(with_schemas(&source.text, |schema| held_schema(schema, source.blanks))?)
        }
        _ => return Err("unknown kind of grammar".into()),
    };
    grammar.name = Some(source.name.clone());
    Ok(grammar)
}

fn choice_regex(source: &GrammarSource) -> Result<String> {
    let choices: Vec<String> = serde_json::from_str(&source.text)?;
    Ok(choices.iter().map(|choice| regex::escape(choice)).collect::<Vec<_>>().join("|"))
}

/// The schema with the options under which llguidance holds it.
fn held_schema(mut schema: Value, blanks: bool) -> Result<Value> {
    schema::check(&schema)?;
    if schema == true {
        schema = Value::Object(Default::default());
    }
    let options = JsonCompileOptions {
        whitespace_flexible: blanks,
        whitespace_pattern: blanks.then(|| JSON_BLANKS.into()),
        json_allowed_escapes: Some(JSON_ESCAPES.into()),
        ..JsonCompileOptions::default()
    };
    if schema.is_object() {
        options.apply_to(&mut schema);
    }
    Ok(schema)
}

pub struct Matcher {
    inner: llguidance::Matcher,
}

impl Matcher {
    pub fn fork(&self) -> Box<Matcher> {
        Box::new(Matcher { inner: self.inner.clone() })
    }

    /// Bit `id` of `out`: whether it may come next.
    pub fn mask(&mut self, out: &mut [u32]) -> Result<()> {
        guard(|| {
            let mask = self.inner.compute_mask_or_eos().map_err(clear)?;
            let words = mask.as_slice();
            let n = out.len().min(words.len());
            out[..n].copy_from_slice(&words[..n]);
            out[n..].fill(0);
            Ok(())
        })
    }

    pub fn accept(&mut self, id: u32) -> Result<()> {
        guard(|| self.inner.consume_token(id).map_err(clear))
    }

    /// The text is complete and nothing can follow.
    pub fn ended(&self) -> bool {
        self.inner.is_stopped()
    }
}

// C++ shares the first among threads and hands the second from one to another.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Grammars>();
    shared::<Matcher>();
};
