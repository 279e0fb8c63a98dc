"""The sentences of the retrieved passages that a claim is held against, with what stands around each."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.sentences import sentence_spans
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.candidates import candidates
from elt_llm_query.answer.claim_tokens import Sentence, read_sentence
from elt_llm_query.answer.pieces import lines_of_tables, without_markup

_CAPITALISED = re.compile(r"(?<=[a-zß-ÿ,;] )[A-ZÀ-Þ][\w'\u2019-]{1,60}")
_LOWER = re.compile(r"(?<![\w'\u2019-])[a-zß-ÿ][\w'\u2019-]{1,60}")
_DETERMINED = re.compile(
    r"\b(?:der|die|das|den|dem|des|ein|eine[nmrs]?|kein[enmrs]{0,2}|im|am|zum|zur|vom|beim|ins|ans|sein[enmrs]{0,2}"
    r"|ihre?[nmrs]?|diese[nmrs]?|[a-zäöüß]{3,30}(?:en|er|es|em|e)) ([A-ZÄÖÜ][\w-]{1,60})"
)
_GERMAN_NOUN = re.compile(r"(?:ung|heit|keit|schaft|tion|tat|ismus|nis|ment|ungen|heiten|keiten|tionen)$")
_BEFORE = 2


@dataclass(frozen=True)
class SourceSentence:
    """text[start:end] of a chunk; `before` are the words of the sentences just before it, `over` those of headings."""

    chunk: int
    start: int
    end: int
    sentence: Sentence
    before: frozenset[str]
    over: frozenset[str]


class Sources:
    """Every sentence of the passages, how much each word weighs among them, and which words are names there."""

    def __init__(self, chunks: Sequence[RetrievedChunk], tokeniser: KeywordTokeniser, *, german: bool) -> None:
        self.chunks = chunks
        self.tokeniser = tokeniser
        self.german = german
        whole = " ".join(f"{chunk.source_title} {chunk.context} {chunk.text}" for chunk in chunks)
        self._common = {fold(one.group()) for one in _LOWER.finditer(whole)}
        self._capitalised = {fold(one.group()) for one in _CAPITALISED.finditer(whole)}
        self._nouns = {fold(one.group(1)) for one in _DETERMINED.finditer(whole)} if german else set[str]()
        self.sentences = [one for number, chunk in enumerate(chunks) for one in self._of_chunk(number, chunk)]
        self._frequency: dict[str, int] = {}
        for one in self.sentences:
            for stem in one.sentence.stems:
                self._frequency[stem] = self._frequency.get(stem, 0) + 1
        self.stems = frozenset(self._frequency)
        self.words = frozenset[str]().union(*(one.sentence.words | one.over for one in self.sentences))

    def read(self, text: str) -> Sentence:
        """A text taken apart in view of these passages."""
        return read_sentence(text, self.tokeniser, self._is_name)

    def weight(self, stem: str) -> float:
        """Inverse document frequency of a stem among the sentences; more than 0."""
        size, count = len(self.sentences), self._frequency.get(stem, 0)
        return 0.2 + math.log1p((size - count + 0.5) / (count + 0.5))

    def _is_name(self, word: str, at_start: bool) -> bool:
        """Whether a capitalised word names something: German capitalises every noun, each language sentences."""
        folded = fold(word)
        if not self.tokeniser.stems(word) and not word.isupper():
            return False
        if self.german:
            return folded not in self._nouns and folded not in self._common and not _GERMAN_NOUN.search(folded)
        if not at_start:
            return len(word) > 1
        return (folded in self._capitalised and folded not in self._common) or (word.isupper() and len(word) > 1)

    def _of_chunk(self, number: int, chunk: RetrievedChunk) -> list[SourceSentence]:
        over = frozenset(fold(f"{chunk.source_title} {chunk.context} {chunk.section or ''}").replace("-", " ").split())
        leads = {(one.start, one.end): one for one in candidates([chunk]) if one.kind != "prose" or one.asked}
        found: list[SourceSentence] = []
        # A row of a table by itself: of all rows together any number would bear out any claim.
        spans = (line for span in sentence_spans(chunk.text) for line in lines_of_tables(chunk.text, span))
        for start, end in sorted({*spans, *leads}):
            told = leads.get((start, end))
            sentence = self.read(told.meant if told else without_markup(chunk.text[start:end]))
            if not sentence.tokens:
                continue
            before = frozenset[str]().union(*(one.sentence.words for one in found[-_BEFORE:]))
            found.append(SourceSentence(number, start, end, sentence, before, over))
        return found
