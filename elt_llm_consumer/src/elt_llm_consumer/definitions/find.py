"""Every definition in the texts of a job."""

import re
from collections.abc import Iterator

from elt_llm_consumer.corpus import Corpus, CorpusDocument
from elt_llm_consumer.definitions.definition import Definition

_TERM = frozenset({"term", "word", "expression", "abbreviation", "acronym"})
_MEANING = frozenset({"meaning", "definition", "in full", "description"})


def find_definitions(corpus: Corpus) -> list[Definition]:
    """The definitions in order of document and place."""
    return [definition for document in corpus.documents for definition in _of_tables(document)]


def _of_tables(document: CorpusDocument) -> Iterator[Definition]:
    inside = False
    for line in re.finditer(r"[^\n]+", document.text):
        cells = [cell.strip() for cell in line.group().strip().strip("|").split("|")]
        names = [cell.casefold() for cell in cells]
        if len(cells) != 2:
            inside = False
        elif names[0] in _TERM and names[1] in _MEANING:
            inside = True
        elif inside and all(cells) and not set(line.group()) <= set("|:- "):
            start = document.text.index(cells[0], line.start())
            begin = document.text.index(cells[1], start + len(cells[0]))
            end = begin + len(cells[1])
            evidence = document.evidence(start, end, 1.0)
            yield Definition(cells[0], cells[1], "table", evidence, (start, start + len(cells[0])), (begin, end))
