"""A program that checks how a collection behaves on a full or read-only disk, and prints one JSON document.

`python hard_disks.py KIND SOURCE PLACE` copies the data directory SOURCE and its folder `docs` to PLACE, which the
caller has mounted as a small disk; otherwise a limit on file sizes imitates a full disk.
"""

import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.errors import EltError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.store.store import open_store
from llama_index.core.vector_stores.types import VectorStoreQuery
from stored.folders import run_ingest, write_files
from stored.shelf import COLLECTION

QUESTIONS = ("anchor and basin", "a reef", "ferry harbour island")


def answers(generation: Generation) -> list[Any]:
    """Read every text, and return the nearest cosines and the best keyword match of each question."""
    model = FakeEmbedding()
    found: list[Any] = []
    for question in QUESTIONS:
        query = VectorStoreQuery(query_embedding=model.embed_question(question).tolist(), similarity_top_k=5)
        result = generation.vector_store.query(query)
        assert all(node.text for node in generation.nodes(result.ids or []))
        cosines = [round(cosine, 4) for cosine in result.similarities or []]
        found.append([cosines, int(generation.keyword.scores(question).argmax())])
    return found


def open_and_ask(data_dir: Path) -> dict[str, Any]:
    """Open the collection and return its answers, or the error."""
    try:
        with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
            told = {"answers": answers(generation), "notes": list(generation.notes)}
        with open_store(data_dir) as store:
            findings = verify_collection(store, COLLECTION)
        return {**told, "damage": [it.what for it in findings.damage], "unchecked": list(findings.unchecked)}
    except EltError as error:
        return {"error": type(error).__name__, "said": str(error), "hint": error.hint}


def processes() -> ForkServerContext:
    """Start the server that forks new processes, with the heavy libraries imported, and return its context."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["elt_llm_core.collection.verification", "elt_llm_core.index.chroma", "stored.folders"]
    )
    ensure_running()
    return context


def _elsewhere(context: ForkServerContext, kind: str, data_dir: Path) -> dict[str, Any]:
    """Let a new process open the collection, and return its answers or its error."""
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_ask_within, args=(kind, data_dir, sending))
    process.start()
    sending.close()
    try:
        return dict(receiving.recv())
    except EOFError:
        process.join()
        return {"crashed": process.exitcode}


def _ask_within(kind: str, data_dir: Path, sending: Connection) -> None:
    if kind == "limit":
        _harden(kind, data_dir)  # the server that forked this process has no limit
    sending.send(open_and_ask(data_dir))


def _harden(kind: str, place: Path) -> None:
    if kind == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    elif kind == "readonly":
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    else:
        with (place / "filler").open("wb", buffering=0) as filler:
            size = 1 << 20
            while size:
                try:
                    filler.write(bytes(size))
                except OSError:
                    size //= 2


def _soften(kind: str, place: Path) -> None:
    if kind == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    elif kind == "readonly":
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
    else:
        (place / "filler").unlink()


def _ingest(data_dir: Path, folder: Path) -> dict[str, Any]:
    try:
        return {"documents": run_ingest(data_dir, folder).documents}
    except (EltError, OSError) as error:
        return {"error": type(error).__name__, "said": str(error), "hint": getattr(error, "hint", "")}


def main(kind: str, source: Path, place: Path) -> dict[str, Any]:
    """Ask before the disk is full or read-only, while it is, and afterwards."""
    shutil.copytree(source, place / "data")
    context = processes()
    folder = write_files(place / "docs", {"new.md": "A new note of the tide.\n"})
    data_dir = place / "data"
    told: dict[str, Any] = {"before": open_and_ask(data_dir)["answers"]}
    if kind != "readonly":  # a disk cannot become read-only while a file is open for writing
        with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
            _harden(kind, place)
            told["still"] = answers(generation)
            told["anew_beside"] = _elsewhere(context, kind, data_dir)
    else:
        _harden(kind, place)
    told["anew"] = _elsewhere(context, kind, data_dir)
    told["ingest"] = _ingest(data_dir, folder)
    told["anew_after"] = _elsewhere(context, kind, data_dir)
    _soften(kind, place)
    told["ingest_after"] = _ingest(data_dir, folder)
    told["after"] = open_and_ask(data_dir)
    return told


if __name__ == "__main__":
    os.environ.setdefault("TMPDIR", "/tmp")  # noqa: S108 - SQLite's temporary files are not under test
    sys.stdout.write(json.dumps(main(sys.argv[1], *map(Path, sys.argv[2:4]))))
