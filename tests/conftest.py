"""What the tests share: the references' modules on the path, the models, and servers started once for a file."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "reference"), str(ROOT / "tests")]

import oracle  # noqa: E402, F401  before numpy
import smollm2  # noqa: E402

from browser import chromium  # noqa: E402
from serving import Server  # noqa: E402

TINY = ROOT / "reference" / "fixtures" / "f32"
PROMPT = ROOT / "reference" / "fixtures" / "prompt_0_ids.npy"


@pytest.fixture(scope="session")
def build():
    """The build folder: ctest sets MLXFORGE_BUILD."""
    return Path(os.environ.get("MLXFORGE_BUILD", ROOT / "build"))


@pytest.fixture(scope="session")
def smollm2_path():
    return smollm2.model_path()


@pytest.fixture(scope="module")
def tiny_server():
    """A two-layer model of random weights whose 288 tokens are mostly single bytes: fast, and its text is hostile."""
    with Server(TINY, "--max-ctx", "512") as server:
        yield server
        server.check_alive()


@pytest.fixture(scope="module")
def smollm2_server(smollm2_path):
    with Server(smollm2_path, "--max-ctx", "2048") as server:
        yield server
        server.check_alive()


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver
