"""The README's examples, run as printed against a server (only its port differs), give the printed output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from serving import Server

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)


def example_and_output(language, output, part):
    """The block of `language` that has `part`, and the block of `output` right after it."""
    at = next(i for i, (kind, text) in enumerate(BLOCKS) if kind == language and part in text)
    assert BLOCKS[at + 1][0] == output
    return BLOCKS[at][1], BLOCKS[at + 1][1]


def without_what_varies(reply):
    """Ids and times differ from run to run; that they are there does not."""
    return reply | {"id": "", "created": 0, "timings": sorted(reply["timings"])}


def test_examples_give_their_printed_output(smollm2_path):
    with Server(smollm2_path) as server:
        here = f"127.0.0.1:{server.port}"
        curl, printed = example_and_output("sh", "json", "curl")
        got = subprocess.run(["sh", "-c", curl.replace("127.0.0.1:8080", here)], capture_output=True, text=True, timeout=600)
        assert without_what_varies(json.loads(got.stdout)) == without_what_varies(json.loads(printed)), got
        code, printed = example_and_output("python", "text", "OpenAI(")
        got = subprocess.run([sys.executable, "-c", code.replace("127.0.0.1:8080", here)], capture_output=True, text=True, timeout=600)
        assert got.stdout == printed, got.stderr


def test_links_and_make_targets_exist():
    text = (ROOT / "README.md").read_text()
    for link in re.findall(r"\]\((?!http)([^)]+)\)", text):
        assert (ROOT / link).exists(), link
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"\bmake (\w[\w-]*)", text)):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for command in set(re.findall(r"^build/bin/mlxforge (\w+)", text, re.M)):
        done = subprocess.run([Path(os.environ["MLXFORGE_BUILD"]) / "bin/mlxforge", command, "--help"], capture_output=True, timeout=60)
        assert done.returncode == 0 and f"mlxforge {command}".encode() in done.stdout
