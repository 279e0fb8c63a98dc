"""Numbers and pages of citations."""

import pytest
from elt_llm_core.text.outline import Outline
from elt_llm_query.grounding.citations import Quote, add_locations, number_quotes, split_statements
from retrieval.chunks import make_chunk


def test_quotes_with_the_same_span_have_the_same_citation_number() -> None:
    chunk = make_chunk("Loans last three weeks.", start=10)
    overlapping = make_chunk("last three weeks.", start=16)
    numbers, citations = number_quotes([Quote(chunk, 6, 23), Quote(chunk, 0, 5), Quote(overlapping, 0, 17)])
    assert numbers == [1, 2, 1]
    assert [citation.span for citation in citations] == [(16, 33), (10, 15)]


def test_a_quote_after_a_page_break_is_cited_with_the_later_page() -> None:
    chunk = make_chunk("One page ends here. Another begins.", start=100, page=1)
    _, citations = number_quotes([Quote(chunk, 0, 19), Quote(chunk, 20, 35)])
    assert [citation.page for citation in add_locations(citations, {"rules": Outline((0, 120))})] == [1, 2]


def test_citations_of_documents_without_pages_have_no_page() -> None:
    _, citations = number_quotes([Quote(make_chunk("One page."), 0, 9)])
    assert add_locations(citations, {"rules": Outline()})[0].page is None


@pytest.mark.parametrize(
    ("written", "claim"),
    [
        ("3. Children need a permit [1].", "Children need a permit."),
        ("Step 3: Sign the form [1].", "Sign the form."),
        ("7. May be renewed once by the clerk [1].", "May be renewed once by the clerk."),
        ("3. March 2025 is the last day [1].", "3. March 2025 is the last day."),
        ("3. März 2025 ist der letzte Tag [1].", "3. März 2025 ist der letzte Tag."),
    ],
)
def test_the_number_of_a_list_item_is_no_claim_but_the_day_of_a_date_is(written: str, claim: str) -> None:
    assert [statement.claim for statement in split_statements(written)] == [claim]
