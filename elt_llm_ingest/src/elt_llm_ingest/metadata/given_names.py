"""Organisations that the settings name: found wherever they stand, as they are written there."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

_WORD = re.compile(r"\w+")


class GivenNames:
    """Finds names by their first word, so that a long list costs no more than a short one."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_first: dict[str, list[str]] = defaultdict(list)
        for name in sorted({" ".join(name.split()) for name in names}, key=lambda name: (-len(name), name)):
            if first := _WORD.search(name):
                self._by_first[first.group()].append(name)

    def names_in(self, text: str) -> list[str]:
        """The names that occur as whole words, each once, by first mention; of two that begin together the longer."""
        return list(dict.fromkeys(self._found(text)))

    def _found(self, text: str) -> Iterator[str]:
        if not self._by_first:
            return
        for word in _WORD.finditer(text):
            for name in self._by_first.get(word.group(), ()):
                start = word.start() - name.index(word.group())
                end = start + len(name)
                if start >= 0 and text[start:end] == name and not text[end : end + 1].isalnum():
                    yield name
                    break
