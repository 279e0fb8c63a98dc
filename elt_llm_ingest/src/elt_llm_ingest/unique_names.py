"""Names that may stand only once, made so by a number behind them."""


class UniqueNames:
    """Gives every name that was taken before the first free of `name~2`, `name~3`, ..."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """`wanted` where it is free, else with a number."""
        name = wanted
        while name in self._taken:
            self._last[wanted] = self._last.get(wanted, 1) + 1
            name = f"{wanted}~{self._last[wanted]}"
        self._taken.add(name)
        return name
