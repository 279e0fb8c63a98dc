"""Bytes to text: byte order marks, declared and detected charsets, one kind of line end."""

import codecs

from charset_normalizer import from_bytes
from elt_llm_core.errors import UnreadableDocument

_SAMPLE_BYTES = 65_536
# Longest first: the mark of UTF-32 LE begins with that of UTF-16 LE.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Detection on a few lines drifts to rare charsets; these are the ones documents really come in.
_CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "koi8_r", "mac_roman"),
    *("cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp949"),
]
_CONTROLS = {code: None for code in range(32) if chr(code) not in "\t\n\r\f"} | {0x7F: None, 0xFEFF: None}


def decode(data: bytes, declared: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The text of `data` with line feeds as line ends and without control characters, and notes on what was guessed.

    A byte order mark decides, then UTF-8 if it fits, then the declared charset, then detection.
    """
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], charset)
    wide = _wide_without_mark(data)
    if wide:
        return _strictly(data, wide)
    if b"\0" in data[:_SAMPLE_BYTES]:
        raise UnreadableDocument("is not text: it holds zero bytes")
    return _narrow(data, declared)


def _narrow(data: bytes, declared: str | None) -> tuple[str, tuple[str, ...]]:
    try:
        return _clean(data.decode("utf-8")), ()
    except UnicodeDecodeError:
        pass
    if declared and _is_known(declared):
        return _strictly(data, declared)
    mended = data.decode("utf-8", "replace")
    damage = mended.count("\ufffd")
    if sum(character > "\x7f" for character in mended) > 10 * damage:
        return _clean(mended), (f"{damage} damaged characters were replaced",)
    charset = _detected(data)
    text, notes = _strictly(data, charset)
    return text, (f"charset not declared: read as {charset}", *notes)


def _strictly(data: bytes, charset: str) -> tuple[str, tuple[str, ...]]:
    try:
        return _clean(data.decode(charset)), ()
    except UnicodeDecodeError:
        text = data.decode(charset, "replace")
        return _clean(text), (f"{text.count(chr(0xFFFD))} damaged characters were replaced",)


def _detected(data: bytes) -> str:
    best = from_bytes(data[:_SAMPLE_BYTES], cp_isolation=_CANDIDATES).best()
    return best.encoding if best else "cp1252"


def _is_known(charset: str) -> bool:
    try:
        b"a".decode(charset, "replace")
    except LookupError:
        return False
    return True


def _wide_without_mark(data: bytes) -> str | None:
    """UTF-16 without a mark shows in Latin text as a zero in every other byte."""
    sample = data[:_SAMPLE_BYTES]
    if len(sample) < 4 or len(data) % 2:
        return None
    half = len(sample) / 2
    if sample[1::2].count(0) > 0.6 * half and sample[::2].count(0) < 0.05 * half:
        return "utf-16-le"
    if sample[::2].count(0) > 0.6 * half and sample[1::2].count(0) < 0.05 * half:
        return "utf-16-be"
    return None


def _clean(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
