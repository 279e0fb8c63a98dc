"""Every entity and relationship is read from randomly generated drawings of enterprise models."""

import tempfile
from pathlib import Path
from random import Random
from typing import Any

from corpora.sample_model import read, script, without_notes
from elt_llm_ingest.leanix.model import cardinality_pair, label_cardinality
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import generated

PAGES = 2
drawing = script("drawing")
# Every character that XML can contain. Names have one line, because labels are read as one line.
signs = st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"))
names = st.text(signs, min_size=1, max_size=12).map(lambda text: " ".join(text.split())).filter(bool)
verbs = (names | st.just("")).filter(lambda name: not label_cardinality(name) and not cardinality_pair(name))
cardinalities = st.sampled_from(sorted(drawing.ARROWS))
SUBGROUPS = (("", ""), ("Money", ""), ("Money", "In"), ("Money", "Out & about"), ("People <all>", "In"))


@st.composite
def plans(draw: st.DrawFn) -> Any:
    """Generate drawings: shapes inside and outside of containers on two pages, and lines between shapes of one page."""
    shapes = []
    for number, name in enumerate(draw(st.lists(names, min_size=2, max_size=8))):
        domain, subgroup = draw(st.sampled_from(SUBGROUPS))
        page = draw(st.integers(1, PAGES))
        identifier = draw(st.sampled_from((f"fs-{number}", "")))
        kind = draw(st.sampled_from(("DataObject", "Application")))
        again = (2,) if page == 1 and identifier and draw(st.booleans()) else ()
        shapes.append(drawing.Shape(name, kind, identifier, domain, subgroup, page=page, again=again))
    places = range(len(shapes))
    count = draw(st.integers(0, 8))
    lines = [_line(draw, shapes, number, draw(st.sampled_from(places))) for number in range(count)]
    deflated = frozenset(draw(st.sets(st.integers(1, PAGES))))
    return drawing.Plan(("One", "Two"), shapes, lines, (), (), deflated)


def _line(draw: st.DrawFn, shapes: list[Any], number: int, begin: int) -> Any:
    page = shapes[begin].page
    there = [place for place, shape in enumerate(shapes) if page in {shape.page, *shape.again}]
    end = draw(st.sampled_from(there))
    form = draw(st.sampled_from(drawing.RELATION_FORMS))
    if form == "ids" and not (shapes[begin].fact_sheet_id and shapes[end].fact_sheet_id):
        form = "plain"
    ends = draw(cardinalities), draw(cardinalities)
    return drawing.Line(begin, end, draw(verbs), *ends, page, form, f"relation-{number}")


@settings(max_examples=generated(25))
@given(plans(), st.integers(0, 9))
def test_every_entity_and_relationship_of_a_generated_model_is_read(plan: Any, seed: int) -> None:
    chance = Random(seed)  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.drawio"
        path.write_text(drawing.draw(plan, chance), encoding="utf-8")
        found = without_notes(read(path, "leanix_model").artefacts["enterprise_model"])
    assert found == script("expected").expected_model(plan, drawing.draw_page)
