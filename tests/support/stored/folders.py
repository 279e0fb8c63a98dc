"""Write folders of small files, and ingest them like the command does: with lock, store and pipeline."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import ProgressListener, SilentListener
from elt_llm_core.settings.tree import (
    GRAPH_FROM,
    ChunkingSettings,
    EmbeddingSettings,
    IndexSettings,
    Settings,
    StorageSettings,
)
from elt_llm_core.settings.workspace import Workspace, as_workspace
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.run.enrichment import ContextWriter
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.sandbox.parser import DirectParser, Parser
from elt_llm_ingest.sources.request import IngestRequest
from llama_index.core.llms import LLM
from stored.shelf import COLLECTION, WORDS, writing


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write texts to relative paths and return the folder."""
    for relative, text in files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def generated_files(count: int, seed: int = 0, sections: int = 3) -> dict[str, str]:
    """Generate Markdown files of a few short sections, reproducible by seed."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    return {f"part-{number % 5}/note-{number:02}.md": _note(chance, number, sections) for number in range(count)}


def _note(chance: random.Random, number: int, sections: int) -> str:
    parts = [  # each section becomes one chunk
        f"## Section {number}.{place}\n\n" + " ".join(chance.choices(WORDS, k=12)).capitalize() + "."
        for place in range(sections)
    ]
    return f"# Note {number}\n\n" + "\n\n".join(parts) + "\n"


def run_ingest(
    data_dir: Path | Workspace,
    *paths: Path,
    embedding: EmbeddingModel | None = None,
    batch_size: int = 64,
    progress: ProgressListener | None = None,
    collection: str = COLLECTION,
    listener: Callable[[str], None] | None = None,
    parser: Parser | None = None,
    llm: LLM | None = None,
    graph_from: int = GRAPH_FROM,
    index: IndexSettings | None = None,
    **flags: Any,
) -> IngestReport:
    """Ingest like `elt-llm ingest`."""
    settings = Settings(
        embedding=EmbeddingSettings(provider="fake", batch_size=batch_size),
        chunking=ChunkingSettings(chunk_size=24, chunk_overlap=0, enrichment="llm" if llm else "none"),
        index=index or IndexSettings(),
        storage=StorageSettings(backend=as_workspace(data_dir).backend, graph_from=graph_from),
    )
    request = IngestRequest(collection, paths, **flags)
    with writing(data_dir, listener) as store:
        model, listening = embedding or FakeEmbedding(), progress or SilentListener()
        writer = ContextWriter(llm, model) if llm else None
        return ingest(request, settings, model, store, listening, parser or DirectParser(), writer)


def statuses(report: IngestReport) -> dict[str, str]:
    """Return the status of each file by its path."""
    return {file.path: file.status for file in report.files}
