"""Convert values to text for spreadsheets and import files, and write files atomically."""

import os
import re
from contextlib import suppress
from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.store.disk import replace_durably

from elt_llm_consumer.evidence import Cell, Value


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` beside `path`, flush it to disk, and rename it to `path`.

    Readers see the old or the new file, even after a crash. Raises StoreError if the file cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        replace_durably(path, beside)
    except (OSError, ValueError) as error:  # a path with a null byte raises ValueError
        with suppress(OSError, ValueError):
            beside.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StoreError(
            f"{str(path).replace(chr(0), '?')} cannot be written: {reason}.",
            hint="Choose another outputs.folder in the job file, or free space there; finished rows are not lost.",
        ) from error


# Characters that start a formula or command in spreadsheets, including full-width forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NOT_PRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
# Spaces and invisible characters, which programs skip at the start of a cell.
_INVISIBLE = " \u00a0\u200b\u200c\u200d\u2060\ufeff"
FORMULA_ESCAPE = "'"


def value_text(value: Value, between: str = "\n") -> str:
    """Return a value as text, with several values joined by `between`; empty for None."""
    if value is None:
        return ""
    return between.join(value) if isinstance(value, tuple) else str(value)


def printable(text: str) -> str:
    """Replace each character that XML or a terminal does not allow with U+FFFD."""
    return _NOT_PRINTABLE.sub("\ufffd", text)


def escape_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    OWASP describes this attack under "CSV Injection". `unescape_formula` removes the apostrophe.
    """
    text = printable(text)
    return FORMULA_ESCAPE + text if _is_formula(text) else text


def unescape_formula(text: str) -> str:
    """Remove the apostrophe that `escape_formula` added. Characters replaced with U+FFFD are not restored."""
    return text[1:] if text[:1] == FORMULA_ESCAPE and _is_formula(text[1:]) else text


def safe_name(text: str) -> str:
    """Return a name of an item in an import file, without leading characters that start a formula, such as "=".

    `escape_formula` would put an apostrophe before a name that is alone, but not before one within a path, such as
    "Members / =Fees", and both must be equal. Line breaks become spaces.
    """
    name = one_line(printable(text))
    return name.lstrip("".join((*_FORMULA, FORMULA_ESCAPE, _INVISIBLE))) or (f"({name})" if name else "")


def _is_formula(text: str) -> bool:
    # Text with an apostrophe before a formula is escaped too, or `unescape_formula` would remove that apostrophe.
    return text.lstrip(_INVISIBLE + FORMULA_ESCAPE).startswith(_FORMULA)


def one_line(text: str) -> str:
    """Return the text on one line, with consecutive white space replaced by one space."""
    return " ".join(text.split())


def evidence_places(cell: Cell) -> str:
    """Return the distinct locations of a cell's evidence, such as "handbook.pdf, page 8; policy.md"."""
    return "; ".join(dict.fromkeys(evidence.place for evidence in cell.evidence))
