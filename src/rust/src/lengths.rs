//! What a text's length says about its tokens, and where a long text may be cut.

use serde_json::Value;
use tokenizers::{ModelWrapper, Tokenizer};

use crate::ffi::TokenTable;
use crate::gguf::word_pattern;
use crate::Result;

/// The most bytes of a text that become one token, those that are no token of their own left out: they may vanish. 0 where
/// there is no bound: a token may swallow the spaces around it, unknown characters share one, a step before the model
/// may shorten the text.
pub fn longest_token(tokenizer: &Tokenizer, table: &TokenTable) -> Result<usize> {
    let swallows = tokenizer.get_added_vocabulary().get_added_tokens_decoder().values().any(|token| token.lstrip || token.rstrip);
    let normalizer = serde_json::to_value(tokenizer.get_normalizer())?;
    let pre_tokenizer = serde_json::to_value(tokenizer.get_pre_tokenizer())?;
    if swallows || !falls_back_to_bytes(tokenizer, table) || !keeps_text(&normalizer) || !keeps_text(&pre_tokenizer) {
        return Ok(0);
    }
    let composed = if normalizer.to_string().contains("NFC") { 3 } else { 1 }; // it makes at most three bytes one
    let begins = std::iter::once(0).chain(table.ends.iter().copied());
    let longest = table.ends.iter().zip(begins).map(|(end, begin)| (end - begin) as usize).max();
    Ok(longest.unwrap_or(0) * composed)
}

/// Whether every byte that is a token of its own is covered by tokens, whatever stands around it.
fn falls_back_to_bytes(tokenizer: &Tokenizer, table: &TokenTable) -> bool {
    let in_utf8 = |byte: u8| !matches!(byte, 0xc0 | 0xc1 | 0xf5..);
    let begins = std::iter::once(0).chain(table.ends.iter().copied());
    let mut seen = [false; 256];
    for (begin, end) in begins.zip(table.ends.iter().copied()) {
        if let [byte] = table.bytes[begin as usize..end as usize] {
            seen[usize::from(byte)] = true;
        }
    }
    let ModelWrapper::BPE(bpe) = tokenizer.get_model() else { return false };
    table.byte_level || bpe.byte_fallback && (0..=255).all(|byte| seen[usize::from(byte)] || !in_utf8(byte))
}

/// Whether a normalizer or pre-tokenizer, as JSON, drops nothing but what NFC composes.
fn keeps_text(step: &Value) -> bool {
    match step["type"].as_str() {
        None => step.is_null(),
        Some("Sequence") => parts(step).all(keeps_text),
        Some("Replace") => step["pattern"]["String"] == " " && step["content"] == "▁",
        Some("Split" | "Punctuation") => step["behavior"] != "Removed",
        Some(name) => matches!(name, "NFC" | "Prepend" | "ByteLevel" | "Digits" | "Metaspace"),
    }
}

fn parts(sequence: &Value) -> impl Iterator<Item = &Value> {
    let named = |name| sequence[name].as_array().into_iter().flatten();
    named("normalizers").chain(named("pretokenizers"))
}

/// Whether a text may be cut before a space that follows something else than white space: GPT-2's pattern and its
/// descendants begin a piece there whatever surrounds it, and no token of its own has such a place inside.
pub fn splits_before_spaces(tokenizer: &Tokenizer) -> Result<bool> {
    let mut added = tokenizer.get_added_vocabulary().get_added_tokens_decoder().values().filter(|token| !token.special);
    let normalizer = serde_json::to_value(tokenizer.get_normalizer())?;
    let pre_tokenizer = serde_json::to_value(tokenizer.get_pre_tokenizer())?;
    let cuts = !added.any(|token| token.rstrip || token.content.contains(' '))
        && (normalizer.is_null() || normalizer["type"] == "NFC");
    Ok(cuts && splits(&pre_tokenizer) == Some(true))
}

/// Whether this pre-tokenizer splits so; nothing where it is not understood.
fn splits(step: &Value) -> Option<bool> {
    match step["type"].as_str()? {
        "Sequence" => parts(step).map(splits).try_fold(false, |any, part| Some(any | part?)),
        "Digits" => Some(false),
        "ByteLevel" if step["add_prefix_space"] == false => step["use_regex"].as_bool(),
        "Split" if step["behavior"] == "Isolated" && step["invert"] == false => {
            let pattern = step["pattern"]["Regex"].as_str()?;
            ["", "{1}", "{1,3}"].iter().any(|digits| pattern == word_pattern(digits)).then_some(true)
        }
        _ => None,
    }
}
