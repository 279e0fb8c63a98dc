"""Serve the forty hostile documents with a model that obeys them, and the example page."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from attacks.exfiltration import ObedientBackend, write_corpus
from browsing.web_chat import served_page
from elt_llm_api.cli import run
from model_servers.http_server import running_model_server
from processes.command_line import FAKE
from served.scripted_answers import written_by
from served.server import RunningServer, served


@dataclass(frozen=True)
class HostileServer:
    """The server, the model behind it, and the origin of the example page."""

    server: RunningServer
    model: ObedientBackend
    origin: str


@contextmanager
def hostile_server(folder: Path, **settings: str) -> Iterator[HostileServer]:
    """Serve everything from this folder; `settings` are further values by SECTION__KEY."""
    model = ObedientBackend()
    assert run(["ingest", str(write_corpus(folder / "papers")), "-c", "goods", "--json"], FAKE, folder) == 0
    with running_model_server(model) as http, served_page() as origin:
        window = {"OLLAMA__CONTEXT_WINDOW": "32768", "OLLAMA__NUM_PREDICT": "8000"}
        environment = {**written_by("ollama", http, **window, **settings), **FAKE}
        with served(folder, environment=environment, cors_origins=f'["{origin}"]') as server:
            yield HostileServer(server, model, origin)
