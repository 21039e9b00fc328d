"""docs/*.md: every curl example, run as printed against a server (only its port differs), gets a 200 with an answer."""

import json
import re
import subprocess

import pytest
from conftest import ROOT
from serving import events

EXAMPLES = [
    pytest.param(block, id=f"{file.stem}-{i}")
    for file in sorted((ROOT / "docs").glob("*.md"))
    for i, block in enumerate(re.findall(r"^```sh\n(.*?)^```$", file.read_text(), re.M | re.S))
    if "curl" in block
]


@pytest.mark.parametrize("command", EXAMPLES)
def test_curl_examples(smollm2_server, command):
    command = command.replace("127.0.0.1:8080", f"127.0.0.1:{smollm2_server.port}")
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith(b"data: "):
        assert len(events(done.stdout)) > 2
    elif done.stdout.startswith(b"# HELP "):
        assert b"vllm:num_requests_running{" in done.stdout
    else:
        assert not json.loads(done.stdout).get("error")


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
