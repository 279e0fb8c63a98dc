"""Each of forty sections is a collection; the section with the answer is among the three best."""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import QuerySettings
from elt_llm_query.evaluate.datasets import GoldPlace, read_labelled_questions
from elt_llm_query.retrieve.pools import open_collections
from elt_llm_query.retrieve.query_variant import QueryVariant
from elt_llm_query.understanding.routing import CollectionRouter
from stored.sections import Section, chunks_of, sections_of

SAMPLES = Path(__file__).parents[3] / "samples"
COLLECTIONS, FIRST, LEAST = 40, 3, 0.9
MakeGeneration = Callable[..., Any]


@contextmanager
def router_of(sections: Sequence[Section], make: MakeGeneration) -> Iterator[CollectionRouter]:
    """Make a router that chooses three of these sections."""
    generations = [
        make({node.node_id: f"{node.context}\n{node.text}" for node in section}, f"section-{number:02}")
        for number, section in enumerate(sections)
    ]
    with ThreadPoolExecutor(1) as executor:
        opened = open_collections(generations, [FakeEmbedding(256)], QuerySettings(), executor)
        yield CollectionRouter(opened, above=1, to=FIRST)


def best(router: CollectionRouter, question: str) -> list[int]:
    """Return the indexes of the three sections with the best scores."""
    route = router.route(QueryVariant(question))
    scores = [details["score"] for details in route.details.values()] if route else []
    ranked = sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])
    return ranked[:FIRST]


def holds(section: Section, gold: GoldPlace) -> bool:
    """Return whether a section has the sentence, which may span two chunks."""
    wanted = _letters(gold.sentence)
    return Path(section[0].source).name == gold.document and any(
        wanted[:60] in text or wanted[-40:] in text for text in (_letters(node.text) for node in section)
    )


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text).lower()


@pytest.mark.sampled(4, "measured quality")
def test_the_section_that_answers_a_sample_question_is_among_the_three_best_collections(
    tmp_path: Path, make_generation: MakeGeneration
) -> None:
    sections = sections_of(chunks_of(tmp_path / "data", SAMPLES / "documents"), COLLECTIONS)
    assert len(sections) == COLLECTIONS
    questions = [one for one in read_labelled_questions(SAMPLES / "questions.jsonl") if one.answerable]
    right = {
        one.identity: {place for place, section in enumerate(sections) for gold in one.gold if holds(section, gold)}
        for one in questions
    }
    assert all(right.values())
    with router_of(sections, make_generation) as router:
        missed = [one.question for one in questions if not right[one.identity] & set(best(router, one.question))]
    assert 1 - len(missed) / len(questions) >= LEAST, missed


@pytest.mark.sampled(4, "measured quality")
@pytest.mark.parametrize("handbook", ["debian-policy/html", "govuk-data-standards/content"])
def test_a_question_that_equals_a_heading_is_routed_to_the_collection_of_its_section(
    handbook: str, datasets: Path, tmp_path: Path, make_generation: MakeGeneration
) -> None:
    """A heading is easier to find than a question, because all its words are in the section."""
    sections = sections_of(chunks_of(tmp_path / "data", datasets / "handbooks" / handbook), COLLECTIONS)
    headings: dict[str, set[int]] = {}
    for place, section in enumerate(sections):
        for node in section:
            headings.setdefault((node.section or "").split(" > ")[-1], set()).add(place)
    headings_asked = {text: places for text, places in headings.items() if len(text.split()) > 1 and len(places) == 1}
    assert len(headings_asked) > COLLECTIONS
    with router_of(sections, make_generation) as router:
        found = [bool(places & set(best(router, text))) for text, places in headings_asked.items()]
    assert sum(found) / len(found) >= LEAST
