"""GET /metrics: its counts beside the answers' own usage, and every query of the Grafana dashboard evaluated by a real Prometheus."""

import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest
from conftest import ROOT, TINY
from serving import Server, wait_for

DASHBOARD = json.loads((ROOT / "share" / "grafana" / "mlxforge.json").read_text())
QUERIES = [t["expr"] for panel in DASHBOARD["panels"] for t in panel["targets"]]


def value(text, sample):
    """Of one sample by its name, and its labels where they are given."""
    name, _, labels = sample.partition("{")
    lines = [l for l in text.splitlines() if re.match(rf"{re.escape(name)}[{{ ]", l) and labels.rstrip("}") in l]
    assert len(lines) == 1, (sample, lines)
    return float(lines[0].rsplit(" ", 1)[1])


def test_counts_are_those_of_the_answers():
    with Server(TINY, "--max-ctx", "512") as server:
        replies = [server.chat("a" * n, max_tokens=n, ignore_eos=True)[1] for n in (3, 5, 8)]
        replies.append(server.complete("hello", max_tokens=20, ignore_eos=True, stop_token_ids=list(range(288)))[1])
        assert server.chat("x", temperature=-1)[0] == 400
        text = server.get("/metrics")[1]
        assert value(text, "vllm:prompt_tokens_total") == sum(r["usage"]["prompt_tokens"] for r in replies)
        assert value(text, "vllm:generation_tokens_total") == sum(r["usage"]["completion_tokens"] for r in replies)
        assert value(text, 'vllm:request_success_total{finished_reason="length"}') == 3
        assert value(text, 'vllm:request_success_total{finished_reason="stop"}') == 1
        assert value(text, "vllm:time_to_first_token_seconds_count") == 3
        assert value(text, "vllm:inter_token_latency_seconds_count") == 2 + 4 + 7
        assert value(text, "vllm:e2e_request_latency_seconds_count") == 4
        assert value(text, 'http_requests_total{status="4xx"}') == 1
        assert value(text, "vllm:num_requests_running") == value(text, "vllm:kv_cache_usage_perc") == 0
        assert 'model_name="f32"' in text


class Prometheus:
    """Debian's, scraping `target` every second."""

    def __init__(self, folder, target):
        unpacked = ROOT / "build" / "prometheus" / "usr" / "bin" / "prometheus"
        binary = shutil.which("prometheus") or str(unpacked)
        config = {"scrape_configs": [{"job_name": "mlxforge", "scrape_interval": "1s", "static_configs": [{"targets": [target]}]}]}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{s.getsockname()[1]}"
        flags = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address={self.address}"]
        self.process = subprocess.Popen([binary, *flags], stderr=subprocess.DEVNULL)

    def query(self, expression):
        """The result: a list of {"metric", "value"}."""
        url = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=20) as reply:
                answer = json.load(reply)
        except urllib.error.HTTPError as e:
            if e.code == 503:
                return []  # it is still starting
            raise AssertionError(f"{expression}: {e.read().decode()}") from e
        except OSError:
            return []  # it does not listen yet
        assert answer["status"] == "success"
        return answer["data"]["result"]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    with Server(TINY, "--max-ctx", "512") as server:
        scraper = Prometheus(tmp_path_factory.mktemp("prometheus"), f"127.0.0.1:{server.port}")
        try:
            wait_for(lambda: scraper.query("up == 1"), "the first scrape", 60)
            for i in range(2):  # rates need a change between two scrapes
                assert server.chat("hello", max_tokens=5, ignore_eos=True)[0] == 200
                seen = f"vllm:request_success_total{{finished_reason='length'}} >= {i + 1}"
                wait_for(lambda: scraper.query(seen), "the next scrape", 60)
            yield scraper
        finally:
            scraper.process.terminate()
            scraper.process.wait(30)


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_of_the_dashboard_has_a_result(prometheus, query):
    expression = query.replace("$__rate_interval", "1m").replace("$model", ".*")
    assert "$" not in expression
    result = prometheus.query(expression)
    assert result and all(float(r["value"][1]) >= 0 for r in result), expression


def test_the_dashboard_shows_every_kind_of_metric():
    assert len(set(re.findall(r"vllm:\w+", " ".join(QUERIES)))) >= 12
