"""A minimal job over documents of a few lines, and a model that fails on request.

Its rows are the sentences "X means Y." of the documents; a language model, if configured, shortens each.
"""

import hashlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elt_llm_consumer.evidence import JobResult, Row, Table, absent_cell, found_cell
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import CorpusDocument
from elt_llm_consumer.jobs.job_file import JobFile, load_job
from elt_llm_consumer.jobs.tasks import AskModel, RowMaterial, RowTask
from elt_llm_consumer.runner.costs import RunReport
from elt_llm_consumer.runner.plan import RowSelection
from elt_llm_consumer.runner.run import JobRequest, run_job
from elt_llm_core.errors import EltError, ModelError, StoreError
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM, ScriptedReply
from elt_llm_core.settings.loader import LoadedSettings, load_settings
from pydantic import PrivateAttr
from stored.folders import run_ingest, write_files

KIND = "glossary"
COLUMNS = ("definition", "short")
MEANS = " means "
FAILING = "failing"
"""The job fails to make the row of a term that contains this word."""
UNKEEPABLE = "unkeepable"
"""At a term with this word, the disk counts as full, so neither it nor a later row can be stored."""


class MeaningTask(RowTask):
    """The task to make the row of one sentence. Its group is the folder of the document."""

    table = "terms"

    def __init__(self, document: CorpusDocument, start: int, end: int, prompt: str) -> None:
        self._evidence = document.evidence(start, end, 1.0)
        self.key = self.name = self._evidence.quote.partition(MEANS)[0]
        self.group = (document.source.partition("/")[0],)
        self._prompt = f"{prompt}: {self._evidence.quote}"

    def material(self) -> RowMaterial:
        """Return the sentence and its position in the document."""
        return RowMaterial({"evidence": self._evidence.model_dump(mode="json")}, (self._prompt,))

    def row(self, material: RowMaterial, ask: AskModel | None) -> Row:
        """Return the row: the definition from the text, and the short form from the model."""
        if UNKEEPABLE in self.key:
            raise StoreError("The disk is full", hint="Free space")
        if FAILING in self.key:
            raise EltError(f"{self.key} cannot be made", hint="Mend the document")
        definition = self._evidence.quote.partition(MEANS)[2]
        short = absent_cell("no model")
        if ask is not None:
            short = found_cell(ask(self._prompt), [self._evidence], method="llm", model="told")
        cells = {"definition": found_cell(definition, [self._evidence]), "short": short}
        return Row(key=self.key, name=self.name, group=self.group, cells=cells)


class MeaningJob:
    """A job over all sentences of the form "X means Y.", with a second table that is computed from the rows."""

    kind = KIND

    def __init__(self, context: JobContext, prompt: str = "Shorten") -> None:
        self._context, self._prompt = context, prompt

    def tasks(self) -> Sequence[RowTask]:
        """Return the tasks in the order of the documents."""
        return [
            MeaningTask(document, piece.start, piece.end, self._prompt)
            for document in self._context.corpus.documents
            for piece in document.pieces
            if MEANS in piece.text
        ]

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Return the table of terms, and a table with one row for each folder."""
        groups = sorted({row.group[0] for row in rows})
        sums = [
            Row(
                key=name,
                name=name,
                cells={"terms": found_cell(name, next(r for r in rows if r.group[0] == name).evidence)},
            )
            for name in groups
        ]
        return JobResult(
            job=self._context.file.name,
            kind=KIND,
            tables=(
                Table(name="terms", columns=COLUMNS, rows=tuple(rows)),
                Table(name="folders", columns=("terms",), rows=tuple(sums)),
            ),
            figures={"terms": len(rows)},
        )


class FaultyLLM(ScriptedLLM):
    """Answers deterministically, logs every call to a file, and fails or kills its process at configured calls."""

    _log: Path = PrivateAttr()
    _seconds: float = PrivateAttr()
    _dies_at: int = PrivateAttr()
    _is_down: bool = PrivateAttr()

    def __init__(self, log: Path, *, seconds: float = 0.0, dies_at: int = 0, is_down: bool = False) -> None:
        super().__init__()
        self._log, self._seconds, self._dies_at, self._is_down = log, seconds, dies_at, is_down

    def _next(self, prompt: str) -> ScriptedReply:
        with self._log.open("a", encoding="utf-8") as log:
            log.write(prompt.replace("\n", " ") + "\n")
        with self._lock:
            self.prompts.append(prompt)
            number = len(self.prompts)
        if number == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self._seconds)
        if self._is_down:
            raise ModelError("The model was told to fail")
        said = hashlib.sha256(prompt.encode()).hexdigest()[:8]
        return ScriptedReply(f"In short {said}.", prompt_tokens=40, answer_tokens=4)


def calls_of(log: Path) -> list[str]:
    """Return every prompt that the models received, in all processes."""
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def some_terms(count: int, first: int = 0) -> str:
    """Return a document that defines this number of terms."""
    return "".join(
        f"Term {number:02} means a thing of the number {number}.\n\n" for number in range(first, first + count)
    )


def project(folder: Path, documents: dict[str, str], job: str = "", settings: str = "") -> LoadedSettings:
    """Build a project with documents ingested into the collection `library`, and a job file named `rules`."""
    write_files(folder / "docs", documents)
    spec = f"sources: {{handbook: [library]}}\noutputs: {{formats: [json, csv, xlsx]}}\n{job}"
    write_files(
        folder / "config",
        {"rag_config.yaml": f"embedding: {{provider: fake}}\n{settings}", "consumer/rules.yaml": spec},
    )
    loaded = load(folder)
    run_ingest(loaded.data_dir, folder / "docs")
    return loaded


def load(folder: Path) -> LoadedSettings:
    """Load the settings of an existing project."""
    return load_settings(None, {}, folder)


def job_file(loaded: LoadedSettings) -> JobFile:
    """Load the job file."""
    return load_job(loaded.config_dir / "consumer" / "rules.yaml", loaded)


def run(
    loaded: LoadedSettings, llm: ScriptedLLM | None = None, choice: RowSelection | None = None, **given: Any
) -> RunReport:
    """Run the job."""
    prompt = given.pop("prompt", "Shorten")
    request = JobRequest(
        KIND,
        job_file(loaded),
        choice or RowSelection(),
        create=lambda _, context: MeaningJob(context, prompt),
        embedding=FakeEmbedding(),
        llm=llm,
        **given,
    )
    report = run_job(request, loaded)
    assert report is not None
    return report


def run_in_process(folder: Path, log: Path, dies_at: int) -> None:
    """Run the job of a project; the target of a separate process."""
    run(load(folder), FaultyLLM(log, seconds=0.01, dies_at=dies_at))


def outputs_of(loaded: LoadedSettings) -> dict[str, bytes]:
    """Return the bytes of every file that the job wrote, without receipts, by name."""
    folder = loaded.project / "out"
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.endswith("receipt.json")}
