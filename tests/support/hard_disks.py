"""A program that checks how a collection behaves on a full or read-only disk, and prints one JSON document.

`python hard_disks.py KIND SOURCE PLACE` copies the data directory SOURCE and its folder `docs` to PLACE, which the
caller has mounted as a small disk; otherwise a limit on file sizes imitates a full disk.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
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


def ask_in_new_process(data_dir: Path) -> dict[str, Any]:
    """Return the answers of a new process, or its error."""
    try:
        with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
            told = {"answers": answers(generation), "notes": list(generation.notes)}
        with open_store(data_dir) as store:
            findings = verify_collection(store, COLLECTION)
        return {**told, "damage": [it.what for it in findings.damage], "unchecked": list(findings.unchecked)}
    except EltError as error:
        return {"error": type(error).__name__, "said": str(error), "hint": error.hint}


def _elsewhere(data_dir: Path) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, __file__, "ask", str(data_dir)], capture_output=True, text=True, check=False, timeout=120
    )
    return dict(json.loads(ended.stdout)) if ended.returncode == 0 else {"crashed": ended.stderr[-2000:]}


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
    folder = write_files(place / "docs", {"new.md": "A new note of the tide.\n"})
    data_dir = place / "data"
    told: dict[str, Any] = {"before": ask_in_new_process(data_dir)["answers"]}
    if kind != "readonly":  # a disk cannot become read-only while a file is open for writing
        with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
            _harden(kind, place)
            told["still"] = answers(generation)
            told["anew_beside"] = _elsewhere(data_dir)
    else:
        _harden(kind, place)
    told["anew"] = _elsewhere(data_dir)
    told["ingest"] = _ingest(data_dir, folder)
    told["anew_after"] = _elsewhere(data_dir)
    _soften(kind, place)
    told["ingest_after"] = _ingest(data_dir, folder)
    told["after"] = ask_in_new_process(data_dir)
    return told


if __name__ == "__main__":
    os.environ.setdefault("TMPDIR", "/tmp")  # noqa: S108 - SQLite's temporary files are not what is tried here
    result = (
        ask_in_new_process(Path(sys.argv[2])) if sys.argv[1] == "ask" else main(sys.argv[1], *map(Path, sys.argv[2:4]))
    )
    sys.stdout.write(json.dumps(result))
