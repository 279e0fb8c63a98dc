"""Regular expressions from TOML files."""

import re
import tomllib
from pathlib import Path

_PART = re.compile(r"@(\w+)@")


class PatternFile:
    """The regular expressions of the file `patterns.toml` beside a module, by name: `PatternFile(__file__)["number"]`.

    Expressions in the table `any_case` ignore case, those in `exact_case` do not. `@name@` in an expression is
    replaced by the expression with that name in the table `parts`. All methods raise KeyError for an unknown name.
    """

    def __init__(self, module: str) -> None:
        self._content = tomllib.loads(Path(module).with_name("patterns.toml").read_text(encoding="utf-8"))
        self._patterns = {
            name: re.compile(self._expanded(text), flags)
            for case, flags in (("any_case", re.IGNORECASE), ("exact_case", re.NOFLAG))
            for name, text in self._content.get(case, {}).items()
        }

    def __getitem__(self, name: str) -> re.Pattern[str]:
        return self._patterns[name]

    def part(self, name: str) -> str:
        """Return the part `name`, which other expressions include."""
        return self._expanded(self._content["parts"][name])

    def words(self, name: str) -> frozenset[str]:
        """Return the word list `name` from the table `words`."""
        return frozenset(self._content["words"][name].split())

    def rows(self, name: str) -> list[list[str]]:
        """Return the array `name`, whose rows are arrays of expressions with their parts replaced."""
        return [[self._expanded(text) for text in row] for row in self._content[name]]

    def _expanded(self, text: str) -> str:
        joined = "".join(line.strip() for line in text.splitlines())
        return _PART.sub(lambda part: self.part(part[1]), joined)
