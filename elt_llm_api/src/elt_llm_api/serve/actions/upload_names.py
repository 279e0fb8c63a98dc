"""What an uploaded file is called, and what it is.

Its name is made anew of characters that do no harm; what it is has to show in its bytes, whatever its sender says.
"""

import re
import unicodedata
from pathlib import Path, PurePosixPath

from elt_llm_ingest.readers import REFUSED_SUFFIXES, SUPPORTED_SUFFIXES

from elt_llm_api.serve.refusals import UnsupportedUpload

LONGEST_NAME = 120
"""Characters of a name, its suffix included."""
_MOST_BYTES = 240
_FORBIDDEN = re.compile(r'[<>:"|?*/\\]')
_SPACES = re.compile(r"\s{1,100}")
_RESERVED = frozenset(("con", "prn", "aux", "nul", *(f"{device}{n}" for device in ("com", "lpt") for n in range(10))))
_HEAD = 8192  # bytes looked at
_ZIP, _OLE, _PDF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"%PDF-"
_ZIPPED = frozenset(
    (".docx", ".docm", ".dotx", ".dotm", ".pptx", ".pptm", ".ppsx", ".potx", ".xlsx", ".xlsm", ".ods", ".odt", ".ott")
) | frozenset((".epub", *REFUSED_SUFFIXES))
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")  # of text that tells its encoding
_OTHERS = (
    _ZIP,
    _OLE,
    _PDF,
    b"\x7fELF",
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"MZ\x90",
    b"\x1f\x8b",
    b"SQLite format 3",
)


def safe_name(given: str) -> str:
    """The last part of a name in Unicode's composed form (NFC), at most 120 characters, its suffix kept.

    No character of it means anything to a path or a screen. Raises UnsupportedUpload for a suffix that no reader has.
    """
    last = unicodedata.normalize("NFC", given.replace("\\", "/")).rsplit("/", 1)[-1]
    plain = "".join(character if _is_plain(character) else "_" for character in last)
    name = _SPACES.sub(" ", _FORBIDDEN.sub("_", plain)).rstrip(" .")
    stem, dot, ending = name.rpartition(".")
    suffix = f"{dot}{ending}" if dot else ""
    if suffix.lower() not in SUPPORTED_SUFFIXES:
        readable = ", ".join(sorted(SUPPORTED_SUFFIXES - REFUSED_SUFFIXES))
        what = f"files ending in {suffix[:20]}" if suffix else "files without a suffix"
        raise UnsupportedUpload(f"There is no reader for {what}.", hint=f"Files of these types are read: {readable}")
    stem = stem.strip(" .") or "document"
    if stem.split(".", 1)[0].strip().casefold() in _RESERVED:
        stem = f"_{stem}"
    stem = stem[: LONGEST_NAME - len(suffix)]
    while len(f"{stem}{suffix}".encode()) > _MOST_BYTES:
        stem = stem[:-1]
    return f"{stem.rstrip(' .')}{suffix}"


def check_content(path: Path, name: str) -> None:
    """Raises UnsupportedUpload if a file cannot be what its name says."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".pdf":
        fits = _PDF in head[:1024]
    elif suffix in _ZIPPED:
        fits = head.startswith(_ZIP)
    elif suffix == ".xls":
        fits = head.startswith((_ZIP, _OLE)) or _is_text(head)
    else:
        fits = _is_text(head)
    if head and not fits:
        raise UnsupportedUpload(
            f"'{name}' is no {suffix} file by its content.",
            hint="Save it as what it is called, or call it what it is; older office files: save them as .docx, .pptx.",
        )


def _is_plain(character: str) -> bool:
    """Whether a character stands for itself: no control, no format such as a change of direction, no half of a pair."""
    return not unicodedata.category(character).startswith("C")


def _is_text(head: bytes) -> bool:
    if head.startswith(_MARKS):
        return True
    if head.startswith(_OTHERS):
        return False
    # UTF-16 without a mark has zero bytes in every second place, and in one half of them alone.
    return b"\0" not in head or not (b"\0" in head[::2] and b"\0" in head[1::2])
