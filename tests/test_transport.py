"""TLS, Unix sockets, request ids and JSON logs of the real binary."""

import http.client
import json
import os
import re
import socket
import ssl
import stat
import subprocess

import httpx2
import pytest
from conftest import TINY
from serving import Server, wait_for

HELLO = [{"role": "user", "content": "hello"}]


def make_certificate(folder, name):
    """A self-signed one for localhost: (certificate, key)."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run([*command, *subject, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def context_for(cert):
    return ssl.create_default_context(cafile=cert)


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    cert, key = make_certificate(folder, "first")
    with Server(TINY, "--tls-cert", str(cert), "--tls-key", str(key), "--max-ctx", "512", trust=context_for(cert)) as server:
        server.cert, server.key, server.folder = cert, key, folder
        yield server


def test_the_official_client_over_tls(tls):
    client = tls.client(base_url=f"{tls.url}/v1", http_client=httpx2.Client(verify=tls.trust))
    text = client.chat.completions.create(model="default", messages=HELLO, max_tokens=8, temperature=0).choices[0].message.content
    chunks = client.chat.completions.create(model="default", messages=HELLO, max_tokens=8, temperature=0, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == text
    big = "a" * 300_000  # many TLS records
    assert tls.complete(big)[1]["error"]["code"] == "context_length_exceeded"
    tls.check_alive()


def test_a_client_that_leaves_a_stream_over_tls(tls):
    client = tls.client(base_url=f"{tls.url}/v1", http_client=httpx2.Client(verify=tls.trust))
    with client.chat.completions.create(model="default", messages=HELLO, stream=True, extra_body={"ignore_eos": True}) as chunks:
        next(iter(chunks))
    tls.wait_idle()


@pytest.mark.parametrize("bytes_sent", [b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x00\x05nope!"])
def test_what_is_not_tls_is_closed(tls, bytes_sent):
    with socket.create_connection(("127.0.0.1", tls.port), timeout=20) as s:
        s.sendall(bytes_sent)
        assert b"HTTP" not in s.recv(1000)
    tls.check_alive()


def test_old_protocols_are_refused(tls):
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", tls.port)) as s:
        old.wrap_socket(s)


def served_name(server):
    loose = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    loose.check_hostname, loose.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port)) as s, loose.wrap_socket(s) as t:
        der = t.getpeercert(binary_form=True)
    return re.search(rb"(first|second)", der).group(1).decode()


def test_a_renewed_certificate_is_taken_up_and_a_broken_one_is_not(tls):
    assert served_name(tls) == "first"
    tls.cert.write_text("nonsense")
    assert served_name(tls) == "first"
    assert tls.find("stays in use")
    cert, key = make_certificate(tls.folder, "second")
    os.replace(key, tls.key)
    os.replace(cert, tls.cert)
    assert served_name(tls) == "second"
    tls.trust = context_for(tls.cert)
    tls.check_alive()


@pytest.mark.parametrize("which, status", [("--tls-cert", 2), ("both", 1)])
def test_unusable_tls_files_end_the_start(tmp_path, which, status):
    path = tmp_path / "x.pem"
    path.write_text("nonsense")
    flags = ["--tls-cert", str(path)] + (["--tls-key", str(path)] if which == "both" else [])
    with pytest.raises(AssertionError, match=f"ended with {status}"):
        Server(TINY, *flags)


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


class UnixServer(Server):
    def wait_ready(self):
        self.path = wait_for(lambda: self.find(r"listening on unix:([^\s;]+)"), "the path in the log").group(1)
        wait_for(self.is_ready, "the model to load", 60)

    def request(self, path, body=None, headers=None):
        connection = UnixConnection(self.path)
        connection.request("POST" if body else "GET", path, body and json.dumps(body), {"Host": "localhost"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


@pytest.mark.parametrize("mode", ["600", "666"])
def test_unix_socket(tmp_path, mode):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:  # a killed server leaves its file
        dead.bind(str(path))
    with UnixServer(TINY, "--unix-socket", str(path), "--unix-socket-mode", mode) as server:
        assert stat.S_IMODE(path.stat().st_mode) == int(mode, 8)
        server.check_alive()
        with pytest.raises(AssertionError, match="ended with 1"):
            UnixServer(TINY, "--unix-socket", str(path))
    assert not path.exists()


def test_a_file_that_is_no_socket_is_not_replaced(tmp_path):
    path = tmp_path / "s"
    path.write_text("precious")
    with pytest.raises(AssertionError, match="ended with 1"):
        UnixServer(TINY, "--unix-socket", str(path))
    assert path.read_text() == "precious"


def id_of(server, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/v1/models", headers=headers or {})
    return connection.getresponse().getheader("x-request-id")


def test_request_ids(tiny_server):
    assert id_of(tiny_server, {"X-Request-Id": "mine-1"}) == "mine-1"
    made = {id_of(tiny_server) for _ in range(20)}
    assert len(made) == 20 and all(re.fullmatch(r"req_[0-9a-f]{24}", i) for i in made)
    for bad in ("a b", "x" * 129, "\xe9"):
        assert re.fullmatch(r"req_[0-9a-f]{24}", id_of(tiny_server, {"X-Request-Id": bad}))
    wait_for(lambda: tiny_server.find(r"GET /v1/models 200 .*id=mine-1"), "the log line")


def test_json_log():
    with Server(TINY, "--log-format", "json", "--max-ctx", "512") as server:
        assert server.chat("hi", max_tokens=3, ignore_eos=True)[0] == 200
        assert server.request('/a"\\b')[0] == 404
        wait_for(lambda: server.find("/a"), "the log line")
    lines = [json.loads(line) for line in server.log]
    assert all(line["time"].endswith("Z") and line["level"] in ("info", "warn", "error") for line in lines)
    requests = [line for line in lines if "status" in line]
    chat = next(r for r in requests if r["target"] == "/v1/chat/completions")
    assert chat | {"method": "POST", "status": 200, "completion": 3, "finish": "length"} == chat and chat["id"] and chat["ms"] >= 0
    assert any(r["target"] == '/a"\\b' and r["status"] == 404 for r in requests)
    assert any("listening" in line.get("message", "") for line in lines)
