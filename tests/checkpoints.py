"""Variations of a fixture's checkpoint, for tests of loading."""

import json
import shutil

import numpy as np
from dump_ref import REFERENCE
from safetensors.numpy import load_file, save_file

F32 = REFERENCE / "fixtures" / "f32"


def edit_json(file, changes):
    """Sets keys; None removes one."""
    content = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


def variation(folder, config=(), tensors=(), base=F32):
    """A copy of `base` in `folder` with other config keys, and other, new or (None) missing tensors."""
    shutil.copytree(base, folder, dirs_exist_ok=True)
    return change(folder, config, tensors)


def change(folder, config=(), tensors=()):
    """The same of the folder itself."""
    edit_json(folder / "config.json", dict(config))
    if tensors:
        weights = load_file(folder / "model.safetensors") | dict(tensors)
        save_file({k: v for k, v in weights.items() if v is not None}, folder / "model.safetensors")
    return folder


def with_pooling(folder, mode):
    """The model of F32 as sentence-transformers saves one that pools in this way."""
    shutil.copytree(F32, folder)
    (folder / "1_Pooling").mkdir()
    config = {f"pooling_mode_{m}": m == mode for m in ("lasttoken", "mean_tokens", "cls_token", "max_tokens")}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    return folder


def random_ids(n, seed=3):
    return np.random.default_rng(seed).integers(0, 256, n).astype(np.int32)
