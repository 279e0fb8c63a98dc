"""Answers as clients of chat models expect them: text with places, footnotes for who knows no places, and counts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from elt_llm_core.results import Citation, QueryResult
from elt_llm_core.text.normalise import words
from elt_llm_query.answer.statements import without_marks

from elt_llm_api.serve.safe_text import as_markdown

Places = Literal["annotations", "footnotes", "both"]
_FOOTNOTES = "\n\nSources:\n"
_FOOTNOTE = re.compile(r"\[\d{1,4}\] ")
_LONGEST_LINE = 200
_INSTEAD = "\n\n---\n\nWhat the sources bear out is this:\n\n"
AGAIN = "\n\n---\n\nThe answer above was not good enough; here is another:\n\n"
BACK = "\n\n---\n\nThe first answer was the better one:\n\n"


@dataclass(frozen=True)
class Usage:
    """Tokens of all calls to a language model; nothing where none was asked."""

    prompt_tokens: int
    completion_tokens: int


def usage_of(result: QueryResult) -> Usage:
    """As the model's server counted them; where it does not count, as they were planned."""
    calls = [call for stage in result.trace.stages for call in _calls(stage.details)]
    written = sum(int(call.get("written") or 0) for call in calls)
    return Usage(max(result.tokens_used - written, 0), min(written, result.tokens_used))


def rest_of(told: str, result: QueryResult) -> str:
    """What is to be told after `told`, the answer as it came, so that who reads it is left with the checked one."""
    if not told.strip():
        return as_markdown(result.answer)
    same = words(without_marks(told)) == words(without_marks(as_markdown(result.answer)))
    return "" if same else _INSTEAD + as_markdown(result.answer)


def footnotes(citations: Sequence[Citation]) -> str:
    """A plain list of the sources by their numbers, for clients that show text and nothing else."""
    lines = dict.fromkeys(_line(citation) for citation in citations)
    return _FOOTNOTES + "\n".join(lines) if lines else ""


def without_footnotes(text: str) -> str:
    """An answer of ours, as a client sends it back, without the list at its end."""
    before, found, after = text.rpartition(_FOOTNOTES)
    return before if found and all(_FOOTNOTE.match(line) for line in after.split("\n")) else text


def annotations(text: str, citations: Sequence[Citation]) -> list[dict[str, Any]]:
    """The places of the citations in the text, one for each time that it names one.

    Offsets are characters. One that the text does not name stands at its end.
    """
    found = []
    for citation in citations:
        starts = [hit.start() for hit in re.finditer(re.escape(citation.reference), text)]
        width = len(citation.reference) if starts else 0
        found += [_annotation(citation, start, start + width) for start in starts or [len(text)]]
    return sorted(found, key=lambda one: int(one["url_citation"]["start_index"]))


def address_of(citation: Citation) -> str:
    """Where this server shows the cited words."""
    start, end = citation.span
    return f"/v1/documents/{citation.collection}/{citation.source_id}/text?start={start}&end={end}"


def _annotation(citation: Citation, start: int, end: int) -> dict[str, Any]:
    place = {
        "start_index": start,
        "end_index": end,
        "title": citation.source_title,
        "url": address_of(citation),
        "reference": citation.reference,
        "collection": citation.collection,
        "source_id": citation.source_id,
        "page": citation.page,
        "span": list(citation.span),
        "excerpt": citation.excerpt,
    }
    return {"type": "url_citation", "url_citation": place}


def _line(citation: Citation) -> str:
    page = f"page {citation.page}" if citation.page else ""
    parts = dict.fromkeys([citation.source_title, citation.section or "", page])
    named = as_markdown(" ".join(f"{', '.join(filter(None, parts))} ({citation.source})".split()))
    return f"{citation.reference} {named[:_LONGEST_LINE]}"


def _calls(details: dict[str, Any]) -> list[dict[str, Any]]:
    context = details.get("context")
    calls = context.get("calls") if isinstance(context, dict) else None
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
