"""What a written answer rests on: each of its sentences held against the retrieved passages, by code alone.

Whoever wrote the answer need not have quoted or cited anything: the best place for each sentence is found here, and
what the passages do not say, or say otherwise, is marked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import Citation, RetrievedChunk
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.citations import Quote, number_quotes
from elt_llm_query.answer.claim_comparison import Comparison
from elt_llm_query.answer.claim_contraries import ContraryFinder
from elt_llm_query.answer.claim_sources import Sources
from elt_llm_query.answer.claim_support import Support, Supporter
from elt_llm_query.answer.statements import Statement, statements, with_marks_inside
from elt_llm_query.understand import question_language

Verdict = Literal["supported", "partly", "unsupported", "no claim"]

_ENOUGH = 0.5
_PARTLY = 0.25
_EXCHANGED = 0.3
_UNLIKE = 1.1  # of 2: nothing of the words and nothing of the meaning


@dataclass(frozen=True)
class GroundedSentence:
    """A sentence of the answer, what was found of it, and why.

    `score` is the chance, 0 to 1, that the sources say it; `quotes` the places that say it best, none for an
    unsupported sentence, at most one for each of its clauses and two for one claim; `cited` are the numbers its writer
    gave it. A sentence that claims nothing (a greeting, "Here is what the documents say:") has the verdict "no claim".
    """

    text: str
    verdict: Verdict
    score: float
    quotes: tuple[Quote, ...]
    reasons: tuple[str, ...]
    cited: tuple[int, ...]

    @property
    def kept(self) -> bool:
        """Whether a strict answer keeps it."""
        return self.verdict != "unsupported"


@dataclass(frozen=True)
class Grounded:
    """The answer with citations of what supports it in place of its writer's, and every sentence's verdict.

    `share` is the mean score of the sentences that claim something, 0 to 1; 1 if none does.
    """

    text: str
    sentences: tuple[GroundedSentence, ...]
    citations: tuple[Citation, ...]
    share: float
    notes: tuple[str, ...]

    def having(self, verdict: Verdict) -> list[GroundedSentence]:
        """The sentences with a verdict."""
        return [sentence for sentence in self.sentences if sentence.verdict == verdict]


def ground(
    answer_text: str,
    sources: Sequence[RetrievedChunk],
    embedding: EmbeddingModel,
    tokeniser: KeywordTokeniser,
    *,
    strict: bool = False,
    contraries: ContraryFinder | None = None,
) -> Grounded:
    """Hold every sentence of a written answer against the passages it was written from.

    A number [n] stands for sources[n - 1]; numbers that do not exist are taken out and noted, all others replaced by
    those of the places found here. `strict` drops the unsupported sentences. Who grounds often gives
    `contraries` of the same tokeniser, made once. Raises ModelError if embedding fails.
    """
    text = with_marks_inside(answer_text)
    german = tokeniser.language == "de" or question_language(text) == "de"
    known = contraries or ContraryFinder(tokeniser)
    supporter = Supporter(Sources(sources, tokeniser, german=german), embedding, known)
    found = statements(text)
    judged = [_judge(statement, supporter, sources) for statement in found]
    kept = [sentence.kept or not strict for sentence in judged]
    written, citations = _written(text, found, judged, kept)
    claims = [
        sentence for sentence, stays in zip(judged, kept, strict=True) if stays and sentence.verdict != "no claim"
    ]
    share = sum(sentence.score for sentence in claims) / len(claims) if claims else 1.0
    return Grounded(written, tuple(judged), citations, round(share, 4), _notes(judged, len(sources), strict=strict))


def _judge(statement: Statement, supporter: Supporter, sources: Sequence[RetrievedChunk]) -> GroundedSentence:
    if not statement.claim:
        return GroundedSentence(statement.text, "no claim", 1.0, (), (), statement.cited)
    whole = supporter.support(statement.claim)
    parts = [whole] if whole else []
    if whole is None or whole.chance < _ENOUGH:
        clauses = [supporter.support(clause) for clause in statement.clauses]
        found = [one for one in clauses if one is not None]
        if found and len(found) == len(clauses) and min(one.chance for one in found) >= _ENOUGH:
            parts = found
    if not parts:
        return GroundedSentence(statement.text, "unsupported", 0.0, (), ("No passage speaks of it.",), statement.cited)
    least = min(parts, key=lambda one: one.chance)
    verdict = _verdict(least)
    reasons = tuple(dict.fromkeys(reason for one in parts for reason in _reasons(one.comparison)))
    return GroundedSentence(
        statement.text,
        verdict,
        round(least.chance, 4),
        () if verdict == "unsupported" else _quotes(parts, sources),
        () if verdict == "supported" else reasons or ("The passages say little of it.",),
        statement.cited,
    )


def _verdict(support: Support) -> Verdict:
    if support.chance >= _ENOUGH:
        return "supported"
    compared = support.comparison
    contradicted = compared.numbers or compared.contrary or compared.swapped or compared.exchanged > _EXCHANGED
    unlike = support.features["lacking"] + support.features["distance"] > _UNLIKE
    return "unsupported" if contradicted or unlike or support.chance < _PARTLY else "partly"


def _reasons(compared: Comparison) -> list[str]:
    reasons = []
    if compared.numbers:
        reasons.append(f"Numbers that differ: {', '.join(compared.numbers)}.")
    if compared.names:
        reasons.append(f"Names missing there: {', '.join(compared.names)}.")
    if compared.contrary:
        reasons.append(f"Denied, or the contrary is said: {', '.join(filter(None, compared.contrary))}.")
    if compared.other_force:
        reasons.append(f"Allowed and demanded are two things: {', '.join(compared.other_force)}.")
    if compared.swapped or compared.exchanged > _EXCHANGED:
        reasons.append("Names or numbers have changed places.")
    reasons.extend("Said is '{1}', not '{0}'.".format(*slot.phrases) for slot in compared.replaced)
    return reasons


def _quotes(parts: Sequence[Support], sources: Sequence[RetrievedChunk]) -> tuple[Quote, ...]:
    places = dict.fromkeys((one.chunk, one.start, one.end) for part in parts for one in part.comparison.sentences)
    return tuple(Quote(sources[chunk], start, end) for chunk, start, end in places)


def _written(
    text: str, found: Sequence[Statement], judged: Sequence[GroundedSentence], kept: Sequence[bool]
) -> tuple[str, tuple[Citation, ...]]:
    """The text with each kept sentence followed by the numbers of its places, and the citations they stand for."""
    quotes = [quote for sentence, stays in zip(judged, kept, strict=True) if stays for quote in sentence.quotes]
    numbers, citations = number_quotes(quotes)
    number = dict(zip(((quote.chunk.node_id, quote.span) for quote in quotes), numbers, strict=True))
    written, last = "", 0
    for statement, sentence, stays in zip(found, judged, kept, strict=True):
        if stays:
            references = "".join(
                dict.fromkeys(f"[{number[quote.chunk.node_id, quote.span]}]" for quote in sentence.quotes)
            )
            written += text[last : statement.start] + f"{statement.text} {references}".rstrip()
        # A line end after it stays: the next sentence may be a point of a list.
        last = len(text[: statement.end].rstrip()) if stays else statement.end
    return (written + text[last:]).strip(), citations


def _notes(judged: Sequence[GroundedSentence], count: int, *, strict: bool) -> tuple[str, ...]:
    notes = []
    strange = sorted({number for sentence in judged for number in sentence.cited if not 1 <= number <= count})
    if strange:
        named = ", ".join(f"[{number}]" for number in strange)
        notes.append(f"The answer cited {named}, which {'do' if len(strange) > 1 else 'does'} not exist: taken out.")
    unsupported = sum(sentence.verdict == "unsupported" for sentence in judged)
    if unsupported:
        said = "sentence of the answer is" if unsupported == 1 else "sentences of the answer are"
        dropped = " and left out" if strict else ""
        notes.append(f"{unsupported} {said} not supported by the passages{dropped}.")
    return tuple(notes)
