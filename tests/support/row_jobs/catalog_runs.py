"""A catalog of ten entities, written by a model server that may kill its client."""

import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from queue import Queue
from threading import Lock
from typing import Any

from elt_llm_consumer.runner.costs import RunReport
from elt_llm_consumer.runner.run import JobRequest, run_job
from elt_llm_core.settings.loader import LoadedSettings
from file_formats.diagrams import fact_sheet, model_xml
from model_servers.backends import AnswerEnd, Message, ScriptedBackend
from model_servers.http_server import ModelHttpServer
from row_jobs.fake_jobs import job_file, load, project
from stored.folders import run_ingest, write_files

ENTITIES = ("Ladder", "Rope", "Boat", "Anchor", "Lantern", "Harbour Pass", "Berth", "Sail", "Log Book", "Flare")
FIELDS = ("business_rules", "governance_rules")
_LEFT_OUT = (
    *("domain_context", "lifecycle_states", "data_classification", "data_owner", "retention"),
    *("regulatory_context", "associated_agreements"),
)
_JOB = f"""
catalog:
  entity_types: [DataObject]
  handbook_only: false
  fields: {{{", ".join(f"{name}: null" for name in _LEFT_OUT)}}}
"""
_SETTINGS = """
llm: {{provider: ollama, temperature: 0.0}}
ollama: {{base_url: '{address}', llm_model: '{model}', embedding_model: '{model}', context_window: 4096}}
"""
_ENTITY = re.compile(r"^Entity: ([^(\n]{1,60}?)(?: \(also called: .{1,400}\))?$", re.MULTILINE)
_PASSAGES = re.compile(r'<passage number="(\d{1,3})" title="[^"]{0,400}">\n([^<]{0,4000})\n</passage>')


class QuotingBackend(ScriptedBackend):
    """Returns the first two sentences of the chunks that name the requested entity, with their numbers.

    The same prompt has the same answer. At call number `at` (from 1), the process whose id is in `victim` is killed.
    """

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self.victim: Queue[int] = Queue()
        self.asked: list[str] = []
        self._at, self._guard = at, Lock()

    def chat(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Iterator[str | AnswerEnd]:
        """Yield the quoted sentences word by word, and kill the process `victim` at call number `at`."""
        prompt = "\n".join(message.get("content") or "" for message in messages)
        with self._guard:
            self.asked.append(prompt)
            number = len(self.asked)
        if number == self._at:
            os.kill(self.victim.get(timeout=60), signal.SIGKILL)
        yield from re.findall(r"\S+\s*", answer_to(prompt))
        yield AnswerEnd(self._read([len(prompt.split())], options), 8, "stop")


def answer_to(prompt: str) -> str:
    """The reply of the model."""
    name = entity_of(prompt)
    said = [
        f"{sentence.strip()} [{number}]."
        for number, text in _PASSAGES.findall(prompt)
        for sentence in text.rpartition("\n\n")[2].replace("\n", " ").split(".")
        if name in sentence
    ]
    return " ".join(dict.fromkeys(said[:2])) or "Not found in these documents."


def entity_of(prompt: str) -> str:
    """The entity that a prompt asks about."""
    found = _ENTITY.search(prompt)
    assert found is not None, prompt
    return found[1]


def catalog_project(folder: Path, server: ModelHttpServer) -> LoadedSettings:
    """Build a project with ingested rules and a diagram of the entities, which uses the model server."""
    settings = _SETTINGS.format(address=server.address, model=server.backend.name)
    found = project(folder, {f"{name}.md": _rules(name) for name in ENTITIES}, _JOB, settings)
    sheets = [fact_sheet(str(number), name, f"sheet-{number}") for number, name in enumerate(ENTITIES, start=2)]
    run_ingest(found.data_dir, write_files(folder / "drawn", {"model.drawio": model_xml(*sheets)}), collection="drawn")
    path = found.config_dir / "consumer" / "rules.yaml"
    text = path.read_text(encoding="utf-8").replace("{handbook: [library]}", "{handbook: [library], model: drawn}")
    path.write_text(text, encoding="utf-8")
    return found


def run_catalog(loaded: LoadedSettings) -> RunReport:
    """Run the job with the models of its settings."""
    report = run_job(JobRequest("catalog", job_file(loaded)), loaded)
    assert report is not None
    return report


def run_catalog_in_process(folder: Path) -> None:
    """Run the job of a project; the target of a separate process."""
    run_catalog(load(folder))


def _rules(name: str) -> str:
    rules = f"Each {name} must be returned within {len(name)} days. The Warden approves every {name}."
    use = f"No {name} may be lent to a guest. The Clerk keeps a list of all things."
    return f"# Part {name[0]}\n\n{rules}\n\n## Use\n\n{use}\n"
