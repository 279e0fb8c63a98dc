"""A process that opens a collection, searches and reports timings: `python bench_process.py WHAT DIRECTORY ...`.

Arguments: `ours` or `stock`, the data directory or the stores of LlamaIndex, the collection, the provider of the
embedding, and a file with one question a line. Prints one JSON document.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ProcessTimings:
    """Milliseconds to open the collection, for the first question and for the median question; megabytes at the end."""

    open_ms: float
    first_ms: float
    median_ms: float
    anonymous_mb: float
    resident_mb: float


def run(what: str, folder: Path, collection: str, provider: str, questions: list[str]) -> ProcessTimings:
    """Open the collection, ask every question, and measure."""
    started = time.perf_counter()
    close, search = _open(what, folder, collection, provider)
    opened = time.perf_counter()
    took = []
    for question in questions:
        before = time.perf_counter()
        search(question)
        took.append((time.perf_counter() - before) * 1000)
    memory = _memory()
    close()
    return ProcessTimings((opened - started) * 1000, took[0], sorted(took)[len(took) // 2], *memory)


def _open(what: str, folder: Path, collection: str, provider: str) -> tuple[Callable[[], None], Callable[[str], Any]]:
    from elt_llm_core.models.factory import create_embedding
    from elt_llm_core.settings.tree import Settings

    settings = Settings.model_validate({"embedding": {"provider": provider}, "query": {"cache_size": 0}})
    model = create_embedding(settings)
    if what == "stock":
        from benchmarking.rivals import Stock

        stock = Stock(folder, model, filtered=False)
        return stock.close, stock.search
    from elt_llm_query.engine import open_engine

    engine = open_engine(settings, folder, [collection], embedding=model)
    return engine.close, engine.search


def _memory() -> tuple[float, float]:
    """Return the memory of this process in megabytes: anonymous (not backed by a file) and resident."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith(("Rss", "VmR"))}
    return int(kilobytes["RssAnon"]) / 1024, int(kilobytes["VmRSS"]) / 1024


if __name__ == "__main__":
    what, folder, collection, provider, questions = sys.argv[1:]
    lines = Path(questions).read_text(encoding="utf-8").splitlines()
    sys.stdout.write(json.dumps(asdict(run(what, Path(folder), collection, provider, lines))))
