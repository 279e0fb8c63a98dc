"""The model answerer: draft an answer, ground it in the chunks, number its sources and report unsupported sentences."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType

from elt_llm_core.errors import ResponseGenerationError
from elt_llm_core.models.token_counts import TokenUpperBound
from elt_llm_core.results import CheckedSentence, Citation, RetrievedChunk
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.languages import languages, load_language, word_pattern
from llama_index.core.llms import LLM

from elt_llm_query.extractive.answerer import Answer, AnswerRequest, ExtractiveAnswerer, refusal_text
from elt_llm_query.grounding.citations import Quote, cited_chunks, number_quotes, quote_citation, strip_citation_marks
from elt_llm_query.grounding.grounding import GroundedAnswer, ground_answer
from elt_llm_query.synthesis.calls import (
    ContextWindow,
    ModelCalls,
    OnPiece,
    PromptSource,
    context_window_of,
    ignore_piece,
    number_sources,
)
from elt_llm_query.synthesis.drafting import AnswerDraft, AnswerTask, DraftCheck, create_synthesis
from elt_llm_query.synthesis.events import in_citation_order
from elt_llm_query.synthesis.prompts import Prompts
from elt_llm_query.synthesis.refusals import goes_beyond_refusal, is_blank, is_refusal, mentions_refusal
from elt_llm_query.understanding.question import asked_language, question_language

# Below this confidence, the model is not asked. Only questions about other subjects have so low a confidence.
PARTIAL_SOURCES = 0.1
_STYLE_SHARE = 8  # the caller's style takes at most one eighth of the context window
_LANGUAGES: Mapping[str, str] = MappingProxyType(
    {name: code for code in languages() for name in load_language(code).words("names")}
)
_LIST = r"\d{1,3}(?:(?:\s?[,;&]\s?|\s@and@\s)(?:@source@\s)?\d{1,3}){0,8}"
_BRACKETS = word_pattern(rf"【\s?({_LIST})(?:†[^】\n]{{0,80}})?】|\[({_LIST})\]")
_NAMED = word_pattern(
    rf"(\b@before_source@\s)?[\[(](?:@see@\s)?(@source@\s?[:#]?\s?({_LIST}))[\])]",
    re.IGNORECASE,
)
_TAG = re.compile(r"\s?</?source(?:\snumber=[\"'](\d{1,3})[\"'])?[^<>\n]{0,200}>", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_MARK = re.compile(r"\[(\d{1,4})\]")
_RUN = re.compile(r"\[\d{1,4}\](?: ?\[\d{1,4}\])*")
# The possible start of a mark at the end of a text: an unclosed bracket and the space before it, or a space.
_UNFINISHED = re.compile(r"(?:\s|\s?(?:\[[^\[\]]{0,40}|\([^()]{0,40}|\u3010[^\u3010\u3011]{0,120}|<[^<>]{0,240}))\Z")


def normalise_marks(text: str) -> str:
    """Rewrite citations such as (source 2) and 【2】 as [2]. The phrase "in (source 2)" becomes "in source 2"."""

    def marks(numbers: str) -> str:
        return "".join(f"[{number}]" for number in _DIGITS.findall(numbers))

    text = _TAG.sub(lambda found: f" [{found[1]}]" if found[1] else "", text)
    text = _NAMED.sub(lambda found: found[1] + found[2] if found[1] else marks(found[3]), text)
    return _BRACKETS.sub(lambda found: marks(found[1] or found[2]), text)


def renumber_marks(text: str, sources: Sequence[PromptSource]) -> str:
    """Replace each [n] by the position, from 1, of source n in `sources`, or by a higher number if it is missing."""
    positions = {source.number: position for position, source in enumerate(sources, 1)}

    def renumber(mark: re.Match[str]) -> str:
        number = int(mark[1])
        return f"[{positions.get(number, number if number > len(sources) else len(sources) + number)}]"

    return _MARK.sub(renumber, text)


def cite_by_source(
    grounded: GroundedAnswer, sources: Sequence[PromptSource], further: Sequence[Quote] = ()
) -> tuple[str, tuple[Citation, ...]]:
    """Return the checked text with source numbers as its citation marks, and one citation for each supporting source.

    A source that supports several sentences is cited from the first to the last of its supporting spans. `further`
    are quotes from the sources that are cited as well, without a mark in the text.
    """
    number_of = {source.chunk.node_id: source.number for source in sources}
    quotes = [quote for sentence in grounded.sentences for quote in sentence.quotes]
    marks, _ = number_quotes(quotes)
    first_quotes = dict(zip(reversed(marks), reversed(quotes), strict=True))
    source_of = {str(mark): number_of[quote.chunk.node_id] for mark, quote in first_quotes.items()}
    merged: dict[int, Quote] = {}
    for quote in (*first_quotes.values(), *further):
        number = number_of[quote.chunk.node_id]
        known = merged.get(number, quote)
        merged[number] = Quote(quote.chunk, min(known.start, quote.start), max(known.end, quote.end))

    def renumber(run: re.Match[str]) -> str:
        """Write the citation marks of one sentence: the number of each source once, in ascending order."""
        numbers = sorted({source_of[mark] for mark in _DIGITS.findall(run[0]) if mark in source_of})
        return "".join(f"[{number}]" for number in numbers)

    citations = tuple(quote_citation(merged[number], number) for number in sorted(merged))
    return _RUN.sub(renumber, grounded.text), citations


def closest_quotes(evidence: Answer, chunks: Sequence[RetrievedChunk]) -> tuple[Quote, ...]:
    """Return the sentences closest to the question, which a quoted answer would cite, each within one chunk.

    The result is empty if the evidence is too weak for a quoted answer.
    """
    if not evidence.answered:
        return ()
    quotes = []
    for citation, chunk in zip(evidence.citations, cited_chunks(evidence.citations, chunks), strict=True):
        start, end = (min(max(at - chunk.span[0], 0), len(chunk.text)) for at in citation.span)
        quotes.append(Quote(chunk, start, end))
    return tuple(quotes)


def rests_on(grounded: GroundedAnswer, quotes: Sequence[Quote]) -> bool:
    """Return whether a sentence of the answer is supported by one of the quotes or a part of it."""
    used = [quote for sentence in grounded.sentences for quote in sentence.quotes]
    return any(
        (one.chunk.collection, one.chunk.source_id) == (other.chunk.collection, other.chunk.source_id)
        and max(one.span[0], other.span[0]) < min(one.span[1], other.span[1])
        for one in used
        for other in quotes
    )


def number_as_listed(evidence: Answer, chunks: Sequence[RetrievedChunk]) -> Answer:
    """Return the evidence with the first citation of each cited chunk, numbered by rank and sorted by number."""
    ranked = in_citation_order(chunks)
    first: dict[int, Citation] = {}
    for chunk, citation in zip(cited_chunks(evidence.citations, chunks), evidence.citations, strict=True):
        first.setdefault(ranked.index(chunk) + 1, citation)
    numbered = (first[number].model_copy(update={"reference": f"[{number}]"}) for number in sorted(first))
    return replace(evidence, citations=tuple(numbered))


def checked_sentences(grounded: GroundedAnswer, sources: Sequence[PromptSource]) -> tuple[CheckedSentence, ...]:
    """Return every sentence with its verdict and its supporting spans."""
    number_of = {source.chunk.node_id: source.number for source in sources}
    return tuple(
        CheckedSentence(
            text=one.text,
            verdict=one.verdict,
            score=one.score,
            references=tuple(dict.fromkeys(f"[{number_of[quote.chunk.node_id]}]" for quote in one.quotes)),
            places=tuple((quote.chunk.source_id, *quote.span) for quote in one.quotes),
            reasons=(*one.reasons, *(f"[{sources[at - 1].number}] does not support it." for at in one.unsupporting)),
        )
        for one in grounded.sentences
    )


def draft_notes(draft: AnswerDraft, calls: ModelCalls) -> tuple[str, ...]:
    """Return notes on an answer that is not complete, and on chunks that did not fit into the prompt."""
    notes = []
    if not draft.whole and calls.used_up:
        limit = f"{calls.window.section}.num_predict is {calls.window.to_write}"
        notes.append(f"The answer is not complete: the model reached its limit of output tokens ({limit}).")
    elif not draft.whole:
        notes.append("The answer is not complete: the caller or the model stopped it before its end.")
    if draft.dropped:
        notes.append(
            f"{len(draft.dropped)} of {len(draft.dropped) + len(draft.read)} chunks did not fit into the model's"
            f" context and were left out whole: {', '.join(f'[{source.number}]' for source in draft.dropped)}."
        )
    return tuple(notes)


def fitting_style(style: str, window: ContextWindow) -> tuple[str, tuple[str, ...]]:
    """Return the caller's style. If it takes too much of the context window, return an empty style and a note."""
    most, tokens = window.size // _STYLE_SHARE, window.count(style)
    if tokens <= most:
        return style, ()
    return "", (
        f"The requested style was left out: it takes {tokens} tokens, and at most {most} fit beside the chunks.",
    )


def _unused_notes(unused: Sequence[Quote], sources: Sequence[PromptSource]) -> tuple[str, ...]:
    """Return a note with the numbers of the sources that have the sentences closest to the question."""
    chunks = [quote.chunk for quote in unused]
    numbers = ", ".join(f"[{source.number}]" for source in sources if source.chunk in chunks)
    return (f"The answer does not use the sentences closest to the question: {numbers}.",) if numbers else ()


class UnmarkedStream:
    """Passes on an answer, piece by piece, without its citation marks ("[1]").

    A piece may end within a mark. So text that may be the start of a mark, such as "[1", is held back until the next
    piece completes it or shows that it is no mark.
    """

    def __init__(self, on_piece: OnPiece) -> None:
        self._on_piece = on_piece
        self._waiting = ""

    def __call__(self, piece: str) -> None:
        """Receive the next piece of the answer."""
        text = self._waiting + piece
        unfinished = _UNFINISHED.search(text, max(0, len(text) - 250))  # longer than any mark
        cut = unfinished.start() if unfinished else len(text)
        self._waiting = text[cut:]
        self._pass_on(text[:cut])

    def end(self) -> None:
        """Pass on the text that was held back: the answer has ended, so it is not the start of a citation mark."""
        self._pass_on(self._waiting)
        self._waiting = ""

    def _pass_on(self, text: str) -> None:
        if shown := strip_citation_marks(normalise_marks(text)):
            self._on_piece(shown)


class ModelAnswerer:
    """Writes and checks answers. `extractive`, built with `cite=True`, finds evidence. Threads may share one object."""

    def __init__(self, llm: LLM, extractive: ExtractiveAnswerer, settings: Settings, prompts: Prompts) -> None:
        self._llm = llm
        self._bound = TokenUpperBound()
        self._extractive = extractive
        self._settings = settings
        self._prompts = prompts
        self._draft = create_synthesis(settings.answer.strategy, by_collection=settings.answer.by_collection)

    def answer(self, request: AnswerRequest, *, on_piece: OnPiece = ignore_piece) -> Answer:
        """Return the checked answer, or a refusal with the closest chunks.

        Raises ModelError if the model fails, and ResponseGenerationError if its context window is too small. A failed
        answer of the model is never replaced by quotes.
        """
        settings = self._settings.answer
        quoted = self._extractive.answer(request.question, request.chunks)
        if settings.abstain and not quoted.answered and quoted.confidence < PARTIAL_SOURCES:
            evidence = number_as_listed(quoted, request.chunks)
            return replace(evidence, text=self._refusal_text(request.question, evidence))
        calls = self.calls(request.cancelled)
        sources = tuple(number_sources(request.chunks))
        style, notes = fitting_style(request.style, calls.window)
        task = AnswerTask(request.question, sources, self._prompts, self._check, self._settings, request.history, style)
        stream = on_piece if settings.enable_citation else UnmarkedStream(on_piece)
        # A strict answer is sent after its check: a sent piece cannot be taken back.
        draft = self._draft(task, calls, ignore_piece if settings.strict else stream)
        answer = self._finish(request, quoted, draft, calls, stream)
        if isinstance(stream, UnmarkedStream):
            stream.end()
        return replace(answer, notes=(*answer.notes, *notes))

    def calls(self, cancelled: Callable[[], bool] | None = None) -> ModelCalls:
        """Create the object that makes and records the model calls for one answer."""
        window = context_window_of(self._llm, self._bound, self._settings.llm.max_context_tokens)
        return ModelCalls(self._llm, window, cancelled)

    def _check(self, text: str, sources: Sequence[PromptSource]) -> DraftCheck:
        if is_refusal(text):
            return DraftCheck(0.0, ())
        grounded = self._ground(text, sources)
        problems = [one for one in grounded.sentences if one.verdict in ("partly", "unsupported")]
        return DraftCheck(grounded.share, tuple((one.text, " ".join(one.reasons)) for one in problems))

    def _ground(self, text: str, sources: Sequence[PromptSource], *, strict: bool = False) -> GroundedAnswer:
        marked, by = renumber_marks(normalise_marks(text), sources), self._extractive
        chunks = [source.chunk for source in sources]
        return ground_answer(marked, chunks, by.embedding, by.tokeniser, strict=strict, contraries=by.contraries)

    def _finish(
        self, request: AnswerRequest, quoted: Answer, draft: AnswerDraft, calls: ModelCalls, on_piece: OnPiece
    ) -> Answer:
        """Return the draft as an answer, compared with its sources and with numbered citations, or a refusal."""
        settings = self._settings.answer
        if is_blank(draft.text) and not calls.is_cancelled:
            thinking = f"Raise {calls.window.section}.num_predict: all of it may have gone into thinking."
            raise ResponseGenerationError(
                "The language model returned an answer without any words.",
                hint=thinking if calls.used_up else "Ask again, or choose another model.",
            )
        if is_blank(draft.text) or (settings.abstain and is_refusal(draft.text)):
            return self._refuse(request, quoted, draft, calls, None)
        grounded = self._ground(draft.text, draft.read, strict=settings.strict)
        claims = [one for one in grounded.sentences if one.verdict != "no claim"]
        no_support = all(one.verdict == "unsupported" for one in claims)
        # The check marks one correct sentence in twenty as unsupported, so a refusal needs a second reason.
        doubtful = quoted.confidence < settings.uncertain_below or mentions_refusal(draft.text)
        if no_support and ((settings.strict and claims) or (settings.abstain and doubtful)):
            return self._refuse(request, quoted, draft, calls, grounded)
        closest = closest_quotes(quoted, request.chunks)
        unused = () if rests_on(grounded, closest) else closest
        sources = number_sources(request.chunks)
        text, citations = cite_by_source(grounded, sources, unused)
        confidence = round((quoted.confidence * grounded.share) ** 0.5, 4)  # geometric mean
        uncertain = settings.abstain and (unused or confidence < settings.uncertain_below)
        if settings.strict:
            on_piece(text)
        return replace(
            self._with_account(quoted, draft, calls, grounded, (*grounded.notes, *_unused_notes(unused, sources))),
            text=text if settings.enable_citation else strip_citation_marks(text),
            citations=citations,
            outcome="uncertain" if uncertain else "answered",
            confidence=confidence,
        )

    def _refuse(
        self,
        request: AnswerRequest,
        quoted: Answer,
        draft: AnswerDraft,
        calls: ModelCalls,
        grounded: GroundedAnswer | None,
    ) -> Answer:
        """Return a refusal that cites the closest chunks. If the model's text was left out, a note reports this."""
        notes: tuple[str, ...] = ()
        if grounded:
            notes = ("What the model wrote is not supported by the chunks, and was left out.",)
        elif goes_beyond_refusal(draft.text):
            notes = ("The model reported that it found nothing; what else it wrote was left out.",)
        if quoted.outcome == "answered":
            notes = (*notes, "Without the model, the closest chunks would have been quoted as the answer.")
        evidence = number_as_listed(quoted, request.chunks)
        return replace(
            self._with_account(evidence, draft, calls, grounded, notes),
            text=self._refusal_text(request.question, evidence),
            outcome="not found",
            confidence=min(evidence.confidence, self._settings.answer.refuse_below),
        )

    def _refusal_text(self, question: str, evidence: Answer) -> str:
        """Return a refusal in the configured language, if it is known, else in the language of the question."""
        named = (self._settings.llm.answer_language or "").strip().casefold()
        language = _LANGUAGES.get(named) or asked_language(question, question_language(question))
        return refusal_text(language, evidence.citations if self._settings.answer.enable_citation else ())

    @staticmethod
    def _with_account(
        evidence: Answer, draft: AnswerDraft, calls: ModelCalls, grounded: GroundedAnswer | None, notes: tuple[str, ...]
    ) -> Answer:
        """Return the given answer (`evidence`) with details on the draft and on every model call, for the trace."""
        context = {
            "window": calls.window.size,
            "to write": calls.window.to_write,
            "read": [source.chunk.node_id for source in draft.read],
            "left out": [source.chunk.node_id for source in draft.dropped],
            "calls": [asdict(entry) for entry in calls.ledger],
        }
        return replace(
            evidence,
            reasoning={**evidence.reasoning, "context": context, **draft.details},
            notes=(*notes, *draft_notes(draft, calls)),
            steps=draft.steps,
            parts=draft.parts,
            checked=checked_sentences(grounded, draft.read) if grounded else (),
            tokens_used=calls.tokens_used,
            whole=draft.whole,
        )
