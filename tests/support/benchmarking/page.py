"""Render the results of the speed benchmark as a page of the documentation."""

import datetime as dt
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from bench_process import ProcessTimings
from benchmarking.measures import Latency, Threads

_LIBRARIES = ("chromadb", "bm25s", "llama-index-core", "numpy", "onnxruntime", "pysqlite3")
_PARTS = ("embed", "chroma", "bm25s", "sum", "embed + slower leg")
_OURS = ("ours", "ours 2 %", "ours 50 %", "stock", "stock 2 %", "stock 50 %")
_NAMES = {
    "embed": "embed the question",
    "chroma": "raw Chroma, 50 nearest",
    "bm25s": "raw bm25s, 50 best",
    "sum": "**the three together**",
    "embed + slower leg": "embed and the slower of the two",
    "ours": "**ours: both retrievers, rerank, text and metadata**",
    "ours 2 %": "ours, filtered to 2 %",
    "ours 50 %": "ours, filtered to 50 %",
    "stock": "LlamaIndex as it comes",
    "stock 2 %": "LlamaIndex, filtered to 2 %",
    "stock 50 %": "LlamaIndex, filtered to 50 %",
}
HOW = """\
## How it is measured

`make bench` makes the data on its first run and keeps them below the folder that `BENCH_CACHE` names (else a temporary
one); only the first run takes long. The collections are published by the product's own ingest with its default
settings. Their chunks are made of the sentences of real ones (squad2, hotpotqa-100, scifact): three or more of one
chunk, two of another, at most 100 words. **Their vectors are a stand-in**: .85 of the first chunk's real vector and
.15 of the other's with a little noise, at length 1, since to embed a hundred thousand texts takes half an hour. The
graph of vectors passes the same check as any other. Questions are real, all different, and embedded while they are
timed. Caches are off.

Raw Chroma is the index that LlamaIndex built, and raw bm25s the keyword index of ours, which searches vectors with
Chroma up to 5,000 chunks and with usearch from there on. Raw parts, ours and LlamaIndex are asked in turn within one
process, each something else than the one before. LlamaIndex is its `QueryFusionRetriever` over `BM25Retriever` and
`ChromaVectorStore` with the same chunks, vectors and embedding model, 50 hits per retriever, 8 in the end. Other work
on the same machine slows all of them alike: read the ratios.
"""


@dataclass
class BenchFigures:
    """All results of one run, by the number of chunks if they depend on it."""

    questions: int
    latencies: dict[int, Mapping[str, Latency]] = field(default_factory=dict)
    cold: dict[int, Mapping[str, ProcessTimings]] = field(default_factory=dict)
    threads: Sequence[Threads] = ()
    many: tuple[Latency, Latency] | None = None
    stock_questions: int = 0


def ratios(measured: BenchFigures) -> dict[str, float]:
    """Return the measured ratios and differences for which there are promised limits, by their description."""
    found = {}
    for size, by_name in sorted(measured.latencies.items()):
        p50 = {name: latency.p50 for name, latency in by_name.items()}
        found[f"{size:,} chunks: ours / the three together"] = p50["ours"] / p50["sum"]
        found[f"{size:,} chunks: ours / embed and the slower retriever"] = p50["ours"] / p50["embed + slower leg"]
        for share in ("2 %", "50 %"):
            found[f"{size:,} chunks: milliseconds more when filtered to {share}"] = p50[f"ours {share}"] - p50["ours"]
        if "stock" in p50:
            found[f"{size:,} chunks: LlamaIndex as it comes / ours"] = p50["stock"] / p50["ours"]
    if measured.many:
        together, one = measured.many
        found["many small collections together / one of as many chunks"] = together.p50 / one.p50
    for size, told in sorted(measured.cold.items()):
        found[f"{size:,} chunks: megabytes of anonymous memory of a process that asks"] = told["ours"].anonymous_mb
    return found


def page(measured: BenchFigures) -> str:
    """Return the page as Markdown."""
    now = dt.datetime.now(tz=dt.UTC)
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    parts = [
        "# Speed, measured side by side\n",
        "Written by `make bench`; do not edit by hand.\n",
        f"Measured on {now:%Y-%m-%d}: {_machine()}; Python {platform.python_version()}, {libraries};"
        f" {measured.questions} questions, of which LlamaIndex was asked {measured.stock_questions}.\n",
        "## Ratios\n\n| | |\n|---|---|",
        *(f"| {sentence} | {ratio:.2f} |" for sentence, ratio in ratios(measured).items()),
        *_latencies(measured),
        *_cold(measured),
        *_threads(measured),
        *_many(measured),
        f"\n{HOW}",
    ]
    return "\n".join(parts)


def _latencies(measured: BenchFigures) -> list[str]:
    sizes = sorted(measured.latencies)
    heads = " | ".join(f"{size:,}" for size in sizes)
    lines = ["\n## Warm, milliseconds: half took no longer / nineteen of twenty\n", f"| chunks | {heads} |"]
    lines.append("|---" * (len(sizes) + 1) + "|")
    for name in (*_PARTS, *_OURS):
        cells = [measured.latencies[size].get(name) for size in sizes]
        if any(cells):
            shown = [f"{cell.p50:.1f} / {cell.p95:.1f}" if cell else "" for cell in cells]
            lines.append(f"| {_NAMES[name]} | {' | '.join(shown)} |")
    return lines


def _cold(measured: BenchFigures) -> list[str]:
    if not measured.cold:
        return []
    lines = [
        "\n## A process of its own, without server or page\n",
        "Its imports are not counted. Memory is taken after all questions.\n",
        "| chunks | | opening, ms | first question, ms | median, ms | anonymous MB | resident MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for size, told in sorted(measured.cold.items()):
        for who, one in told.items():
            shown = (one.open_ms, one.first_ms, one.median_ms, one.anonymous_mb, one.resident_mb)
            lines.append(f"| {size:,} | {who} | {' | '.join(f'{value:.0f}' for value in shown)} |")
    return lines


def _threads(measured: BenchFigures) -> list[str]:
    if not measured.threads:
        return []
    lines = [
        "\n## Threads that ask at once\n",
        "Each answer is compared with that of one thread: ids, order, scores.\n",
        "| threads | questions a second | errors | other answers |",
        "|---|---|---|---|",
    ]
    return lines + [f"| {one.threads} | {one.a_second:.0f} | {one.errors} | {one.mixed} |" for one in measured.threads]


def _many(measured: BenchFigures) -> list[str]:
    if not measured.many:
        return []
    together, one = measured.many
    return [
        "\n## Many collections\n",
        f"Fifty collections of 500 chunks asked together: {together.p50:.1f} ms; one of 25,000: {one.p50:.1f} ms.",
    ]


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    names = [line for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")]
    model = names[0].split(":", 1)[1].strip() if names else platform.machine()
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB, {platform.system()}, load {os.getloadavg()[0]:.0f}"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
