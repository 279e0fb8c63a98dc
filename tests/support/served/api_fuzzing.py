"""Run Schemathesis against a server: generate requests from its OpenAPI description and check the responses."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optional import needs
from served.server import RunningServer

# A request that fits the description may still be refused for its content, such as an invalid filter or an unknown
# document. A request that does not fit may also be refused as too large. All other checks are those of Schemathesis.
# Where `_known_names` lists the only names to ask for, another name may exist as well: the number 0 is sent as the text
# "0" in a path or a query, and an upload of the same run may have created a collection of this name.
_CHECKS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "401", "403", "404", "409", "413", "415", "422", "429", "503"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429"]

[[operations]]
include-path-regex = "^/v1/(documents|collections)"
include-method = "GET"
[operations.checks.negative_data_rejection]
expected-statuses = ["200", "400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429"]
"""
SLOWEST = 20  # seconds that a response may take on a busy machine


@dataclass(frozen=True)
class FuzzResult:
    """The number of requests, the outcome, and the output of the program."""

    requests: int
    passed: bool
    printed: str


def run_schemathesis(
    server: RunningServer, folder: Path, *, token: str | None, examples: int, seed: int, phases: str
) -> FuzzResult:
    """Run these phases with every check and this many examples per route; its files go into `folder`."""
    document = _known_names(server)
    if token is None:
        for _, operation in operations(document):
            operation.pop("security", None)  # this uses the description of a server that requires keys
    (folder / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "schemathesis.toml").write_text(_CHECKS, encoding="utf-8")
    needs("schemathesis")
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert program, "schemathesis has no command"
    key = ["--header", f"Authorization: Bearer {token}"] if token else []
    ended = subprocess.run(
        [
            *(program, "--config-file", "schemathesis.toml", "run", "openapi.json", "--url", server.address, *key),
            *(
                "--phases",
                phases,
                "--checks",
                "all",
                "--max-examples",
                str(examples),
                "--seed",
                str(seed),
                "--no-color",
            ),
            *("--request-timeout", "30", "--max-response-time", str(SLOWEST), "--continue-on-failure"),
            *("--report", "ndjson", "--report-ndjson-path", "report.ndjson", "--suppress-health-check", "all"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=7200,
        check=False,
    )
    report = (folder / "report.ndjson").read_text(encoding="utf-8")
    return FuzzResult(_count(ended.stdout), ended.returncode == 0 and bool(report), ended.stdout + ended.stderr)


def operations(document: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Method and path of each operation, with its description."""
    return [
        (f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def _known_names(server: RunningServer) -> dict[str, Any]:
    """The OpenAPI description with existing names, so that requests also succeed."""
    document: dict[str, Any] = server.client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    schemas["ChatRequest"]["properties"]["model"]["enum"] = ["samples", "profile/fast", "samples@thorough"]
    schemas["ChatMessage"]["properties"]["role"]["enum"] = ["user"]
    schemas["ChatMessage"]["properties"]["content"] = {"type": "string"}
    schemas["ChatMessage"]["required"] = ["role", "content"]
    schemas["EmbeddingRequest"]["properties"]["model"]["enum"] = ["embedding"]
    shown = server.client.get("/v1/documents", params={"collection": "samples"}).json()["documents"][0]["id"]
    known = {"collection": "samples", "name": "samples", "identity": shown}
    for name, operation in operations(document):
        if name.startswith(("GET /v1/documents", "GET /v1/collections")):
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in known:
                    parameter["schema"]["enum"] = [known[parameter["name"]]]
    return document


def _count(printed: str) -> int:
    """The number before `generated` in the summary."""
    found = re.search(r"([0-9,]{1,12}) generated", printed)
    return int(found[1].replace(",", "")) if found else 0
