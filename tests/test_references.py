"""The references themselves: the pinned mlx-lm makes the committed fixtures again, and random configs agree with it."""

import subprocess
import sys

import oracle  # before numpy
import pytest
import stress
from dump_ref import REFERENCE


@pytest.mark.parametrize("family", ["llama", "mistral", "smollm2"])
def test_fixtures_regenerate(build, family):
    command = [sys.executable, REFERENCE / "regenerate.py", "--out", build / "reference", "--model", family]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seed", range(1000, 1005))
def test_random_configs(tmp_path, seed):
    _, what, fault = stress.run_case(seed, tmp_path / "model")
    assert fault is None, f"{what}: {fault}"


def test_the_pinned_versions_are_installed():
    from importlib.metadata import version

    assert (version("mlx-lm"), oracle.mx.__version__) == ("0.32.2", "0.32.4")
