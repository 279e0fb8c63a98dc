"""The forty hostile documents served, with the model that obeys them and the page that asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from command_line import FAKE
from elt_llm_api.cli import run
from exfiltration import ObedientBackend, write_corpus
from model_http_server import running_model_server
from served import Served, served
from web_chat import served_page
from written_journeys import written_by


@dataclass(frozen=True)
class Hostile:
    """The server, the model behind it, and the origin of the example page."""

    server: Served
    model: ObedientBackend
    origin: str


@contextmanager
def hostile_server(folder: Path, **settings: str) -> Iterator[Hostile]:
    """All of it in this folder; `settings` are further values by SECTION__KEY."""
    model = ObedientBackend()
    assert run(["ingest", str(write_corpus(folder / "papers")), "-c", "goods", "--json"], FAKE, folder) == 0
    with running_model_server(model) as http, served_page() as origin:
        window = {"OLLAMA__CONTEXT_WINDOW": "32768", "OLLAMA__NUM_PREDICT": "8000"}
        environment = {**written_by("ollama", http, **window, **settings), **FAKE}
        with served(folder, environment=environment, cors_origins=f'["{origin}"]') as server:
            yield Hostile(server, model, origin)
