//! The pipeline that a tokenizer.json would describe, from the vocabulary in a GGUF.

use tokenizers::decoders::{byte_fallback::ByteFallback, fuse::Fuse, sequence, strip::Strip};
use tokenizers::models::bpe::{Vocab, BPE};
use tokenizers::normalizers::{Prepend, Replace, Sequence as Normalizers, NFC};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, DecoderWrapper, NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior};

use crate::ffi::GgufVocab;
use crate::tokenizer::Tokenizer;
use crate::Result;

// tokenizer.ggml.token_type
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;

pub fn build(vocab: &GgufVocab) -> Result<Tokenizer> {
    check_lengths(vocab)?;
    let mut inner = match vocab.model.as_str() {
        "gpt2" => byte_level(vocab)?,
        "llama" => sentence_piece(vocab)?,
        other => {
            let text = "expected tokenizer.ggml.model gpt2 or llama, got";
            return Err(format!("{text} {other:?}").into());
        }
    };
    inner.add_tokens(added_tokens(vocab))?;
    Tokenizer::new(inner)
}

fn check_lengths(vocab: &GgufVocab) -> Result<()> {
    let n = vocab.tokens.len();
    for (name, len) in [("token_type", vocab.types.len()), ("scores", vocab.scores.len())] {
        if len != 0 && len != n {
            return Err(format!("expected {n} tokenizer.ggml.{name}, got {len}").into());
        }
    }
    Ok(())
}

fn ids_by_token(vocab: &GgufVocab) -> Result<Vocab> {
    let mut ids = Vocab::with_capacity(vocab.tokens.len());
    for (id, token) in (0..).zip(&vocab.tokens) {
        if let Some(first) = ids.insert(token.clone(), id) {
            return Err(format!("token {token:?} has two ids, {first} and {id}").into());
        }
    }
    Ok(ids)
}

fn added_tokens(vocab: &GgufVocab) -> Vec<AddedToken> {
    let added = |(id, token): (u32, &String)| {
        let kind = vocab.types.get(id as usize).copied().unwrap_or(NORMAL);
        let special = matches!(kind, UNKNOWN | CONTROL) || vocab.special_ids.contains(&id);
        let token = AddedToken::from(token.clone(), special).normalized(false);
        (special || kind == USER_DEFINED).then_some(token)
    };
    (0..).zip(&vocab.tokens).filter_map(added).collect()
}

fn byte_level(vocab: &GgufVocab) -> Result<tokenizers::Tokenizer> {
    if vocab.merges.is_empty() {
        return Err("expected tokenizer.ggml.merges, the merges are missing".into());
    }
    let pipeline = Pipeline::named(&vocab.pre)?;
    let ids = ids_by_token(vocab)?;
    let mut merges = Vec::with_capacity(vocab.merges.len());
    for merge in &vocab.merges {
        let (left, right) = split_merge(merge)?;
        if !ids.contains_key(&format!("{left}{right}")) {
            return Err(format!("merge {merge:?} makes a token that is not there").into());
        }
        merges.push((left.to_owned(), right.to_owned()));
    }
    let builder = BPE::builder().vocab_and_merges(ids, merges);
    let model = builder.ignore_merges(pipeline.ignore_merges).build()?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    tokenizer.with_normalizer(pipeline.nfc.then_some(NFC))?;
    tokenizer.with_pre_tokenizer(Some(pipeline.pre_tokenizer));
    tokenizer.with_decoder(Some(ByteLevel::new(false, true, true)));
    Ok(tokenizer)
}

/// "left right"; a left that is itself a space keeps it.
fn split_merge(merge: &str) -> Result<(&str, &str)> {
    let after_first = merge.chars().next().map_or(0, char::len_utf8);
    let space = merge[after_first..].find(' ').map(|at| at + after_first);
    let space = space.ok_or_else(|| format!("expected a merge of two tokens, got {merge:?}"))?;
    Ok((&merge[..space], &merge[space + 1..]))
}

/// What tokenizer.ggml.pre stands for.
struct Pipeline {
    pre_tokenizer: PreTokenizerWrapper,
    nfc: bool,
    ignore_merges: bool,
}

impl Pipeline {
    fn named(pre: &str) -> Result<Self> {
        let plain = |pre_tokenizer| Self { pre_tokenizer, nfc: false, ignore_merges: false };
        let gpt2 = ByteLevel::new(false, true, true);
        Ok(match pre {
            "gpt-2" => plain(gpt2.into()),
            "smollm" | "starcoder" | "refact" | "command-r" => {
                plain(Sequence::new(vec![Digits::new(true).into(), gpt2.into()]).into())
            }
            "llama-bpe" | "llama3" | "llama-v3" => Self { ignore_merges: true, ..plain(split_words("{1,3}")?) },
            "qwen2" => Self { nfc: true, ..plain(split_words("")?) },
            other => {
                let got = if other.is_empty() { "none" } else { other };
                return Err(format!(
                    "expected tokenizer.ggml.pre command-r, gpt-2, llama-bpe, llama-v3, llama3, qwen2, refact, smollm or \
                     starcoder, got {got}; without the right one, digits and words split wrongly"
                )
                .into());
            }
        })
    }
}

/// The pattern of cl100k and its descendants, which differ in how many digits stay together.
pub fn word_pattern(digits: &str) -> String {
    [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        &format!(r"\p{{N}}{digits}"),
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
    .join("|")
}

fn split_words(digits: &str) -> Result<PreTokenizerWrapper> {
    let pattern = SplitPattern::Regex(word_pattern(digits));
    let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?;
    Ok(Sequence::new(vec![split.into(), ByteLevel::new(false, true, false).into()]).into())
}

fn sentence_piece(vocab: &GgufVocab) -> Result<tokenizers::Tokenizer> {
    if vocab.scores.is_empty() {
        return Err("expected tokenizer.ggml.scores, the scores are missing".into());
    }
    let ids = ids_by_token(vocab)?;
    let byte_fallback = ids.contains_key("<0x00>");
    let merges = merges_from_scores(vocab, &ids);
    let mut builder = BPE::builder().vocab_and_merges(ids, merges).fuse_unk(true);
    let by_type = || vocab.types.iter().position(|kind| *kind == UNKNOWN);
    let unknown = usize::try_from(vocab.unknown_id).ok().or_else(by_type);
    if let Some(token) = unknown.and_then(|id| vocab.tokens.get(id)) {
        builder = builder.unk_token(token.clone());
    }
    let mut tokenizer = tokenizers::Tokenizer::new(builder.byte_fallback(byte_fallback).build()?);
    let mut normalizers: Vec<NormalizerWrapper> = vec![Replace::new(" ", "▁")?.into()];
    let mut decoders: Vec<DecoderWrapper> =
        vec![Replace::new("▁", " ")?.into(), ByteFallback::new().into(), Fuse::new().into()];
    if vocab.add_space_prefix {
        normalizers.insert(0, Prepend::new("▁".into()).into());
        decoders.push(Strip::new(' ', 1, 0).into());
    }
    tokenizer.with_normalizer(Some(Normalizers::new(normalizers)))?;
    tokenizer.with_decoder(Some(sequence::Sequence::new(decoders)));
    Ok(tokenizer)
}

/// SentencePiece joins the pair whose union scores highest. As BPE merges: every way to cut a piece in two pieces,
/// best union first.
fn merges_from_scores(vocab: &GgufVocab, ids: &Vocab) -> Vec<(String, String)> {
    let normal = |id: u32| vocab.types.get(id as usize).is_none_or(|kind| *kind == NORMAL);
    let is_piece = |text: &str| ids.get(text).is_some_and(|id| normal(*id));
    let mut merges = Vec::new();
    for ((id, token), score) in (0..).zip(&vocab.tokens).zip(&vocab.scores) {
        if !normal(id) {
            continue;
        }
        for (n, (cut, _)) in token.char_indices().enumerate().skip(1) {
            let (left, right) = token.split_at(cut);
            if is_piece(left) && is_piece(right) {
                merges.push((*score, n, left.to_owned(), right.to_owned()));
            }
        }
    }
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    merges.into_iter().map(|(_, _, left, right)| (left, right)).collect()
}
