"""The metadata extracted from the text of a chunk."""

import json
import time
from pathlib import Path

import pytest
from elt_llm_ingest.metadata.chunk_metadata import WINDOW, ChunkMetadata

TOPICS = {"money": ["fee", "bank transfer"], "welfare": ["safeguarding", "café"]}


def test_chunk_metadata_has_word_count_dates_organisations_and_topics() -> None:
    text = "The Audit Committee met on 3 March 2024 and set the fees."
    assert ChunkMetadata(TOPICS).of(text, "en") == {
        "words": 12,
        "dates": ["2024-03-03"],
        "organisations": ["Audit Committee"],
        "topics": ["money"],
    }


def test_chunk_metadata_leaves_out_empty_lists() -> None:
    assert ChunkMetadata(TOPICS).of("Nothing to see.", "en") == {"words": 3}
    assert ChunkMetadata().of("", "en") == {"words": 0}


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("FEES are due", ["money"]),
        ("pay by bank transfers", ["money"]),
        ("a transfer to the bank", None),
        ("coffee", None),
        ("in the Cafe", ["welfare"]),
        ("safeguarding fee", ["money", "welfare"]),
    ],
)
def test_a_topic_matches_whole_words_in_any_inflected_form(text: str, topics: list[str] | None) -> None:
    assert ChunkMetadata(TOPICS).of(text, "en").get("topics") == topics


def test_a_language_without_a_stemmer_uses_the_english_stemmer() -> None:
    assert ChunkMetadata(TOPICS).of("two fees", "xx")["topics"] == ["money"]


def test_the_metadata_fingerprint_depends_on_the_topics_but_not_on_their_order() -> None:
    assert ChunkMetadata().fingerprint == ChunkMetadata({}).fingerprint
    assert ChunkMetadata(TOPICS).fingerprint == ChunkMetadata(dict(reversed(TOPICS.items()))).fingerprint
    assert ChunkMetadata().fingerprint != ChunkMetadata(TOPICS).fingerprint


@pytest.mark.parametrize(
    "piece", ["1 May ", "A of ", "Board of A and ", "A ", "1.1.", "May 1, ", "companies such as A, "]
)
def test_a_huge_hostile_chunk_is_processed_within_seconds(piece: str) -> None:
    started = time.perf_counter()
    ChunkMetadata(TOPICS).of(piece * (4 * WINDOW // len(piece)), "en")
    assert time.perf_counter() - started < 10  # seconds; a hang would be minutes


@pytest.mark.bench
def test_the_metadata_of_a_chunk_is_extracted_fast_enough_and_the_time_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = (Path(__file__).parent / "labelled_chunks.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [chunk["text"] for chunk in map(json.loads, lines) if "text" in chunk]
    metadata = ChunkMetadata()
    costs = []
    for _ in range(20):
        started = time.process_time()
        for text in texts:
            metadata.of(text, "en")
        costs.append((time.process_time() - started) / len(texts))
    with capsys.disabled():
        characters = sum(map(len, texts)) // len(texts)
        print(f"\n{min(costs) * 1e3:.3f} ms a chunk of {characters} characters")  # noqa: T201


def test_configured_organisations_are_found_as_whole_words_in_order_of_mention() -> None:
    metadata = ChunkMetadata(organisations=("Reef & Sons", "Quay", "Quay North"))
    text = "Ask Quay North, then Acme Ltd or Reef & Sons. Quayside is no one."
    assert metadata.of(text, "en")["organisations"] == ["Quay North", "Acme Ltd", "Reef & Sons"]
    assert metadata.fingerprint != ChunkMetadata().fingerprint
    assert "organisations" not in metadata.of("Nothing here.", "en")
