"""List the last words of names that determine the kind of thing, in English and German.

A job file adds further words under `handbook: kinds`.
"""

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Final

from elt_llm_consumer.jobs.sections import EntityKind
from elt_llm_consumer.names.names import joined_key
from elt_llm_consumer.sentences.words import NAME_PREPOSITIONS

_WORDS: Final = tomllib.loads(files("elt_llm_consumer.handbook").joinpath("words.toml").read_text(encoding="utf-8"))
KIND_WORDS: Final[Mapping[EntityKind, Iterable[str]]] = {kind: text.split() for kind, text in _WORDS["kinds"].items()}
ORDINARY_NOUNS: Final = tuple(_WORDS["ordinary_nouns"].split())
PERSONAL_VERBS: Final = frozenset(_WORDS["personal_verbs"].split())


class KindWords:
    """Finds the kind of a thing by the last words of its name."""

    def __init__(self, kinds: Mapping[EntityKind, Iterable[str]]) -> None:
        """Join the words of the job file (`kinds`) and the shipped words, over which they take precedence."""
        self._by_key: dict[str, EntityKind] = {}
        for kind, heads in (*kinds.items(), *KIND_WORDS.items()):
            for head in heads:
                self._by_key.setdefault(joined_key(head), kind)

    def of(self, name: str) -> tuple[EntityKind, str] | None:
        """Return the kind and the deciding words, or None. In "Register of Interests", the word before "of" decides."""
        words = name.replace("-", " ").split()
        joined = next((number for number, word in enumerate(words) if number and word in NAME_PREPOSITIONS), len(words))
        for number in range(joined):
            ending = " ".join(words[number:joined])
            kind = self._by_key.get(joined_key(ending))
            if kind is not None:
                return kind, ending
        return None
