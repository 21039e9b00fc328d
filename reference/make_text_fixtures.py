"""Writes fixtures_text/: small tokenizers and what Hugging Face's packages and SentencePiece say about them.

    tokenizers/NAME.json   tokenizer.json files over small vocabularies trained here
    tokenizers/NAME.gguf   the same vocabularies as GGUF metadata (no tensors)
    encodings.json         per tokenizer: texts -> ids, ids -> text, all texts many times -> a checksum of the ids
                                                                                          (tokenizers, sentencepiece)
    smollm2.json           texts -> ids of SmolLM2's GGUF vocabulary, its pipeline put together here       (tokenizers)
    jinja.json             templates and inputs -> prompt, or the message they raise        (transformers, jinja2)
    chats.json             tokenizer, template, input -> prompt and ids                                    (transformers)
    continued.json         the same with a final message to go on with                                     (transformers)
    utf8.json              bytes -> text                                                          (bytes.decode, "replace")

    make_text_fixtures.py SMOLLM2.gguf [OUT_DIR]
"""

import json
import pathlib
import random
import sys
import tempfile

import gguf
import jinja2
import sentencepiece
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import generate_merges
from transformers.utils.chat_template_utils import render_jinja_template

import text_cases

HERE = pathlib.Path(__file__).resolve().parent
SMOLLM2, OUT = sys.argv[1], pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "fixtures_text")
CONTROLS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|user|>", "<|assistant|>", "<|system|>"]
HEADERS = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
BRACKETS = ["[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"]
WORDS = ["<tool_call>", "</tool_call>", "<think>", "</think>"]  # added, but ordinary text
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def byte_level(pre_tokenizer, controls, words=(), normalizer=None, ignore_merges=False, bos=None):
    """A byte-level BPE trained on the cases' corpus; control tokens first, added words last."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(controls) + 256 + 180, special_tokens=controls, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(text_cases.CORPUS, trainer)
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in words])
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A $B", special_tokens=[(bos, tokenizer.token_to_id(bos))]
        )
    return tokenizer


def cl100k(digits):
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CL100K % digits), "isolated"), level])


def sentence_piece_model():
    with tempfile.TemporaryDirectory() as folder:
        prefix = folder + "/m"
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text_cases.CORPUS * 3), model_prefix=prefix, model_type="bpe", vocab_size=560, byte_fallback=True,
            normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, num_threads=1,
            allow_whitespace_only_pieces=True, minloglevel=2,
        )  # fmt: skip
        return sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")


def sentence_piece(model, controls, legacy):
    """As transformers converts such a model. Legacy: every text between control tokens gets the dummy prefix, else the first."""
    pieces = [(model.id_to_piece(i), model.get_score(i)) for i in range(model.get_piece_size())]
    vocab = {piece: i for i, (piece, _) in enumerate(pieces)}
    usual = [i for i in range(len(pieces)) if not (model.is_byte(i) or model.is_control(i) or model.is_unknown(i))]
    merges = generate_merges({pieces[i][0]: i for i in usual}, {pieces[i][0]: pieces[i][1] for i in usual})
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in ["<unk>", "<s>", "</s>", *controls]])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", vocab["<s>"])]
    )
    return tokenizer


def write_gguf(path, tokenizer, model, pre=None, scores=None, **ids):
    out = gguf.GGUFWriter(path, "llama")
    state = json.loads(tokenizer.to_str())
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    tokens = [tokenizer.id_to_token(i) for i in range(size)]
    kinds = gguf.TokenType
    types = [kinds.BYTE if scores and t.startswith("<0x") else kinds.NORMAL for t in tokens]
    for added in state["added_tokens"]:
        types[added["id"]] = kinds.CONTROL if added["special"] else kinds.USER_DEFINED
    if scores:
        types[tokenizer.token_to_id("<unk>")] = kinds.UNKNOWN
        out.add_token_scores(scores + [0.0] * (size - len(scores)))
    else:
        out.add_token_merges([" ".join(merge) for merge in state["model"]["merges"]])
    out.add_tokenizer_model(model)
    if pre:
        out.add_tokenizer_pre(pre)
    out.add_token_list(tokens)
    out.add_token_types(types)
    for key, token in ids.items():
        getattr(out, f"add_{key}_token_id")(tokenizer.token_to_id(token))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.close()


def random_texts(rng, count):
    """Strings in which merges, digits, spaces, controls and scripts meet."""
    parts = text_cases.PARTS + CONTROLS + HEADERS + BRACKETS + WORDS + ["<s>", "</s>"]
    return ["".join(rng.choices(parts, k=rng.randint(1, 12))) for _ in range(count)]


def encodings(tokenizer, rng):
    texts = text_cases.TEXTS + random_texts(rng, 60)
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    ids = [rng.choices(range(size), k=rng.randint(1, 12)) for _ in range(60)]
    if type(tokenizer.model).__name__ == "BPE" and tokenizer.model.byte_fallback:
        # tokenizers shows every byte of an invalid run of byte tokens as U+FFFD, which no stream can do: leave those out
        ids = [i for i in ids if "\ufffd" not in tokenizer.decode(i)]
    parsed = [tokenizer.encode(t, add_special_tokens=False).ids for t in texts]
    whole = [tokenizer.encode(t).ids for t in texts]
    tokenizer.encode_special_tokens = True
    plain = [tokenizer.encode(t, add_special_tokens=False).ids for t in texts]
    repeats = 200_000 // len("".join(texts)) + 1
    long = tokenizer.encode("".join(texts) * repeats, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False
    return {
        "vocab_size": size,
        "long": {"repeats": repeats, "ids": len(long), "checksum": sum(i * id for i, id in enumerate(long, 1)) % 2**64},
        "texts": [{"text": t, "plain": a, "parsed": b, "whole": c} for t, a, b, c in zip(texts, plain, parsed, whole)],
        "decodes": [{"ids": i, "text": tokenizer.decode(i)} for i in ids],
    }


def smollm2(rng):
    """The vocabulary from the GGUF, SmolLM2's published pipeline from its parts."""
    fields = gguf.GGUFReader(SMOLLM2).fields
    tokens, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    types = fields["tokenizer.ggml.token_type"].contents()
    vocab = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab, [tuple(m.split(" ")) for m in merges]))
    tokenizer.add_special_tokens([t for t, kind in zip(tokens, types) if kind == gguf.TokenType.CONTROL])
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level])
    tokenizer.decoder = decoders.ByteLevel()
    return encodings(tokenizer, rng)


def utf8_cases(rng):
    edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF]
    for _ in range(300):
        data = bytes(rng.choices(edges, k=rng.randint(1, 6)))
        yield {"bytes": list(data), "text": data.decode("utf-8", "replace")}


def hugging_face(tokenizer, **names):
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer.to_str()), **names)


def jinja_cases():
    for case in text_cases.JINJA:
        case = {"messages": [], "tools": None, "add_generation_prompt": False, "kwargs": {}, **case}
        try:
            rendered, _ = render_jinja_template(
                [case["messages"]], tools=case["tools"], documents=None, chat_template=case["template"],
                add_generation_prompt=case["add_generation_prompt"], **case["kwargs"],
            )  # fmt: skip
            yield {**case, "prompt": rendered[0]}
        except Exception as error:
            yield {**case, "error": str(error)}


def chat_models(made):
    for template, names in text_cases.TEMPLATES.items():
        source = (HERE / "text_templates" / f"{template}.jinja").read_text()
        for tokenizer, bos, eos in names:
            model = hugging_face(made[tokenizer], bos_token=bos, eos_token=eos, chat_template=source)
            yield model, {"tokenizer": tokenizer, "bos_token": bos, "eos_token": eos, "template": template}


def chat_cases(made):
    for model, case in chat_models(made):
        for chat in text_cases.CHATS:
            kwargs = {"tools": chat.get("tools"), "add_generation_prompt": chat.get("add_generation_prompt", True)}
            kwargs.update(chat.get("kwargs", {}))
            yield {**case, **chat, **chat_result(model, chat["messages"], kwargs)}


def continued_cases(made):
    for model, case in chat_models(made):
        for messages in text_cases.CONTINUED:
            kwargs = {"add_generation_prompt": False, "continue_final_message": True}
            yield {**case, "messages": messages, **chat_result(model, messages, kwargs)}


def chat_result(model, messages, kwargs):
    try:
        prompt = model.apply_chat_template(messages, tokenize=False, **kwargs)
        ids = model.apply_chat_template(messages, tokenize=True, return_dict=False, **kwargs)
        return {"prompt": prompt, "ids": ids}
    except jinja2.exceptions.UndefinedError:  # a turn without content; mlxforge then tries an empty one
        return chat_result(model, [{**m, "content": m.get("content") or ""} for m in messages], kwargs)
    except ValueError as error:  # the template does not show the final message as it is
        return {"error": str(error)}
    except jinja2.exceptions.TemplateError as error:
        if "No system turn" not in str(error):
            return {"error": str(error)}
        system, user, *rest = messages  # mlxforge folds what such a template refuses
        return chat_result(model, [{**user, "content": system["content"] + "\n\n" + user["content"]}, *rest], kwargs)


def write(name, value):
    (OUT / name).write_text(json.dumps(value, ensure_ascii=False, indent=None, separators=(",", ":")) + "\n")


def main():
    rng = random.Random(7)
    (OUT / "tokenizers").mkdir(parents=True, exist_ok=True)
    spm = sentence_piece_model()
    digits = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made = {
        "smollm": byte_level(digits, CONTROLS, WORDS),
        "llama3": byte_level(cl100k("{1,3}"), HEADERS, ignore_merges=True, bos="<|begin_of_text|>"),
        "qwen2": byte_level(cl100k(""), CONTROLS, WORDS, normalizer=normalizers.NFC()),
        "spm": sentence_piece(spm, CONTROLS + BRACKETS, legacy=True),
        "spm_first": sentence_piece(spm, CONTROLS + BRACKETS, legacy=False),
    }
    for name, tokenizer in made.items():
        tokenizer.save(str(OUT / "tokenizers" / f"{name}.json"), pretty=False)
    at = lambda name: OUT / "tokenizers" / f"{name}.gguf"
    write_gguf(at("smollm"), made["smollm"], "gpt2", "smollm", bos="<|im_start|>", eos="<|im_end|>")
    write_gguf(at("llama3"), made["llama3"], "gpt2", "llama-bpe", bos="<|begin_of_text|>", eos="<|end_of_text|>", eot="<|eot_id|>")
    write_gguf(at("qwen2"), made["qwen2"], "gpt2", "qwen2", eos="<|im_end|>")
    scores = [spm.get_score(i) for i in range(spm.get_piece_size())]
    write_gguf(at("spm"), made["spm"], "llama", scores=scores, bos="<s>", eos="</s>")

    result = {name: encodings(tokenizer, rng) for name, tokenizer in made.items()}
    pieces = text_cases.TEXTS + ["".join(rng.choices(text_cases.PARTS, k=rng.randint(1, 20))) for _ in range(120)]
    result["spm"]["sentencepiece"] = [{"text": t, "ids": spm.encode(t)} for t in pieces if t]
    write("encodings.json", result)
    write("smollm2.json", smollm2(rng))
    write("utf8.json", list(utf8_cases(rng)))
    write("jinja.json", list(jinja_cases()))
    write("chats.json", list(chat_cases(made)))
    write("continued.json", list(continued_cases(made)))


main()
