"""Which names of the alias file a question holds, and what it is looked for by besides."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.text.normalise import words

from elt_llm_query.retrieve.searchable import Searchable, Tokeniser
from elt_llm_query.retrieve.wording import OtherNames
from elt_llm_query.understanding.aliases import Aliases


@dataclass(frozen=True)
class _Name:
    """A name of a group, prepared to be found: `forms` are its folded words, or its stems in one language."""

    written: str
    group: int
    forms: tuple[tuple[str, ...], ...]
    is_stopword: bool


class AliasIndex:
    """Finds the names in questions; built once. A name is found by its words, or by their stems in any collection."""

    def __init__(self, aliases: Aliases, generations: Sequence[Searchable]) -> None:
        self._aliases = aliases
        self._generations = tuple(generations)
        self._tokenisers = {id(one.keyword.tokeniser): one.keyword.tokeniser for one in generations}
        self._by_first: dict[str, list[_Name]] = defaultdict(list)
        for number, group in enumerate(aliases.groups):
            for name in group:
                made = self._made(name, number)
                for first in {form[0] for form in made.forms}:
                    self._by_first[first].append(made)
        self._known = [tuple(name for name in group if self._occurs(name)) for group in aliases.groups]

    def in_question(self, question: str) -> tuple[OtherNames, ...]:
        """The first name of each group that the question holds, with those others that a collection has."""
        if not self._by_first:
            return ()
        sequences = [tuple(words(question)), *(tuple(each.stems(question)) for each in self._tokenisers.values())]
        held: dict[int, dict[str, None]] = defaultdict(dict)
        for sequence in sequences:
            for place, first in enumerate(sequence):
                for name in self._by_first.get(first, ()):
                    if _begins(sequence[place:], name.forms) and (not name.is_stopword or _as_written(name, question)):
                        held[name.group].setdefault(name.written)
        return tuple(
            OtherNames(next(iter(names)), others)
            for group, names in held.items()
            if (others := tuple(other for other in self._known[group] if other not in names))
        )

    def _made(self, name: str, group: int) -> _Name:
        stemmed = [tuple(each.stems(name)) for each in self._tokenisers.values()]
        forms = dict.fromkeys([tuple(words(name)), *(form for form in stemmed if form)])
        return _Name(name, group, tuple(forms), bool(stemmed) and not any(stemmed))

    def _occurs(self, name: str) -> bool:
        return any(has_name(name, each.keyword.tokeniser, each) for each in self._generations)


def has_name(name: str, tokeniser: Tokeniser, generation: Searchable) -> bool:
    """Whether the collection has every word of a name, stopwords aside."""
    stems = tokeniser.stems(name)
    return bool(stems) and all(generation.keyword.document_frequency(stem) for stem in stems)


def _begins(sequence: Sequence[str], forms: Sequence[tuple[str, ...]]) -> bool:
    return any(tuple(sequence[: len(form)]) == form for form in forms)


def _as_written(name: _Name, question: str) -> bool:
    """A name that is a small word otherwise, such as IT, is only meant where it is written just so."""
    return name.written in question.replace("?", " ").replace(",", " ").split()
