"""Answers made of the documents' own sentences: no language model, the same words for the same question."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import CheckedSentence, Citation, RetrievedChunk
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.abstention import SHIPPED, Weighing, decide
from elt_llm_query.answer.asking import Asking
from elt_llm_query.answer.candidates import candidates
from elt_llm_query.answer.citations import Quote, number_quotes
from elt_llm_query.answer.claim_contraries import ContraryFinder
from elt_llm_query.answer.evidence import Evidence, gather_evidence
from elt_llm_query.answer.selection import choose, quotes, reading_order, weighty
from elt_llm_query.answer.sentence_scores import ScoredSentence, score_sentences
from elt_llm_query.answer.term_weights import TermWeights, local_weights
from elt_llm_query.answer.within_limit import cut
from elt_llm_query.understand import Language, Question, understand

_READ_CHUNKS = 8
_CLOSEST = 3
_NOT_FOUND: dict[Language, tuple[str, str]] = {
    "en": ("Not found in these documents.", "The closest passages are {}."),
    "de": ("In diesen Dokumenten nicht gefunden.", "Die nächsten Stellen sind {}."),
}


@dataclass(frozen=True)
class Answer:
    """Quoted sentences with their citations. `answered` is False if the text only says that nothing was found.

    `confidence` is the chance, 0 to 1, that the passages hold the answer. `reasoning` is for the trace: the score of
    each sentence looked at, best first, and the evidence for or against answering. The rest is said of answers that a
    model wrote: the steps that led there, the answers of single collections, the verdict on each sentence, the tokens
    it took, and whether it is whole.
    """

    text: str
    citations: tuple[Citation, ...]
    answered: bool
    confidence: float
    reasoning: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    checked: tuple[CheckedSentence, ...] = ()
    tokens_used: int = 0
    whole: bool = True


class ExtractiveAnswerer:
    """Chooses the sentences that answer, in readable order, each ending with its reference unless `cite` is false."""

    def __init__(
        self, embedding: EmbeddingModel, tokeniser: KeywordTokeniser, *, abstain: bool = True, cite: bool = True
    ) -> None:
        self._embedding = embedding
        self._tokeniser = tokeniser
        self._contraries = ContraryFinder(tokeniser)
        self._abstain = abstain
        self._cite = cite

    def answer(
        self,
        question: str,
        chunks: Sequence[RetrievedChunk],
        *,
        max_sentences: int = 3,
        idf: Callable[[str], float] | None = None,
        known: Callable[[str], bool] | None = None,
        weighing: Weighing = SHIPPED,
    ) -> Answer:
        """Quote at most `max_sentences` from the best passages, or say that they do not hold the answer.

        `idf` and `known` tell the weight of a stem and whether the collection has it; the passages' own without them.
        `weighing` says how much each kind of evidence counts for or against answering.
        """
        asked = understand(question, self._tokeniser)
        read = list(chunks[:_READ_CHUNKS])
        found = candidates(read)
        if not found:
            return self._nothing(asked.language, (), 0.0, {}, ("No passage holds a sentence that could be quoted.",))
        asking = self._asking(asked, self._weights(read, idf, known))
        scored = score_sentences(asking, read, found)
        chosen = choose(scored, max_sentences, twofold=asked.twofold)
        evidence = gather_evidence(asking, read, scored, weighty(scored, max_sentences, twofold=asked.twofold))
        decision = decide(evidence, weighing=weighing)
        reasoning = _reasoning(asked, read, scored, evidence)
        if self._abstain and not decision.answered:
            _, closest = number_quotes(quotes(choose_closest(scored), read))
            return self._nothing(asked.language, closest, decision.confidence, reasoning)
        return self._write(quotes(reading_order(chosen, read), read), decision.confidence, reasoning)

    def _write(self, found: Sequence[Quote], confidence: float, reasoning: dict[str, object]) -> Answer:
        numbers, citations = number_quotes(found)
        said = [
            f"{_readable(quote)} [{number}]" if self._cite else _readable(quote)
            for quote, number in zip(found, numbers, strict=True)
        ]
        # A row of a table does not end as a sentence does.
        in_lines = any("\n" in text for text in said) or (len(said) > 1 and any(quote.said for quote in found))
        return Answer(("\n" if in_lines else " ").join(said), citations, True, confidence, reasoning)

    def _nothing(
        self,
        language: Language,
        closest: tuple[Citation, ...],
        confidence: float,
        reasoning: dict[str, object],
        notes: tuple[str, ...] = (),
    ) -> Answer:
        text = refusal_text(language, closest if self._cite else ())
        return Answer(text, closest, False, confidence, reasoning, notes)

    def _asking(self, question: Question, weights: TermWeights) -> Asking:
        texts = [question.text, *question.parts]
        vectors = np.stack([self._embedding.embed_question(cut(text, self._embedding)) for text in texts])
        return Asking(question, vectors, self._embedding, self._tokeniser, weights, self._contraries)

    def _weights(
        self,
        chunks: Sequence[RetrievedChunk],
        idf: Callable[[str], float] | None,
        known: Callable[[str], bool] | None,
    ) -> TermWeights:
        local = local_weights([self._tokeniser.stems(f"{chunk.context} {chunk.text}") for chunk in chunks])
        return TermWeights(idf or local.idf, known or local.known)


def refusal_text(language: Language, closest: Sequence[Citation]) -> str:
    """That the documents do not hold the answer, and which passages come closest."""
    refusal, pointer = _NOT_FOUND[language]
    references = ", ".join(citation.reference for citation in closest)
    return f"{refusal} {pointer.format(references)}" if closest else refusal


def choose_closest(scored: Sequence[ScoredSentence]) -> list[ScoredSentence]:
    """The best sentence of each of the best passages, for an answer that found nothing."""
    first: dict[int, ScoredSentence] = {}
    for sentence in scored:
        first.setdefault(sentence.candidate.chunk, sentence)
    return list(first.values())[:_CLOSEST]


def _readable(quote: Quote) -> str:
    """The words in lines: a list keeps its lines, a line broken by the page's width is joined; a row as it is read."""
    words = quote.said or quote.words
    lines = [" ".join(line.split()) for line in re.split(r"\n(?=\s{0,40}(?:[-*•\u2013·]|\(?\w{1,3}[.)])\s)", words)]
    return "\n".join(line for line in lines if line)


def _reasoning(
    question: Question, chunks: Sequence[RetrievedChunk], scored: Sequence[ScoredSentence], evidence: Evidence
) -> dict[str, object]:
    return {
        "kind": question.kind,
        "expects": question.expects,
        "evidence": evidence.as_dict(),
        "sentences": [
            {
                "node_id": chunks[sentence.candidate.chunk].node_id,
                "span": (sentence.candidate.start, sentence.candidate.end),
                "score": round(sentence.score, 4),
                "cosine": round(sentence.cosine, 4),
                "coverage": round(sentence.coverage, 4),
                "around": round(sentence.around, 4),
                "passage": round(sentence.passage, 4),
                "support": sentence.support,
                "rivals": sentence.rivals,
            }
            for sentence in scored
        ],
    }
