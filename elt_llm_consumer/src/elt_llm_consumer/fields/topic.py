"""What a field is written of, and whether a sentence of a model, or the place it rests on, speaks of that at all.

Grounding tells whether the passages say a sentence. Whom they say it of it does not tell: "We hold grades" is borne
out by the handbook of any other register.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from elt_llm_query.answer.citations import Quote
from elt_llm_query.answer.grounding import GroundedSentence

from elt_llm_consumer.fields.about import Subjects
from elt_llm_consumer.fields.meetings import begins_with, is_done
from elt_llm_consumer.names import Mention, Names

_PRONOUN = re.compile(r"\W{0,6}(?:It|Its|They|Their|Es|Sie|Er|Ihre?) \w")


@dataclass(frozen=True)
class Topic:
    """One name among others: `names` knows them all, so that words of a longer name are not taken for a shorter one.

    `subjects` knows what the statements of the texts speak of; without it only the words of a quote tell.
    """

    name: str
    names: Names = field(repr=False)
    subjects: Subjects | None = field(default=None, repr=False)

    def spoken_of(self, sentences: Sequence[GroundedSentence], kept: Sequence[bool]) -> list[bool]:
        """For each sentence of a reply, in order, whether what it rests on speaks of the topic.

        A place does that names it, or stands under a heading that does. Where the sentence itself names it, it is
        enough that the section of the place does somewhere: a name alone is soon written before what is said of others.
        "It ..." takes up what the sentence before began with, if that is `kept`: else nobody could read what it is.
        """
        told, subject = [], False
        for sentence, stays in zip(sentences, kept, strict=True):
            mentions = self._mentions(sentence.text)
            taken_up = subject and bool(_PRONOUN.match(sentence.text))
            subject = stays and (taken_up or begins_with(sentence.text, mentions))
            told.append(
                any(self._is_place_of_it(quote) for quote in sentence.quotes)
                or ((bool(mentions) or taken_up) and any(self._is_in_section_of_it(quote) for quote in sentence.quotes))
            )
        return told

    def _is_place_of_it(self, quote: Quote) -> bool:
        chunk = quote.chunk
        if self.subjects is None:
            heading = (chunk.section or "").rpartition(" > ")[2]
            return bool(self._mentions(quote.words) or self._mentions(heading))
        stated = self.subjects.at(chunk.collection, chunk.source_id, quote.span)
        return any(one.number in self._numbers or (one.headings and self._mentions(one.headings[-1])) for one in stated)

    def _is_in_section_of_it(self, quote: Quote) -> bool:
        """Whether any heading above the place, or another sentence of the passage under the same ones, speaks of it."""
        chunk = quote.chunk
        if self.subjects is None:
            return bool(self._mentions(f"{chunk.section or ''}\n{chunk.text}"))
        paths = {one.headings for one in self.subjects.at(chunk.collection, chunk.source_id, quote.span)}
        beside = self.subjects.at(chunk.collection, chunk.source_id, chunk.span)
        return any(self._mentions(heading) for path in paths for heading in path) or any(
            one.number in self._numbers and one.headings in paths for one in beside
        )

    def _mentions(self, text: str) -> list[Mention]:
        key = self.names.key(self.name)
        return [
            one
            for one in self.names.mentions(text)
            if self.names.key(one.name) == key and one.doubt != "longer name" and not is_done(text, one)
        ]

    @cached_property
    def _numbers(self) -> frozenset[int]:
        """The statements of the texts that speak of it."""
        return frozenset(one.statement.number for one in self.subjects.of(self.name)) if self.subjects else frozenset()
