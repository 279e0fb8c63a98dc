"""Compare two parsed versions of one book: the share of sentences of one that the other contains."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from elt_llm_ingest.parsing.parsed_document import ParsedDocument

_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+")
# Only some formats separate footnote numbers and list numbers from words: "[1]", a superscript 1, "1."
_WORD = re.compile(r"\b(?!\d{1,2}\b)\w+")
_LEAST_WORDS = 4


@dataclass
class Reading:
    """The words of each section by its title, and the sentences of at least four words with their section."""

    words: dict[str, str] = field(default_factory=dict)
    sentences: list[tuple[str, str]] = field(default_factory=list)

    @property
    def whole(self) -> str:
        """All words, in order."""
        return " ".join(self.words.values())


def reading(documents: Sequence[ParsedDocument]) -> Reading:
    """The sentences of the documents that form one book."""
    found = Reading()
    for document in documents:
        for title, blocks in _sections(document):
            texts = [document.text[start:end] for start, end in blocks]
            known = found.words.get(title, "")
            found.words[title] = f"{known} {' '.join(map(words, texts))} "
            sentences = (words(part) for text in texts for part in _SENTENCE_END.split(text))
            found.sentences += [(title, sentence) for sentence in sentences if sentence.count(" ") >= _LEAST_WORDS - 1]
    return found


def _sections(document: ParsedDocument) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Return the title of each section and its blocks without the heading."""
    starts = {section.start: section.title for section in document.sections}
    title, blocks = "", list[tuple[int, int]]()
    for block in document.blocks:
        if block.start in starts:
            yield title, blocks
            title, blocks = words(starts[block.start]), []
        else:
            blocks.append((block.start, block.end))
    yield title, blocks


def words(text: str) -> str:
    """Return the words in lower case with single spaces; every other character separates words."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def lost(one: Reading, other: Reading, *, same_section: bool = False) -> list[tuple[str, str]]:
    """Return (section, sentence) for each sentence that `other` lacks, or lacks in the section of this title."""
    whole = f" {other.whole} "
    by_title: Mapping[str, str] = other.words

    def contains(title: str, sentence: str) -> bool:
        return f" {sentence} " in (f" {by_title.get(title, '')} " if same_section else whole)

    return [(title, sentence) for title, sentence in one.sentences if not contains(title, sentence)]


def share(one: Reading, other: Reading, *, same_section: bool = False) -> float:
    """Return the share of sentences of `one` that `other` contains, from 0 to 1."""
    return 1 - len(lost(one, other, same_section=same_section)) / max(1, len(one.sentences))
