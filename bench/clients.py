"""Eight clients against an HTTP server: tokens per second, time to first token, gaps between tokens."""

import http.client
import json
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import numpy as np

WORDS = "river lamp stone garden letter winter bridge clock window harbour market copper cloud paper orchard signal".split()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextmanager
def server(command, port, log):
    """A running server that answers /health with 200."""
    with open(log, "w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            wait_ready(process, port)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_ready(process, port, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"{process.args[0]} did not become ready; see its log")


def prompt(client, words):
    """A distinct text for every client: no prefix is shared."""
    rng = np.random.default_rng(client)
    return f"Client {client}: " + " ".join(rng.choice(WORDS, words))


def one_request(port, text, tokens, fields, out):
    """Appends the times, from the request on, at which text arrived."""
    body = {"prompt": text, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True, "cache_prompt": False} | fields
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    start, times = time.monotonic(), []
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    reply = connection.getresponse()
    for line in reply:
        if line.startswith(b"data: {"):
            choices = json.loads(line[6:])["choices"]
            if choices and choices[0]["finish_reason"] is None:
                times.append(time.monotonic() - start)
    connection.close()
    out.append(times)


def load(port, clients, words, tokens, requests, **fields):
    """Every client sends `requests` one after the other, all clients together. A dict of figures; times in ms."""
    timelines = []

    def client(i):
        for r in range(requests):
            one_request(port, prompt(1000 * r + i, words), tokens, fields, timelines)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    start = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    seconds = time.monotonic() - start
    if len(timelines) < clients * requests or not all(timelines):
        raise RuntimeError("a request failed or gave no text")
    first = np.array([t[0] for t in timelines]) * 1000
    gaps = np.concatenate([np.diff(t) for t in timelines]) * 1000
    return {
        "tok_s": clients * requests * tokens / seconds,
        "ttft_p50": float(np.percentile(first, 50)),
        "ttft_p95": float(np.percentile(first, 95)),
        "gap_p50": float(np.percentile(gaps, 50)),
        "gap_p95": float(np.percentile(gaps, 95)),
    }
