"""A running `mlxforge serve` for tests, and requests to it."""

import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import namedtuple

import binary
from openai import OpenAI


def wait_for(condition, what, seconds=20):
    """Polls until condition() is truthy and returns that; fails naming `what`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s for {what}")


Reply = namedtuple("Reply", "status headers text")


class Server:
    """Starts on a free port and waits until it is ready; `with` ends it by SIGTERM and expects status 0."""

    def __init__(self, model, *flags, env=None, trust=None):
        """`trust`: the ssl.SSLContext to reach a server with --tls-cert."""
        self.trust = trust
        command = [str(binary.binary_path()), "serve", str(model), "--port", "0", *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        self.log = []
        threading.Thread(target=self.read_log, daemon=True).start()
        try:
            self.wait_ready()
        except BaseException:
            self.process.kill()
            raise

    def wait_ready(self):
        scheme, port = wait_for(lambda: self.find(r"listening on (https?)://\S*:(\d+)"), "the port in the log").groups()
        self.port = int(port)
        self.url = f"{scheme}://localhost:{port}" if self.trust else f"http://127.0.0.1:{port}"
        wait_for(self.is_ready, "the model to load", 60)

    def read_log(self):
        for line in self.process.stderr:
            self.log.append(line)

    def find(self, pattern):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}: {''.join(self.log)}")
        return re.search(pattern, "".join(self.log))

    def is_ready(self):
        self.find("")
        return self.get("/health")[0] == 200

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        status = self.stop()
        if kind is None and status != 0:
            raise AssertionError(f"expected the server to end with 0, got {status}: {''.join(self.log[-20:])}")

    def stop(self, seconds=30):
        """SIGTERM; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def client(self, **kw):
        return OpenAI(**({"base_url": f"{self.url}/v1", "api_key": "none", "max_retries": 0, "timeout": 120} | kw))

    def send(self, method, path, body=None, headers=None):
        """The reply. `body`: bytes as they are, anything else as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | (headers or {})
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120, context=self.trust) as reply:
                return Reply(reply.status, reply.headers, reply.read().decode())  # strict: a reply is always UTF-8
        except urllib.error.HTTPError as e:
            return Reply(e.code, e.headers, e.read().decode())

    def request(self, path, body=None, headers=None):
        """(status, parsed JSON or text) of a GET, with a body of a POST."""
        reply = self.send("GET" if body is None else "POST", path, body, headers)
        return reply.status, json.loads(reply.text) if reply.text.startswith(("{", "[")) else reply.text

    def get(self, path):
        return self.request(path)

    def chat(self, content="hi", **fields):
        return self.request("/v1/chat/completions", {"messages": [{"role": "user", "content": content}]} | fields)

    def complete(self, prompt, **fields):
        return self.request("/v1/completions", {"prompt": prompt} | fields)

    def check_alive(self):
        """GET /health is 200 and a plain chat request answers with content."""
        status, health = self.get("/health")
        assert status == 200 and health["status"] == "ok", health
        status, reply = self.chat("hello", max_tokens=8, temperature=0, ignore_eos=True)
        assert status == 200, reply
        assert reply["choices"][0]["message"]["content"]

    def wait_idle(self, seconds=20):
        def idle():
            health = self.get("/health")[1]
            return all(health[k] == 0 for k in ("running", "waiting", "kv_blocks_used"))

        wait_for(idle, "running = waiting = kv_blocks_used = 0", seconds)


def events(stream_bytes):
    """The JSON objects of an SSE stream, framed exactly as OpenAI does; the last event must be [DONE]."""
    text = stream_bytes.decode()
    assert text.endswith("data: [DONE]\n\n"), text[-200:]
    frames = text.removesuffix("\n\n").split("\n\n")
    assert all(f.startswith("data: ") and "\n" not in f for f in frames), frames
    return [json.loads(f.removeprefix("data: ")) for f in frames[:-1]]


def stream(server, path, body, headers=None):
    """(events) of a streamed request."""
    data = json.dumps(body | {"stream": True}).encode()
    request = urllib.request.Request(server.url + path, data, {"Content-Type": "application/json"} | (headers or {}))
    with urllib.request.urlopen(request, timeout=120) as reply:
        assert reply.headers["Content-Type"].startswith("text/event-stream")
        return events(reply.read())
