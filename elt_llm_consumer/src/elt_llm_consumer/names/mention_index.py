"""An index of the statements that mention each name, built in one pass over each document."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.definitions.layout import one_line
from elt_llm_consumer.evidence import Evidence
from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument
from elt_llm_consumer.names.names import Mention, Names, name_tokens
from elt_llm_consumer.sentences.statements import is_contents_row

_SURE, _UNSURE = 1.0, 0.5


@dataclass(frozen=True)
class MentionStatement:
    """A sentence, list item or table row with its mentions of one name."""

    document: CorpusDocument
    piece: TextPiece
    mentions: tuple[Mention, ...]

    @property
    def certain(self) -> bool:
        """Whether at least one mention surely means the name, not an ordinary word or a longer name."""
        return any(mention.certain for mention in self.mentions)

    @property
    def weight(self) -> float:
        """The weight of the statement: 1 if a mention surely means the name, else 0.5."""
        return _SURE if self.certain else _UNSURE

    @property
    def section(self) -> str:
        """The headings above the statement, joined by ' > '; empty before the first heading."""
        return self.document.outline.section_at(self.piece.start) or ""

    def evidence(self, score: float, about: str = "") -> Evidence:
        """Return the whole statement as evidence."""
        return self.document.evidence(self.piece.start, self.piece.end, score, about)


class MentionIndex:
    """The statements that mention each name. Headings and tables of contents are not statements."""

    def __init__(self, corpus: Corpus, names: Names) -> None:
        self._key = names.key
        self._stating: dict[tuple[str, ...], list[MentionStatement]] = {}
        self._headed: dict[tuple[str, ...], list[MentionStatement]] = {}
        # A name that occurs only inside longer names, as "ground" does in "ground grade", is found in a later pass.
        left = names
        while left.names and self._read(corpus, left):
            left = names.only([name for name in left.names if not self.of(name) and not self.headed(name)])

    def of(self, name: str) -> Sequence[MentionStatement]:
        """Return the statements that mention a name, in order of document and position."""
        return self._stating.get(self._key(name), ())

    def headed(self, name: str) -> Sequence[MentionStatement]:
        """Return the headings, and the rows of tables of contents, that mention a name."""
        return self._headed.get(self._key(name), ())

    def _read(self, corpus: Corpus, names: Names) -> bool:
        found = False
        for document in corpus.documents:
            pieces = document.pieces
            starts = [piece.start for piece in pieces]
            within: dict[tuple[int, str], list[Mention]] = {}
            for mention in names.mentions(document.text):
                number = bisect_right(starts, mention.start) - 1
                if number >= 0 and mention.start < pieces[number].end:
                    within.setdefault((number, mention.name), []).append(mention)
            for (number, name), mentions in sorted(within.items()):
                piece = pieces[number]
                states = piece.kind not in {"heading", "rule"} and not is_contents_row(piece.text)
                statement = MentionStatement(document, piece, tuple(mentions))
                (self._stating if states else self._headed).setdefault(self._key(name), []).append(statement)
            found = found or bool(within)
        return found


def find_other_spellings(corpus: Corpus, names: Names, unnamed: Iterable[str]) -> Mapping[str, str]:
    """Return a note for each name that the texts lack but may spell otherwise, with the first such words and place.

    A single word counts only with a capital letter within a sentence: "sample" is not a spelling of "Simple".
    """
    wanted = list(unnamed)
    texts = [document.text for document in corpus.documents] if wanted else []
    vocabulary = {token.key for text in texts for token in name_tokens(text)}
    forms = {form: name for name in wanted for form in names.other_spellings(name, vocabulary)}
    found: dict[str, str] = {}
    for document in corpus.documents if forms else ():
        for one in names.only(forms).mentions(document.text):
            if one.certain:
                place = document.evidence(one.start, one.end, _UNSURE).place
                found.setdefault(forms[one.name], f"Perhaps the texts write “{one_line(one.written)}”: {place}.")
    return found
