"""Decode bytes to text: byte order marks, declared and detected charsets, normalised line ends."""

import codecs

from charset_normalizer import from_bytes
from elt_llm_core.errors import UnreadableDocument

_SAMPLE_BYTES = 65_536
# The longest byte order marks are first, since the mark of UTF-32 LE starts with the mark of UTF-16 LE.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Only charsets that are common in documents: on a few lines of text, detection would often choose a rare one.
_CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "koi8_r", "mac_roman"),
    *("cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp949"),
]
_CONTROLS = {code: None for code in range(32) if chr(code) not in "\t\n\r\f"} | {0x7F: None, 0xFEFF: None}


def decode(data: bytes, declared: str | None = None) -> tuple[str, tuple[str, ...]]:
    """Return the text of `data` and notes on guessed charsets and damaged characters.

    The text has line feeds as line ends and no control characters. A byte order mark determines the charset. Without
    such a mark, valid UTF-8 is read as UTF-8. Otherwise the declared charset is used, or the charset is detected.
    """
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return _decode_strictly(data[len(mark) :], charset)
    if wide := _detect_utf16(data):
        return _decode_strictly(data, wide)
    if b"\0" in data[:_SAMPLE_BYTES]:
        raise UnreadableDocument("is not text: it holds zero bytes")
    try:
        return normalise_text(data.decode("utf-8")), ()
    except UnicodeDecodeError:
        pass
    if declared and _is_known(declared):
        return _decode_strictly(data, declared)
    if repaired := _repair_utf8(data):
        return repaired
    best = from_bytes(data[:_SAMPLE_BYTES], cp_isolation=_CANDIDATES).best()
    charset = best.encoding if best else "cp1252"
    text, notes = _decode_strictly(data, charset)
    return text, (f"the charset is not declared, so the file is read as {charset}", *notes)


def _repair_utf8(data: bytes) -> tuple[str, tuple[str, ...]] | None:
    """Return the text of damaged UTF-8 and notes, or None if the charset is another.

    A damaged line without any character that only UTF-8 has is read as cp1252: another program wrote it.
    """
    lines = data.split(b"\n")
    texts = [line.decode("utf-8", "replace") for line in lines]
    bad = [number for number, text in enumerate(texts) if "\ufffd" in text]
    good = sum(not text.isascii() for text in texts) - len(bad)
    damage = sum(texts[number].count("\ufffd") for number in bad)
    # The text is damaged UTF-8 if most lines outside ASCII are valid, or far more characters than are damaged.
    if good <= len(bad) and sum(character > "\x7f" for text in texts for character in text) <= 10 * damage:
        return None
    foreign = [number for number in bad if texts[number].replace("\ufffd", "").isascii()]
    for number in foreign:
        texts[number] = lines[number].decode("cp1252", "replace")
    damage = sum(text.count("\ufffd") for text in texts)
    more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
    notes = [f"line {foreign[0] + 1}{more}: not UTF-8, so the line is read as cp1252"] if foreign else []
    notes += [f"{damage} damaged characters were replaced"] if damage else []
    return normalise_text("\n".join(texts)), tuple(notes)


def _decode_strictly(data: bytes, charset: str) -> tuple[str, tuple[str, ...]]:
    try:
        return normalise_text(data.decode(charset)), ()
    except UnicodeDecodeError:
        text = data.decode(charset, "replace")
        return normalise_text(text), (f"{text.count(chr(0xFFFD))} damaged characters were replaced",)


def _is_known(charset: str) -> bool:
    try:
        b"a".decode(charset, "replace")
    except LookupError:
        return False
    return True


def _detect_utf16(data: bytes) -> str | None:
    """Detect UTF-16 without a byte order mark: every other byte of Latin text in UTF-16 is zero."""
    sample = data[:_SAMPLE_BYTES]
    if len(sample) < 4 or len(data) % 2:
        return None
    # More than 60 % of the high bytes are zero, and less than 5 % of the low bytes.
    half = len(sample) / 2
    for charset, high, low in (("utf-16-le", sample[1::2], sample[::2]), ("utf-16-be", sample[::2], sample[1::2])):
        if high.count(0) > 0.6 * half and low.count(0) < 0.05 * half:
            return charset
    return None


def normalise_text(text: str) -> str:
    """Return the text with line feeds as line ends, and without control characters except tab and form feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
