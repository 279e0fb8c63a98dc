"""The context of a chunk: the headings above it and the header row of its table, short enough to leave room."""

from bisect import bisect_left

from elt_llm_core.outline import Section

from elt_llm_ingest.chunkers.token_index import PassageCounter
from elt_llm_ingest.parsed_document import ParsedDocument

_PATH_TOKENS = 40
_HEADER_TOKENS = 60
_CHARACTERS_FOR_A_TOKEN = 32  # far more than words have
SENTENCE_TOKENS = 48  # at most, of the sentence that a language model may add to a context


def path_budget(counter: PassageCounter) -> int:
    """Most tokens of the headings in a context."""
    return min(_PATH_TOKENS, counter.token_limit // 4)


def header_budget(counter: PassageCounter) -> int:
    """Most tokens of a table's header row in a context."""
    return min(_HEADER_TOKENS, counter.token_limit // 4)


class Contexts:
    """Contexts for the chunks of one document; each distinct one is counted once."""

    def __init__(self, document: ParsedDocument, counter: PassageCounter) -> None:
        self._title = document.title.strip()
        self._counter = counter
        self._starts = [section.start for section in document.sections]
        self._above = _paths(document.sections)
        self._known: dict[tuple[tuple[str, ...], str], tuple[str, int]] = {}
        self._counts: dict[str, int] = {}

    def of(self, start: int, header: str = "") -> str:
        """Title and headings that begin before `start`, outermost first, then the header row on its own line."""
        return self._of(start, header)[0]

    def tokens(self, context: str) -> int:
        """Tokens of a context."""
        if context not in self._counts:
            self._counts[context] = len(self._counter.token_spans(context)) if context else 0
        return self._counts[context]

    def most_tokens(self, start: int, end: int, header: str = "") -> int:
        """Tokens of the longest context that a chunk within text[start:end] can have."""
        inside = self._starts[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        return max(self._of(position, header)[1] for position in (start, *(offset + 1 for offset in inside)))

    def _of(self, start: int, header: str) -> tuple[str, int]:
        path = self._headings_above(start)
        key = (path, header)
        if key not in self._known:
            lines = [self._path(path), self._cut(header, header_budget(self._counter))]
            context = "\n".join(line for line in lines if line)
            self._known[key] = context, self.tokens(context)
        return self._known[key]

    def _headings_above(self, start: int) -> tuple[str, ...]:
        """The headings that hold at `start`; one that stands right there is in the chunk, not above it."""
        number = bisect_left(self._starts, start)
        if number < len(self._starts) and self._starts[number] == start:
            return self._above[number + 1][:-1]
        return self._above[number]

    def _path(self, path: tuple[str, ...]) -> str:
        budget = path_budget(self._counter)
        # Cut before it is counted: a heading of a megabyte may stand above thousands of others.
        most = budget * _CHARACTERS_FOR_A_TOKEN
        titles = [" ".join(title[:most].split()) for title in path[-budget:] if title.strip()]
        if self._title:
            # A page's title mostly repeats its first heading.
            titles = [self._title[:most], *(titles[1:] if titles and titles[0] in self._title else titles)]
        while len(titles) > 1 and self.tokens(" > ".join(titles)) > budget:
            del titles[0]
        return self._cut(" > ".join(titles), budget)

    def _cut(self, text: str, budget: int) -> str:
        text = text[: budget * _CHARACTERS_FOR_A_TOKEN]
        if self.tokens(text) <= budget:
            return text
        return text[: self._counter.token_spans(text)[budget][0]].rstrip()


def _paths(sections: tuple[Section, ...]) -> list[tuple[str, ...]]:
    """Entry n: the titles that hold after the first n headings."""
    paths: list[tuple[str, ...]] = [()]
    stack: list[Section] = []
    for section in sections:
        while stack and stack[-1].level >= section.level:
            stack.pop()
        stack.append(section)
        paths.append(tuple(above.title for above in stack))
    return paths
