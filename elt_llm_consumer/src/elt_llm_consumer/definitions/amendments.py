"""Find the sentences that change a definition: "In the definition of 'X', the words ... are replaced by ..."."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from elt_llm_consumer.definitions.layout import one_line
from elt_llm_consumer.definitions.subject import skip_labels
from elt_llm_consumer.definitions.vocabulary import pattern, patterns
from elt_llm_consumer.evidence import Evidence
from elt_llm_consumer.jobs.corpus import Corpus

_AMENDING: Final = patterns("amending_sentences")
_AMENDED: Final = pattern("amended_term")


@dataclass(frozen=True)
class Amendment:
    """A sentence that replaces, changes or deletes the definition of `term`. The program does not carry it out."""

    term: str
    evidence: Evidence

    def __str__(self) -> str:
        """Return the place and the words of the sentence."""
        return f"{self.evidence.place} changes the definition of {self.term}: “{one_line(self.evidence.quote)}”"


def find_amendments(corpus: Corpus) -> Iterator[Amendment]:
    """Yield the changes of definitions, in the order of the texts: one for each term that a sentence names."""
    for document in corpus.documents:
        for piece in document.pieces:
            start = skip_labels(piece.text, 0, len(piece.text))
            found = next(filter(None, (one.match(piece.text, start) for one in _AMENDING)), None)
            for name in _AMENDED.finditer(found["names"]) if found else ():
                term = name[name.lastgroup or 0].strip()
                yield Amendment(term, document.evidence(piece.start, piece.end, 1.0))
