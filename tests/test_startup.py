"""From the first log line to ready: what a client sees while the model loads, and signals that arrive then."""

import re
import signal
import subprocess
import urllib.error
import urllib.request

import binary
import pytest

READY = re.compile(r"ready: ")


@pytest.fixture
def loading(smollm2_path):
    """A server that has said where it listens, and loads a model for a second or so: (process, url)."""
    command = [str(binary.binary_path()), "serve", str(smollm2_path), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            found = next(filter(None, (re.search(r"listening on (http://\S*:\d+)(.*)", line) for line in process.stderr)))
            assert "503" in found.group(2) and "/health" in found.group(2)
            yield process, found.group(1)
        finally:
            process.kill()


def test_requests_work_once_the_log_says_ready(loading):
    process, url = loading
    with pytest.raises(urllib.error.HTTPError) as e:
        urllib.request.urlopen(f"{url}/health", timeout=60)
    assert e.value.code == 503 and '"loading"' in e.value.read().decode()
    assert any(READY.search(line) for line in process.stderr)
    assert urllib.request.urlopen(f"{url}/health", timeout=60).status == 200


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_loading_ends_at_once(loading, sent):
    process, _ = loading
    process.send_signal(sent)
    rest = process.stderr.read()
    assert process.wait(60) == 0
    assert "nothing was in flight" in rest and not READY.search(rest)
