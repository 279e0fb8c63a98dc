"""Whether two definitions of a term say the same."""

import re

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.normalise import words
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.answer.claim_contraries import ContraryFinder
from elt_llm_query.answer.grounding import GroundedSentence, ground

from elt_llm_consumer.fields.own_words import held_to_words

_SAID_AS = "It is {}."
_NEARLY_ALL = 0.8
_COPIED = 0.9
_BROKEN = re.compile(r"(?<=\w)[-\u00ad]\s{1,4}(\w)")


class Agreements:
    """Compares definitions as claims are held against passages: numbers, denials, names, words and meaning."""

    def __init__(self, embedding: EmbeddingModel, tokeniser: KeywordTokeniser) -> None:
        self._embedding, self._tokeniser = embedding, tokeniser
        self._contraries = ContraryFinder(tokeniser)

    def agree(self, one: str, other: str) -> bool:
        """Whether neither of two texts says what the other does not bear out. Raises ModelError if embedding fails.

        They agree if each bears out the other, or if the longer bears out the shorter and has nearly all its words: it
        only says more.
        """
        if words(one) == words(other):
            return True
        shorter, longer = sorted((one, other), key=lambda text: (len(text), text))
        held = self._held(shorter, longer)
        back = self._held(longer, shorter)
        return _is_supported(held) and (
            _is_supported(back) or (self._share(shorter, longer) >= _NEARLY_ALL and not _differs(back))
        )

    def supports(self, written: str, said: str) -> bool:
        """Whether everything in `written` is borne out by `said`. Raises ModelError if embedding fails."""
        return _is_supported(held_to_words(self._held(written, said), self._tokeniser))

    def is_copy(self, written: str, said: str) -> bool:
        """Whether `written` has nearly all words of `said`, and hardly any other; broken words are put together first.

        A part of a definition agrees with it, and is no copy: "A person." of "A person who keeps the books."
        """
        one, other = (_BROKEN.sub(r"\1", text) for text in (written, said))
        return self._share(other, one) >= _NEARLY_ALL and self._share(one, other) >= _COPIED

    def _held(self, claim: str, source: str) -> list[GroundedSentence]:
        passages, known = [_passage(_sentence(source))], self._contraries
        grounded = ground(_sentence(claim), passages, self._embedding, self._tokeniser, contraries=known)
        return [sentence for sentence in grounded.sentences if sentence.verdict != "no claim"]

    def _share(self, one: str, other: str) -> float:
        """The share of the stems of one text that the other has too, 0 to 1; 0 of a text without any."""
        ours, theirs = (frozenset(self._tokeniser.stems(text)) for text in (one, other))
        return len(ours & theirs) / len(ours) if ours else 0.0


def _is_supported(sentences: list[GroundedSentence]) -> bool:
    return bool(sentences) and all(sentence.verdict == "supported" for sentence in sentences)


def _differs(sentences: list[GroundedSentence]) -> bool:
    """Whether a number or a denial stands against it, and not only words that the shorter text lacks."""
    reasons = [reason for sentence in sentences for reason in sentence.reasons]
    return any(reason.startswith(("Denied", "Names or numbers have changed")) for reason in reasons)


def _sentence(text: str) -> str:
    """The definition as a claim."""
    return _SAID_AS.format(text.strip().rstrip(".;,"))


def _passage(text: str) -> RetrievedChunk:
    return RetrievedChunk(
        node_id="definition",
        collection="",
        source_id="",
        source_title="",
        source="",
        document_hash="",
        text=text,
        context="",
        span=(0, len(text)),
        page=None,
        section=None,
        score=1.0,
    )
