"""What stands before an item of a list: a bullet by its level, a number in its format."""

_BULLETS = "\u2022\u25e6\u25aa"
_ROMANS = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


def bullet(level: int) -> str:
    """The bullet of a level, from 0; levels below the third look alike."""
    return _BULLETS[min(max(level, 0), len(_BULLETS) - 1)]


def letters(value: int) -> str:
    """1 is a, 26 is z, 27 is aa, 28 is bb, as word processors count."""
    turns, letter = divmod(value - 1, 26)
    return chr(ord("a") + letter) * min(turns + 1, 20) if value > 0 else str(value)


def roman(value: int) -> str:
    """1 is i; what the Romans did not write stays in digits."""
    if not 0 < value < 4000:
        return str(value)
    written = ""
    for worth, sign in _ROMANS:
        count, value = divmod(value, worth)
        written += sign * count
    return written


def format_number(count: int, shown: str) -> str:
    """A count in a format of Word (`lowerRoman`) or OpenDocument (`i`); those of other scripts are shown as digits."""
    match shown:
        case "none" | "bullet" | "":
            written = ""
        case "lowerLetter" | "a":
            written = letters(count)
        case "upperLetter" | "A":
            written = letters(count).upper()
        case "lowerRoman" | "i":
            written = roman(count)
        case "upperRoman" | "I":
            written = roman(count).upper()
        case "decimalZero":
            written = f"{count:02}"
        case _:
            written = str(count)
    return written
