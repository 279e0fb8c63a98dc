"""Rows made by an earlier run, as far as what they quote still stands where they say."""

from elt_llm_core.state.rows import KeptRow
from pydantic import ValidationError

from elt_llm_consumer.rows import Evidence, Row
from elt_llm_consumer.runner_key import Sources


def still_holds(kept: KeptRow, sources: Sources) -> Row | None:
    """The row with its evidence as the documents are now; None if a quote is not at its place any more.

    Its document may have changed elsewhere: then the evidence names the document as it is.
    """
    try:
        row = Row.model_validate_json(kept.content)
    except ValidationError:  # written by a version whose rows had another shape
        return None
    cells = {}
    for name, cell in row.cells.items():
        evidence = [_now(place, sources) for place in cell.evidence]
        standing = tuple(place for place in evidence if place is not None)
        if len(standing) < len(evidence):
            return None
        cells[name] = cell if standing == cell.evidence else cell.model_copy(update={"evidence": standing})
    return row if cells == dict(row.cells) else row.model_copy(update={"cells": cells})


def _now(evidence: Evidence, sources: Sources) -> Evidence | None:
    document = sources.documents.get((evidence.collection, evidence.document_id))
    start, end = evidence.span
    if document is None or document.text[start:end] != evidence.quote:
        return None
    return document.evidence(start, end, evidence.score, evidence.about)
