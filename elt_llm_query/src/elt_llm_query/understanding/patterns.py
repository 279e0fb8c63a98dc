"""Regular expressions from TOML files."""

import re
import tomllib
from pathlib import Path

_PART = re.compile(r"@(\w+)@")


class PatternFile:
    """The regular expressions of one TOML file, by name.

    Expressions in the table `any_case` ignore case, those in `exact_case` do not. `@name@` in an expression is
    replaced by the expression with that name in the table `parts`.
    """

    def __init__(self, path: Path) -> None:
        self._content = tomllib.loads(path.read_text(encoding="utf-8"))

    def pattern(self, name: str) -> re.Pattern[str]:
        """Compile the regular expression `name`. Raises KeyError if the file does not contain it."""
        if name in self._content["any_case"]:
            return re.compile(self._expanded(self._content["any_case"][name]), re.IGNORECASE)
        return re.compile(self._expanded(self._content["exact_case"][name]))

    def patterns(self) -> dict[str, re.Pattern[str]]:
        """Compile all expressions of the file, by name."""
        return {name: self.pattern(name) for case in ("any_case", "exact_case") for name in self._content.get(case, {})}

    def part(self, name: str) -> str:
        """Return the part `name`, which other expressions include. Raises KeyError if the file does not contain it."""
        return self._expanded(self._content["parts"][name])

    def words(self, name: str) -> frozenset[str]:
        """Return the word list `name` from the table `words`. Raises KeyError if the file does not contain it."""
        return frozenset(self._content["words"][name].split())

    def rows(self, name: str) -> list[list[str]]:
        """Return the array `name`, whose rows are arrays of expressions. Raises KeyError if there is no such array.

        Each `@part@` in them is replaced by the expression with that name in the table `parts`.
        """
        return [[self._expanded(text) for text in row] for row in self._content[name]]

    def _expanded(self, text: str) -> str:
        joined = "".join(line.strip() for line in text.splitlines())
        return _PART.sub(lambda part: self.part(part[1]), joined)
