"""Aliases: groups of names with the same meaning, which `config/aliases.yaml` lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from elt_llm_core.settings.loader import LoadedSettings, read_model
from elt_llm_core.text.normalise import words
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

ALIASES_FILE = "aliases.yaml"
EXAMPLE = Path(__file__).with_name("aliases_example.yaml").read_text(encoding="utf-8")


def _with_a_word(name: str) -> str:
    if not words(name):
        raise ValueError("the name has no letter or digit to search for")
    return name


_Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), AfterValidator(_with_a_word)
]
_Names = Annotated[list[_Name], Field(min_length=1, max_length=20)]


class AliasFile(BaseModel):
    """The contents of `config/aliases.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    aliases: dict[_Name, _Names] = Field(default={}, max_length=5000, description="Other names by term.")


@dataclass(frozen=True)
class Aliases:
    """Groups of names with the same meaning, in their original spelling."""

    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """Every word of every name, folded to lower case without diacritics."""
        return frozenset(word for group in self.groups for name in group for word in words(name))


NO_ALIASES = Aliases()


def aliases_from(names_by_term: Mapping[str, Sequence[str]]) -> Aliases:
    """Build aliases from a mapping of terms to other names; repeated names are kept once."""
    groups = []
    for term, names in names_by_term.items():
        distinct: dict[tuple[str, ...], str] = {}
        for name in (term, *names):
            distinct.setdefault(tuple(words(name)), name)
        groups.append(tuple(distinct.values()))
    return Aliases(tuple(group for group in groups if len(group) > 1))


def load_aliases(loaded: LoadedSettings) -> Aliases:
    """Load the aliases file beside the settings, if any. Raises SettingsError with the line of each mistake."""
    path = loaded.config_dir / ALIASES_FILE
    if not path.is_file():
        return NO_ALIASES
    return aliases_from(read_model(path, AliasFile, loaded.project).aliases)
