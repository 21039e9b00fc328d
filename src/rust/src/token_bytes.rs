//! The bytes that each token stands for, from the tokenizer's decoder.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::ffi::{FirstSpace, TokenTable};
use crate::{lengths, Result};

/// How a vocabulary entry turns into bytes: GPT-2's byte alphabet, or SentencePiece's text.
struct Decoding {
    byte_level: bool,
    replace: Vec<(String, String)>,
    byte_fallback: bool, // <0x0A> is the byte 10
    first_space: FirstSpace,
}

pub fn table(tokenizer: &tokenizers::Tokenizer, special: &HashSet<u32>) -> Result<TokenTable> {
    let decoding = Decoding::of(tokenizer)?;
    let alphabet = byte_alphabet();
    let vocab = tokenizer.get_vocab(true);
    let size = vocab.values().max().map_or(0, |id| id + 1);
    let mut table = TokenTable {
        bytes: Vec::with_capacity(size as usize * 8),
        ends: Vec::with_capacity(size as usize),
        special: (0..size).map(|id| special.contains(&id)).collect(),
        first_space: decoding.first_space,
        byte_level: decoding.byte_level,
        longest: 0,
    };
    for id in 0..size {
        // An added token in its normalized form, as the decoder sees it.
        let token = tokenizer.id_to_token(id).unwrap_or_default();
        table.bytes.extend(decoding.bytes(token, &alphabet));
        table.ends.push(u32::try_from(table.bytes.len())?);
    }
    table.longest = lengths::longest_token(tokenizer, &table)?;
    Ok(table)
}

impl Decoding {
    fn of(tokenizer: &tokenizers::Tokenizer) -> Result<Self> {
        let mut decoding =
            Decoding { byte_level: false, replace: Vec::new(), byte_fallback: false, first_space: FirstSpace::Kept };
        let decoder = tokenizer.get_decoder().ok_or_else(|| unusable(&Value::Null))?;
        decoding.add(&serde_json::to_value(decoder)?)?;
        Ok(decoding)
    }

    fn add(&mut self, decoder: &Value) -> Result<()> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match decoder["type"].as_str().unwrap_or_default() {
            "Sequence" => {
                for part in decoder["decoders"].as_array().into_iter().flatten() {
                    self.add(part)?;
                }
            }
            "ByteLevel" => self.byte_level = true,
            "ByteFallback" => self.byte_fallback = true,
            "Fuse" => {}
            "Replace" => {
                let pair = text(&decoder["pattern"]["String"]).zip(text(&decoder["content"]));
                self.replace.push(pair.ok_or_else(|| unusable(decoder))?);
            }
            "Strip" if decoder["content"] == " " && decoder["stop"] == 0 => match decoder["start"].as_u64() {
                Some(0) => {}
                Some(1) => self.first_space = FirstSpace::OneDropped,
                _ => return Err(unusable(decoder)),
            },
            "Metaspace" => {
                let mark = text(&decoder["replacement"]).ok_or_else(|| unusable(decoder))?;
                self.replace.push((mark, " ".into()));
                if decoder["prepend_scheme"] != "never" {
                    self.first_space = FirstSpace::AllDropped;
                }
            }
            _ => return Err(unusable(decoder)),
        }
        Ok(())
    }

    fn bytes(&self, mut token: String, alphabet: &HashMap<char, u8>) -> Vec<u8> {
        for (from, to) in &self.replace {
            token = token.replace(from, to);
        }
        if self.byte_fallback {
            if let Some(byte) = fallback_byte(&token) {
                return vec![byte];
            }
        }
        let mapped = self.byte_level.then(|| token.chars().map(|c| alphabet.get(&c).copied()));
        mapped.and_then(|bytes| bytes.collect()).unwrap_or_else(|| token.into_bytes())
    }
}

fn unusable(decoder: &Value) -> crate::Error {
    format!("expected a decoder made of ByteLevel, Metaspace, Replace, ByteFallback, Fuse and Strip, got {decoder}")
        .into()
}

fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2)
}

/// GPT-2's printable stand-in for each byte: itself where it is printable Latin-1, else 256 + a running count.
fn byte_alphabet() -> HashMap<char, u8> {
    let printable = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let mut next = 256;
    let stand_in = |byte: u8| {
        let code = if printable(byte) { u32::from(byte) } else { next };
        next += u32::from(code == next);
        (char::from_u32(code).unwrap_or_default(), byte)
    };
    (0..=255).map(stand_in).collect()
}
