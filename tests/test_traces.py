"""Spans of requests as a loopback collector receives them, read with OpenTelemetry's own protobuf classes."""

import json
import socket
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import TINY
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from serving import Server, stream, wait_for

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"  # of the W3C's examples
CHAT = "/v1/chat/completions"
BODY = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "ignore_eos": True}


class Collector:
    """Keeps every span it is sent; `status` is what it answers."""

    def __init__(self, status=200):
        self.spans, self.services, self.status, outer = [], set(), status, self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf"
                outer.take(ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def take(self, request):
        for resource in request.resource_spans:
            self.services |= {a.value.string_value for a in resource.resource.attributes if a.key == "service.name"}
            self.spans += [s for scope in resource.scope_spans for s in scope.spans]

    def span(self, id):
        """That of the request with this x-request-id."""
        return next(s for s in self.spans if attributes(s)["mlxforge.request_id"] == id)


def plain(value):
    kind = value.WhichOneof("value")
    return [plain(v) for v in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def attributes(span):
    return {a.key: plain(a.value) for a in span.attributes}


def parent(flags):
    return {"traceparent": f"00-{TRACE}-{PARENT}-{flags}", "tracestate": "vendor=1"}


def leave(server, id):
    """A client that closes its connection at the first event of a long answer."""
    body = BODY | {"max_tokens": 400, "n": 64, "stream": True}
    request = urllib.request.Request(
        server.url + CHAT, json.dumps(body).encode(), {"Content-Type": "application/json", "x-request-id": id, "Authorization": "Bearer sk-a"}
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        reply.readline()
    wait_for(lambda: server.find(id), "its line in the log")


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """What a collector has of a server's requests once the server has ended, and the answers to some of them."""
    collector = Collector()
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text("alice: sk-a\n")
    with Server(TINY, "--otlp-endpoint", collector.url, "--max-ctx", "512", "--api-key-file", str(keys)) as server:

        def send(id, path, body=None, **headers):
            return server.request(path, body, {"x-request-id": id, "Authorization": "Bearer sk-a"} | headers)

        collector.reply = send("chat", CHAT, BODY, **parent("01"), **{"User-Agent": "tester/1"})[1]
        send("unsampled", CHAT, BODY, **parent("00"))
        send("text", "/v1/completions", {"prompt": "a", "max_tokens": 2})
        send("bad", CHAT, BODY | {"temperature": -1})
        send("model", "/v1/models/f32?x=1")
        send("nowhere", "/v1/nothing")
        leave(server, "leaver")
        stream(server, CHAT, BODY, {"x-request-id": "streamed", "Authorization": "Bearer sk-a"})
        assert server.send("FROB", "/v1/models", headers={"x-request-id": "odd"}).status in (401, 405)
    return collector


def test_a_request_continues_its_clients_trace(traced):
    span = traced.span("chat")
    assert traced.services == {"mlxforge"}
    assert span.trace_id.hex() == TRACE and span.parent_span_id.hex() == PARENT and span.trace_state == "vendor=1"
    assert span.name == f"POST {CHAT}" and span.kind == Span.SPAN_KIND_SERVER
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert "unsampled" not in {attributes(s)["mlxforge.request_id"] for s in traced.spans}


def test_attributes_of_a_request(traced):
    got, usage, timings = attributes(traced.span("chat")), traced.reply["usage"], traced.reply["timings"]
    assert got == {
        "http.request.method": "POST",
        "url.path": CHAT,
        "http.route": CHAT,
        "http.response.status_code": 200,
        "user_agent.original": "tester/1",
        "gen_ai.provider.name": "mlxforge",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "f32",
        "gen_ai.response.model": "f32",
        "gen_ai.response.finish_reasons": ["length"],
        "gen_ai.usage.input_tokens": usage["prompt_tokens"],
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.latency.time_in_queue": timings["queue_ms"] / 1000,
        "gen_ai.latency.time_to_first_token": timings["ttft_ms"] / 1000,
        "mlxforge.request_id": "chat",
        "mlxforge.key": "alice",
    }


def test_a_span_lasts_as_long_as_its_request(traced):
    span = traced.span("chat")
    timings = traced.reply["timings"]
    lasted = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
    assert lasted >= timings["ttft_ms"] + timings["predicted_ms"] - 1


def test_other_requests(traced):
    assert attributes(traced.span("text"))["gen_ai.operation.name"] == "text_completion"
    assert attributes(traced.span("streamed"))["gen_ai.usage.output_tokens"] == 5
    left = attributes(traced.span("leaver"))
    assert left["gen_ai.response.finish_reasons"] == ["disconnect"] and not any("latency" in name for name in left)
    bad = traced.span("bad")
    assert attributes(bad)["http.response.status_code"] == 400
    assert bad.status.code == Status.STATUS_CODE_UNSET  # the client's fault, not the server's
    assert len(bad.trace_id) == 16 and bad.trace_id.hex() != TRACE and not bad.parent_span_id
    model = attributes(traced.span("model"))
    assert (model["url.path"], model["http.route"]) == ("/v1/models/f32", "/v1/models/{model}")
    assert traced.span("nowhere").name == "GET" and "http.route" not in attributes(traced.span("nowhere"))
    assert traced.span("odd").name == "HTTP" and attributes(traced.span("odd"))["http.request.method"] == "_OTHER"


@pytest.mark.parametrize(
    "variable, path, name",
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "", {"OTEL_SERVICE_NAME": "llama"}),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/v1/traces", {"OTEL_RESOURCE_ATTRIBUTES": "service.name=llama"}),
    ],
)
def test_the_environments_endpoint_and_name(variable, path, name):
    collector = Collector()
    with Server(TINY, "--max-ctx", "512", env={variable: collector.url + path} | name) as server:
        server.check_alive()
    assert collector.spans and collector.services == {"llama"}


def test_an_empty_variable_is_not_set():
    with Server(TINY, "--max-ctx", "512", env={"OTEL_EXPORTER_OTLP_ENDPOINT": ""}) as server:
        server.check_alive()
    assert "traces" not in "".join(server.log)


@pytest.fixture
def silent():
    """An address that takes connections and answers none."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("kind", ["gone", "silent", "failing"])
def test_a_dead_collector_disturbs_nobody_and_is_told_once(kind, silent):
    url = {"gone": "http://127.0.0.1:9", "silent": silent, "failing": Collector(status=500).url}[kind]
    with Server(TINY, "--otlp-endpoint", url, "--max-ctx", "512", env={"OTEL_BSP_SCHEDULE_DELAY": "100"}) as server:
        server.check_alive()
        wait_for(lambda: server.get("/health") and server.find("traces: the collector fails"), "a line in the log")
        for _ in range(3):
            server.check_alive()
    assert "".join(server.log).count("the collector fails") == 1


def test_a_collector_that_comes_back():
    collector = Collector(status=400)
    with Server(TINY, "--otlp-endpoint", collector.url, "--max-ctx", "512", env={"OTEL_BSP_SCHEDULE_DELAY": "100"}) as server:
        wait_for(lambda: server.get("/health") and server.find("traces: the collector fails"), "a line in the log")
        collector.status = 200
        wait_for(lambda: server.get("/health") and server.find("traces: the collector answers again"), "a line in the log")


@pytest.mark.parametrize("url", ["https://127.0.0.1:4318", "127.0.0.1:4318", "http://a b/"])
def test_an_endpoint_that_cannot_be_one(url):
    with pytest.raises(AssertionError, match="ended with [12]"):
        Server(TINY, "--otlp-endpoint", url)
