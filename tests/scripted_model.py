"""A checkpoint that says what it is told: each word is a token, and the only thing the model knows is which word follows which."""

import json
import shutil

import numpy as np
from checkpoints import F32, change, edit_json
from safetensors.numpy import load_file

NEWLINE = "Ċ"  # the last token of its prompts
END = "<|im_end|>"
WIDTH = 64  # of the hidden states: one direction for each word


def added_token(i, text):
    return {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}


def add_words(folder, words):
    """{word: id}, with END and NEWLINE."""
    file = folder / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    assert not vocabulary.keys() & set(words)
    ids = {word: len(vocabulary) + i for i, word in enumerate(words)}
    tokenizer["added_tokens"] += [added_token(i, word) for word, i in ids.items()]
    file.write_text(json.dumps(tokenizer))
    return ids | {END: vocabulary[END], NEWLINE: vocabulary[NEWLINE]}


def scripted_model(folder, words, template):
    """Behind a prompt that ends with a newline come `words`, all different, then the end; each goes on from wherever it stands."""
    assert len(set(words)) == len(words) < WIDTH
    shutil.copytree(F32, folder, dirs_exist_ok=True)
    ids = add_words(folder, words)
    vocab = max(ids.values()) + 1
    embedding = np.zeros((vocab, WIDTH), np.float32)
    head = np.zeros((vocab, WIDTH), np.float32)
    for i, (word, following) in enumerate(zip([NEWLINE, *words], [*words, END])):
        embedding[ids[word], i] = 1
        head[ids[following], i] = 4  # RMSNorm makes the direction 8 long
    tensors = {name: np.zeros_like(w) for name, w in load_file(folder / "model.safetensors").items() if name.endswith(("o_proj.weight", "down_proj.weight"))}
    tensors |= {"model.embed_tokens.weight": embedding, "lm_head.weight": head, "model.norm.weight": np.ones(WIDTH, np.float32)}
    change(folder, {"vocab_size": vocab, "tie_word_embeddings": False}, tensors)
    edit_json(folder / "tokenizer_config.json", {"chat_template": template})
    return folder
