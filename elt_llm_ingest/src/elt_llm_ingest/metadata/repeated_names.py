"""Short ways of naming an organisation again that the same text names in full."""

from collections.abc import Iterable, Iterator, Sequence

from elt_llm_ingest.metadata.name_runs import Run, Word
from elt_llm_ingest.metadata.organisation_words import LONG_HEADS

_LEAST_INITIALS = 3


def repeated_names(names: Iterable[str], runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    """Where initials ("DSA") or the last two words of a long name stand by themselves, as spans of the text."""
    initials: set[str] = set()
    endings: set[tuple[str, str]] = set()
    for name in names:
        words = [word for word in name.split() if word[0].isupper()]
        if len(words) >= _LEAST_INITIALS:
            initials.add("".join(word[0] for word in words))
            if words[-1] in LONG_HEADS:
                endings.add((words[-2], words[-1]))
    if not initials:
        return
    for run in runs:
        yield from _spans(run.words, initials, endings)


def _spans(words: Sequence[Word], initials: set[str], endings: set[tuple[str, str]]) -> Iterator[tuple[int, int]]:
    for place, word in enumerate(words):
        if word.text in initials:
            yield word.start, word.end
        if place and (words[place - 1].text, word.text) in endings and _stands_alone(words, place):
            yield words[place - 1].start, word.end


def _stands_alone(words: Sequence[Word], last: int) -> bool:
    """Whether the two words that end at `last` are no part of a longer name."""
    before, after = words[max(0, last - 2) : last - 1], words[last + 1 : last + 2]
    return not any(word.capitalised and word.text != "The" for word in (*before, *after))
