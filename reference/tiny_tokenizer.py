"""A 288-token byte-level BPE with SmolLM2's pre-tokenizer, as tokenizer.json files and as GGUF metadata."""

import json

import gguf

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>"]
EOS, BOS = 2, 3
MERGES = (
    "Ġ t|h e|i n|Ġ a|r e|o n|Ġt he|e r|Ġ s|a t|Ġ c|n d|Ġ o|e n|i s|Ġ w|o r|i t|Ġ b|Ġ f|in g|Ġ p|o u|e s|a n|Ġa nd|a l|Ġ in"
).split("|")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_symbols():
    """GPT-2's printable stand-in for every byte: itself where printable Latin-1, else 256 + a running count."""
    printable = set(range(33, 127)) | set(range(161, 173)) | set(range(174, 256))
    extra = iter(range(256, 512))
    return [chr(b if b in printable else next(extra)) for b in range(256)]


TOKENS = SPECIALS + byte_symbols() + [m.replace(" ", "") for m in MERGES]


def added(i, text):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": i, "content": text, **flags}


def tokenizer_json():
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    split = [{"type": "Digits", "individual_digits": True}, level]
    bpe = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "vocab": {t: i for i, t in enumerate(TOKENS)}, "merges": MERGES,
    }  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [added(i, t) for i, t in enumerate(SPECIALS)],
        "normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": split}, "post_processor": None,
        "decoder": level, "model": bpe,
    }  # fmt: skip


def save(folder):
    """tokenizer.json, tokenizer_config.json and generation_config.json."""
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "bos_token": SPECIALS[BOS],
        "eos_token": SPECIALS[EOS],
        "chat_template": CHAT_TEMPLATE,
    }
    files = {
        "tokenizer.json": tokenizer_json(),
        "tokenizer_config.json": config,
        "generation_config.json": {"bos_token_id": BOS, "eos_token_id": [EOS, 0]},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def add_to_gguf(out):
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("smollm")
    out.add_token_list(TOKENS)
    special, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    out.add_token_types([special if i < len(SPECIALS) else normal for i in range(len(TOKENS))])
    out.add_token_merges(MERGES)
    out.add_bos_token_id(BOS)
    out.add_eos_token_id(EOS)
    out.add_add_bos_token(False)
    out.add_chat_template(CHAT_TEMPLATE)
