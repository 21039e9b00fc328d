//! A `tokenizers` pipeline whose special tokens are found apart from the encoding of plain text.

use std::collections::HashSet;

use serde_json::Value;
use tokenizers::{
    AddedToken, AddedVocabulary, Model, ModelWrapper, OffsetReferential, OffsetType, PreTokenizer, PreTokenizerWrapper,
    Token,
};

use crate::ffi::{Affixes, CancelFlag, DeclaredToken, Span, TokenTable};
use crate::{guard, lengths, token_bytes, Result};

/// A long text is encoded in parts of about this size, where it may be cut: a pre-tokenized text takes hundreds of times
/// its bytes.
const PART_BYTES: usize = 16 << 10;

pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    finder: AddedVocabulary, // inner's, but it finds special tokens too
    special: HashSet<u32>,
    special_are_normalized: bool, // at least one: it is looked for in normalized text
    /// The pre-tokenizer of a text that does not begin the prompt: prepend_scheme "first" is "never".
    pre_tokenizer_later: Option<PreTokenizerWrapper>,
    splits_before_spaces: bool,
}

impl Tokenizer {
    pub fn new(mut inner: tokenizers::Tokenizer) -> Result<Self> {
        inner.with_padding(None);
        inner.with_truncation(None)?;
        inner.set_encode_special_tokens(false);
        let finder = inner.get_added_vocabulary().clone();
        inner.set_encode_special_tokens(true);
        let added = inner.get_added_vocabulary().get_added_tokens_decoder();
        let specials = || added.iter().filter(|(_, token)| token.special);
        let special = specials().map(|(id, _)| *id).collect();
        let special_are_normalized = specials().any(|(_, token)| token.normalized);
        let pre_tokenizer_later = inner.get_pre_tokenizer().map(without_first).transpose()?;
        let splits_before_spaces = lengths::splits_before_spaces(&inner)?;
        Ok(Self { inner, finder, special, special_are_normalized, pre_tokenizer_later, splits_before_spaces })
    }

    pub fn from_json(json: &str, declared: &[DeclaredToken]) -> Result<Self> {
        let mut inner = tokenizers::Tokenizer::from_bytes(json)?;
        for token in declared {
            inner.add_tokens([added_token(token)])?;
            let id = inner.token_to_id(&token.content).map_or(-1, i64::from);
            if token.id >= 0 && token.id != id {
                let text = &token.content;
                return Err(format!("expected id {} for {text:?}, got {id}", token.id).into());
            }
        }
        Self::new(inner)
    }

    pub fn table(&self) -> Result<TokenTable> {
        guard(|| token_bytes::table(&self.inner, &self.special))
    }

    /// The post-processor surrounds a text with the same tokens, whatever the text.
    pub fn affixes(&self) -> Result<Affixes> {
        guard(|| {
            let bare = self.inner.encode_fast("a", false)?.get_ids().to_vec();
            let full = self.inner.encode_fast("a", true)?.get_ids().to_vec();
            let at = full.windows(bare.len().max(1)).position(|window| window == bare);
            let at = at.ok_or("expected a post-processor that keeps the text's tokens together")?;
            let (prefix, rest) = full.split_at(at);
            Ok(Affixes { prefix: prefix.to_vec(), suffix: rest[bare.len()..].to_vec() })
        })
    }

    pub fn token(&self, id: u32) -> String {
        let added = self.inner.get_added_vocabulary().get_added_tokens_decoder().get(&id);
        let added = added.map(|token| token.content.clone());
        added.or_else(|| self.inner.get_model().id_to_token(id)).unwrap_or_default()
    }

    pub fn id_of(&self, token: &str) -> i64 {
        self.inner.token_to_id(token).map_or(-1, i64::from)
    }

    pub fn specials(&self, text: &str) -> Result<Vec<Span>> {
        guard(|| {
            let normalizer = self.inner.get_normalizer().filter(|_| self.special_are_normalized);
            let found = self.finder.extract_and_normalize(normalizer, text);
            let splits = found.get_splits(OffsetReferential::Original, OffsetType::Byte);
            let span = |(_, (begin, end), tokens): (&str, (usize, usize), &Option<Vec<Token>>)| {
                let id = tokens.as_ref()?.first()?.id;
                self.special.contains(&id).then_some(Span { begin, end, id })
            };
            Ok(splits.into_iter().filter_map(span).collect())
        })
    }

    pub fn encode(&self, text: &str, specials: &[Span], cancel: &CancelFlag) -> Result<Vec<u32>> {
        guard(|| {
            let mut ids = Vec::with_capacity(text.len() / 3 + 8);
            let mut at = 0;
            for span in specials {
                self.encode_plain(text, at, span.begin, cancel, &mut ids)?;
                ids.push(span.id);
                at = span.end;
            }
            self.encode_plain(text, at, text.len(), cancel, &mut ids)?;
            Ok(ids)
        })
    }

    /// Appends the ids of text[begin..end], which holds no special token.
    fn encode_plain(&self, text: &str, begin: usize, end: usize, cancel: &CancelFlag, ids: &mut Vec<u32>) -> Result<()> {
        let section = text.get(begin..end).ok_or("a special token's span cuts a character")?;
        let (mut first, mut rest) = (begin == 0, section);
        while !rest.is_empty() && !cancel.is_set() {
            let (part, after) = rest.split_at(self.part_end(rest));
            self.encode_part(part, first, cancel, ids)?;
            (first, rest) = (false, after);
        }
        Ok(())
    }

    fn part_end(&self, text: &str) -> usize {
        let may_cut = |at: &usize| text.as_bytes()[*at] == b' ' && !text[..*at].ends_with(char::is_whitespace);
        let cut = self.splits_before_spaces.then(|| (PART_BYTES..text.len()).find(may_cut));
        cut.flatten().unwrap_or(text.len())
    }

    fn encode_part(&self, part: &str, first: bool, cancel: &CancelFlag, ids: &mut Vec<u32>) -> Result<()> {
        let added = self.inner.get_added_vocabulary();
        let mut pieces = added.extract_and_normalize(self.inner.get_normalizer(), part);
        let later = self.pre_tokenizer_later.as_ref();
        if let Some(pre_tokenizer) = if first { self.inner.get_pre_tokenizer() } else { later } {
            pre_tokenizer.pre_tokenize(&mut pieces)?;
        }
        let tokens = |piece: &str| if cancel.is_set() { Ok(Vec::new()) } else { self.tokenize_plain(piece) };
        pieces.tokenize(|piece| tokens(piece.get()))?;
        ids.extend(pieces.into_encoding(None, 0, OffsetType::None)?.get_ids());
        Ok(())
    }

    /// A BPE model can spell a special token from plain text, by merges or as a whole word of an
    /// ignore_merges vocabulary. Such a token is cut after its first character.
    fn tokenize_plain(&self, piece: &str) -> Result<Vec<Token>> {
        let ModelWrapper::BPE(bpe) = self.inner.get_model() else {
            return self.inner.get_model().tokenize(piece);
        };
        let tokens = bpe.tokenize(piece)?;
        let unknown = bpe.unk_token.as_deref();
        let spelt = |token: &Token| self.special.contains(&token.id) && Some(token.value.as_str()) != unknown;
        if !tokens.iter().any(spelt) {
            return Ok(tokens);
        }
        let mut out = Vec::new();
        for token in tokens {
            let text = &piece[token.offsets.0..token.offsets.1];
            match text.char_indices().nth(1) {
                Some((cut, _)) if spelt(&token) => {
                    out.extend(self.tokenize_plain(&text[..cut])?);
                    out.extend(self.tokenize_plain(&text[cut..])?);
                }
                _ => out.push(token),
            }
        }
        Ok(out)
    }
}

fn added_token(token: &DeclaredToken) -> AddedToken {
    AddedToken::from(token.content.clone(), token.special)
        .single_word(token.single_word)
        .lstrip(token.lstrip)
        .rstrip(token.rstrip)
        .normalized(token.normalized)
}

fn without_first(pre_tokenizer: &PreTokenizerWrapper) -> Result<PreTokenizerWrapper> {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                if map.get("prepend_scheme").is_some_and(|scheme| scheme == "first") {
                    map.insert("prepend_scheme".into(), "never".into());
                }
                map.values_mut().for_each(walk);
            }
            Value::Array(values) => values.iter_mut().for_each(walk),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(pre_tokenizer)?;
    walk(&mut value);
    Ok(serde_json::from_value(value)?)
}
