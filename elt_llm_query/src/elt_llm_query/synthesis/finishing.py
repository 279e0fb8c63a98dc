"""From a draft that was checked to an answer: what is said of it, sentence by sentence and call by call."""

import re
from collections.abc import Sequence

from elt_llm_core.errors import ResponseGenerationError
from elt_llm_core.results import CheckedSentence

from elt_llm_query.answer.extractive import Answer
from elt_llm_query.answer.grounding import Grounded
from elt_llm_query.synthesis.calls import ModelCalls
from elt_llm_query.synthesis.drafting import Draft
from elt_llm_query.synthesis.sources import Source

_MARK = re.compile(r"\[(\d{1,4})\]")
_MARKS = re.compile(r"\s?\[\d{1,4}\]")


def as_places(text: str, sources: Sequence[Source]) -> str:
    """The text with each [n] as the place, from 1, of source n among these; a number of none of them lies beyond."""
    places = {source.number: place for place, source in enumerate(sources, 1)}

    def placed(mark: re.Match[str]) -> str:
        number = int(mark[1])
        return f"[{places.get(number, number if number > len(sources) else len(sources) + number)}]"

    return _MARK.sub(placed, text)


def without_marks(text: str) -> str:
    """The text without its numbers in brackets."""
    return _MARKS.sub("", text)


def bears_nothing_out(grounded: Grounded) -> bool:
    """Whether the answer claims something and no passage says any of it."""
    claims = [one for one in grounded.sentences if one.verdict != "no claim"]
    return not claims or all(one.verdict == "unsupported" for one in claims)


def claims_only_what_is_not_there(grounded: Grounded) -> bool:
    """Whether the answer claims something, and no passage says any of it: leaving that out leaves nothing."""
    return bears_nothing_out(grounded) and bool(grounded.having("unsupported"))


def nothing_written(calls: ModelCalls) -> ResponseGenerationError:
    """The error of a model that ended without a word: it did not say that the documents lack the answer."""
    full = any(entry.finish == "length" for entry in calls.ledger)
    most = f"{calls.window.section}.num_predict"
    hint = f"Raise {most}: all of it may have gone into thinking." if full else "Ask again, or choose another model."
    return ResponseGenerationError("The language model ended without a word of an answer.", hint=hint)


def checked_sentences(grounded: Grounded, sources: Sequence[Source]) -> tuple[CheckedSentence, ...]:
    """Every sentence with its verdict and the places that bear it out."""
    number_of = {source.chunk.node_id: source.number for source in sources}
    return tuple(
        CheckedSentence(
            text=one.text,
            verdict=one.verdict,
            score=one.score,
            references=tuple(dict.fromkeys(f"[{number_of[quote.chunk.node_id]}]" for quote in one.quotes)),
            places=tuple((quote.chunk.source_id, *quote.span) for quote in one.quotes),
            reasons=one.reasons,
        )
        for one in grounded.sentences
    )


def draft_notes(draft: Draft, calls: ModelCalls) -> tuple[str, ...]:
    """What a reader should know of how the answer came about."""
    notes = []
    if not draft.whole:
        cut = any(entry.finish == "length" for entry in calls.ledger)
        notes.append(
            "The answer is not whole: the model reached the most tokens it may write"
            f" ({calls.window.section}.num_predict is {calls.window.to_write})."
            if cut
            else "The answer is not whole: it was stopped, or the model stopped, before its end."
        )
    if draft.dropped:
        left = ", ".join(f"[{source.number}]" for source in draft.dropped)
        notes.append(
            f"{len(draft.dropped)} of {len(draft.dropped) + len(draft.read)} passages did not fit into the model's"
            f" context and were left out whole: {left}."
        )
    return tuple(notes)


def told(evidence: Answer, draft: Draft, calls: ModelCalls) -> dict[str, object]:
    """For the trace: the evidence, the account of every call, and what the way of writing has to tell."""
    return {
        **evidence.reasoning,
        "context": {
            "window": calls.window.size,
            "to write": calls.window.to_write,
            "read": [source.chunk.node_id for source in draft.read],
            "left out": [source.chunk.node_id for source in draft.dropped],
            "calls": [entry.as_dict() for entry in calls.ledger],
        },
        **draft.told,
    }
