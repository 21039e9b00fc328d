"""Fuzzes the HTTP API: Schemathesis sends a server over a tiny model what it makes of /openapi.json, for five minutes unless --max-time says
otherwise. Arguments go to `schemathesis run`.

Fails when an answer is a 5xx, has a status, a content type or a body that is not documented, or accepts what the document forbids, and
when the server is not alive at the end.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("MLXFORGE_BUILD", str(ROOT / "build"))
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "reference")]

from checkpoints import with_pooling  # noqa: E402
from serving import Server  # noqa: E402

VOCABULARY = 288  # of the model

# Left out: positive_data_acceptance, since a schema cannot say what fits the model's context and vocabulary.
CHECKS = ",".join(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
        "unsupported_method",
        "allow_header_conformance",
        "use_after_free",
    ]
)


def reachable(document):
    """The document with fewer ways to be refused at once: requests name the model that there is, and ids of its vocabulary."""
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        if "model" in schema.get("properties", {}) and "anyOf" in schema["properties"]["model"]:
            schema["properties"]["model"] = {"enum": ["default", "", None]}
    schemas["TokenId"]["maximum"] = VOCABULARY - 1
    return document


def main():
    with tempfile.TemporaryDirectory() as folder, Server(with_pooling(Path(folder) / "f32", "mean_tokens"), "--max-ctx", "128") as server:
        path = Path(folder) / "openapi.json"
        path.write_text(json.dumps(reachable(server.get("/openapi.json")[1])))
        command = [Path(sys.executable).with_name("schemathesis"), "run", path, "--url", server.url, "--checks", CHECKS]
        limits = ["--max-time", "300", "--request-timeout", "60", "--continue-on-failure"]
        status = subprocess.run([*command, *limits, *sys.argv[1:]], cwd=folder).returncode
        server.check_alive()
    return status


if __name__ == "__main__":
    sys.exit(main())
