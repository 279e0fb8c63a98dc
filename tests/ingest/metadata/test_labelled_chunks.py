"""Compare dates and organisations with chunks that were labelled by hand by the rules in docs/decisions/0010."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.text.language import detect_language
from elt_llm_ingest.metadata.chunk_metadata import ChunkMetadata

EVERY = [
    json.loads(line)
    for line in (Path(__file__).parent / "labelled_chunks.jsonl").read_text(encoding="utf-8").splitlines()
]
# The dense part names three times as many organisations as usual text, so it is measured but has no threshold.
CHUNKS = [chunk for chunk in EVERY if chunk["part"] != "dense"]
FIELDS = ("dates", "organisations")
OWN_F1 = 0.9
ALL_F1 = {"dates": 0.9, "organisations": 0.78}
TextOf = Callable[[dict[str, Any]], str]


@dataclass(frozen=True)
class Score:
    """How many extracted values are right, extra or missing, over all chunks together."""

    right: int
    extra: int
    missing: int

    @property
    def f1(self) -> float:
        return 2 * self.right / max(1, 2 * self.right + self.extra + self.missing)

    def __str__(self) -> str:
        precision = self.right / max(1, self.right + self.extra)
        recall = self.right / max(1, self.right + self.missing)
        return f"{self.right + self.missing:3} marked  P {precision:.3f}  R {recall:.3f}  F1 {self.f1:.3f}"


def score(chunks: Iterable[dict[str, Any]], field: str, text_of: TextOf) -> Score:
    right = extra = missing = 0
    metadata = ChunkMetadata()
    for chunk in chunks:
        text = text_of(chunk)
        names = metadata.of(text, detect_language(text)).get(field, [])
        assert isinstance(names, list)
        found, marked = set(map(normalised, names)), set(map(normalised, chunk[field]))
        right, extra, missing = right + len(found & marked), extra + len(found - marked), missing + len(marked - found)
    return Score(right, extra, missing)


def normalised(name: str) -> str:
    """Normalise case, apostrophes and "&", so that spellings of one name are equal."""
    return name.casefold().replace("\u2019", "'").replace(" & ", " and ")


@pytest.fixture(scope="module")
def referenced_text(datasets: Path) -> TextOf:
    """Return a function that gives a labelled chunk's text: from the label, or from the data set that it names."""

    @cache
    def load(name: str) -> Any:
        text = (datasets / name).read_text(encoding="utf-8")
        return {r["_id"]: r["text"] for r in map(json.loads, text.splitlines())} if name.endswith(".jsonl") else text

    def text_of(chunk: dict[str, Any]) -> str:
        if "text" in chunk:
            return str(chunk["text"])
        whole = load(chunk["file"])
        return str((whole[chunk["record"]] if "record" in chunk else whole)[chunk["start"] : chunk["end"]])

    return text_of


@pytest.mark.parametrize("field", FIELDS)
def test_the_metadata_extracted_from_our_own_chunks_matches_the_hand_written_labels(field: str) -> None:
    own = [chunk for chunk in CHUNKS if "text" in chunk]
    assert score(own, field, lambda chunk: str(chunk["text"])).f1 >= OWN_F1


@pytest.mark.parametrize("field", FIELDS)
def test_the_metadata_extracted_from_all_chunks_nearly_matches_the_hand_written_labels(
    field: str, referenced_text: TextOf
) -> None:
    assert score(CHUNKS, field, referenced_text).f1 >= ALL_F1[field]


def test_labelled_chunks_have_not_changed_since_they_were_labelled(referenced_text: TextOf) -> None:
    changed = [c["id"] for c in EVERY if hashlib.sha256(referenced_text(c).encode()).hexdigest() != c["sha256"]]
    assert not changed


def test_at_least_fifty_labelled_chunks_are_our_own_and_at_least_fifty_are_from_other_data_sets() -> None:
    own = sum("text" in chunk for chunk in CHUNKS)
    assert own >= 50
    assert len(CHUNKS) - own >= 50


@pytest.mark.bench
@pytest.mark.parametrize("field", FIELDS)
def test_the_precision_and_recall_of_extracted_metadata_are_printed(
    field: str, referenced_text: TextOf, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {
        "tuned on": [chunk for chunk in CHUNKS if chunk["part"] == "dev"],
        "fresh, opened": [chunk for chunk in CHUNKS if chunk["part"] == "fresh"],
        "kept aside": [chunk for chunk in CHUNKS if chunk["part"] == "test"],
        "dense": [chunk for chunk in EVERY if chunk["part"] == "dense"],
        "own": [chunk for chunk in CHUNKS if "text" in chunk],
        "all but dense": CHUNKS,
    }
    with capsys.disabled():
        for name, chunks in parts.items():
            print(f"\n{field:14} {name:13} {len(chunks):3} chunks {score(chunks, field, referenced_text)}", end="")  # noqa: T201
