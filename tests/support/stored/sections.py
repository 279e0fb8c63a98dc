"""Split documents into sections that become separate collections."""

from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import EmbeddingSettings, Settings
from elt_llm_core.store.records import StoredNode
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.request import IngestRequest
from stored.shelf import writing

Section = list[StoredNode]


def chunks_of(data_dir: Path, *paths: Path) -> list[StoredNode]:
    """Return the chunks of documents with the default settings, in text order."""
    model, settings = FakeEmbedding(256), Settings(embedding=EmbeddingSettings(provider="fake"))
    with writing(data_dir) as store:
        ingest(IngestRequest("all", paths), settings, model, store, SilentListener(), DirectParser())
        with open_generation(store, "all") as generation:
            return sorted(generation.nodes(generation.ids), key=lambda node: (node.source, node.start))


def sections_of(passages: Sequence[StoredNode], count: int) -> list[Section]:
    """Group the chunks of documents into whole sections; small neighbouring sections are joined.

    A section is the text below one heading. The depth of headings is the smallest that gives enough sections.
    """
    by_depth = [_below_headings(passages, depth) for depth in range(1, 7)]
    sections = next((found for found in by_depth if len(found) >= count), by_depth[-1])
    while len(sections) > count:
        _join_smallest(sections)
    return sections


def _below_headings(passages: Sequence[StoredNode], depth: int) -> list[Section]:
    sections: list[Section] = []
    former: object = None
    for node in passages:
        heading = node.source, (node.section or "").split(" > ")[:depth]
        if heading != former:
            sections.append([])
            former = heading
        sections[-1].append(node)
    return sections


def _join_smallest(sections: list[Section]) -> None:
    """Join the two smallest neighbouring sections, within one document if possible."""

    def size(place: int) -> tuple[bool, int]:
        left, right = sections[place], sections[place + 1]
        return left[0].source != right[0].source, len(left) + len(right)

    place = min(range(len(sections) - 1), key=size)
    sections[place : place + 2] = [sections[place] + sections[place + 1]]
