"""Other names of what people ask about, from `config/aliases.yaml`: looked for beside those of the question."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from elt_llm_core.settings_loader import LoadedSettings, read_model
from elt_llm_core.text.normalise import words
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

ALIASES_FILE = "aliases.yaml"
EXAMPLE = """\
# Other names of what people ask about. A question that holds one name of a group, in any case and with or without
# diacritics, is also looked for by the others; a passage with any of them has what was asked for. Names that no
# collection asked has are left out. What was done is told by: elt-llm ask --explain
aliases: {}
#  HR:
#    - human resources
#    - personnel
#  leave:
#    - holiday
"""


def _with_a_word(name: str) -> str:
    if not words(name):
        raise ValueError("has no letter or digit to look for")
    return name


_Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), AfterValidator(_with_a_word)
]
_Names = Annotated[list[_Name], Field(min_length=1, max_length=20)]


class AliasFile(BaseModel):
    """What `config/aliases.yaml` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    aliases: dict[_Name, _Names] = Field(default={}, max_length=5000, description="Other names by term.")


@dataclass(frozen=True)
class Aliases:
    """Groups of names that mean the same, each with its names as written."""

    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """Every folded word of every name."""
        return frozenset(word for group in self.groups for name in group for word in words(name))


NO_ALIASES = Aliases()


def aliases_from(given: Mapping[str, Sequence[str]]) -> Aliases:
    """Aliases from other names by term; a name that a group has twice counts once."""
    groups = (tuple(_once((term, *names))) for term, names in given.items())
    return Aliases(tuple(group for group in groups if len(group) > 1))


def load_aliases(loaded: LoadedSettings) -> Aliases:
    """The aliases beside the settings file; none where there is no such file.

    Raises SettingsError that names the line of each mistake.
    """
    path = loaded.config_dir / ALIASES_FILE
    if not path.is_file():
        return NO_ALIASES
    return aliases_from(read_model(path, AliasFile, loaded.project).aliases)


def _once(names: Sequence[str]) -> Iterator[str]:
    seen: set[tuple[str, ...]] = set()
    for name in names:
        folded = tuple(words(name))
        if folded not in seen:
            seen.add(folded)
            yield name
