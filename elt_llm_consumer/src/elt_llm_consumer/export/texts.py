"""Values as one piece of text, and text that no spreadsheet takes for a formula."""

import re

from elt_llm_consumer.rows import Cell, Evidence, Value

# What spreadsheets begin a formula or a command with, full width forms included.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NOT_PRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
# What programs leave out before they look: spaces, and signs that nobody sees.
_UNSEEN = " \u00a0\u200b\u200c\u200d\u2060\ufeff"
GUARD = "'"


def shown(value: Value, between: str = "\n") -> str:
    """A value as text: nothing for none, several joined by `between`."""
    if value is None:
        return ""
    return between.join(value) if isinstance(value, tuple) else str(value)


def printable(text: str) -> str:
    """Text without characters that XML and terminals cannot hold, each replaced by the sign for an unknown one."""
    return _NOT_PRINTABLE.sub("\ufffd", text)


def guarded(text: str) -> str:
    """Text that a spreadsheet shows as it is: what would begin a formula gets an apostrophe before it.

    See OWASP, "CSV Injection". `unguarded` takes it off again.
    """
    text = printable(text)
    return GUARD + text if _is_risky(text) else text


def unguarded(text: str) -> str:
    """What `guarded` was given, printable signs aside."""
    return text[1:] if text[:1] == GUARD and _is_risky(text[1:]) else text


def nameable(text: str) -> str:
    """A name for files of other programs: on one line, and without a first sign that would have to be guarded.

    Guarded in its own cell and not within a path, such a name would be two.
    """
    name = one_line(printable(text))
    return name.lstrip("".join((*_FORMULA, GUARD, _UNSEEN))) or (f"({name})" if name else "")


def _is_risky(text: str) -> bool:
    return text.lstrip(_UNSEEN).startswith(_FORMULA) or text.startswith(GUARD)


def one_line(text: str) -> str:
    """Text with every run of white space as one space."""
    return " ".join(text.split())


def places(cell: Cell) -> str:
    """Where the evidence of a cell stands, each place once, joined by "; "."""
    return "; ".join(dict.fromkeys(evidence.place for evidence in cell.evidence))


def source_note(evidence: tuple[Evidence, ...]) -> str:
    """Such as "Source: handbook.pdf, page 8; policy.md"; empty without evidence."""
    listed = "; ".join(dict.fromkeys(place.place for place in evidence))
    return f"Source: {listed}" if listed else ""
