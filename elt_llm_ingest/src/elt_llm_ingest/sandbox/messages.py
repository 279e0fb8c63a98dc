"""Messages between parent and worker: JSON with a length prefix. Every result of a worker is validated."""

import json
import math
import re
from itertools import pairwise
from typing import Any, get_args

from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.outline import Section

from elt_llm_ingest.parsing.parsed_document import Block, BlockKind, ParsedDocument, Part

LENGTH_PREFIX_BYTES = 8
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def encode_frame(payload: bytes) -> bytes:
    """Return the payload, preceded by its length."""
    return len(payload).to_bytes(LENGTH_PREFIX_BYTES, "big") + payload


def encode_json(value: Any) -> bytes:
    """Encode a JSON value as UTF-8. Each lone surrogate becomes one other character, so that offsets stay valid."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _LONE_SURROGATE.sub("\ufffd", text).encode("utf-8")


def encode_document(document: ParsedDocument) -> dict[str, Any]:
    """Convert a parsed document to JSON values. Each table header is listed once, and blocks refer to its number."""
    headers: dict[str, int] = {}
    return {
        "text": document.text,
        "title": document.title,
        "pages": list(document.pages),
        "sections": [[section.start, section.level, section.title] for section in document.sections],
        "blocks": [
            [block.start, block.end, block.kind, headers.setdefault(block.header, len(headers))]
            for block in document.blocks
        ],
        "headers": list(headers),
        "metadata": document.metadata,
        "notes": list(document.notes),
        "parts": [
            {"name": part.name, "group": part.group, "document": encode_document(part.document)}
            for part in document.parts
        ],
        "artefacts": dict(document.artefacts),
    }


_KINDS = frozenset(get_args(BlockKind))
_DEEPEST_HEADING = 1000
_MAX_NOTES = 1000
_MAX_REASON_LENGTH = 400
# A title is repeated in every chunk below it: a title of a megabyte would become gigabytes.
_MAX_TITLE_LENGTH = 1000
_MAX_NAME_LENGTH = 1000
_MAX_METADATA_LENGTH = 20_000  # characters of one value, or number of its entries
_MAX_METADATA = 1000
_DEEPEST_ARTEFACT = 100
# A parsed list takes 30 times the memory of its JSON. A reader within its memory limit returns fewer values.
_MAX_VALUES = 10_000_000
_SMALL_PAYLOAD = 8 << 20  # bytes; a smaller payload cannot contain too many values
_LARGEST_INTEGER = 2**63 - 1
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# The closing quote is optional, so that without one the pattern does not try each quote as the start of a string.
_STRING = re.compile(rb'(?s)"(?>(?:[^"\\]++|\\.)*)"?')
_ARTEFACT_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")  # the name becomes a folder name


class MalformedAnswer(Exception):
    """A worker's result is not a valid document, so the worker is broken or compromised."""


def parse_json(payload: bytes) -> dict[str, Any]:
    """Parse a JSON object; raise MalformedAnswer for other JSON values and for invalid JSON."""
    _refuse_many_values(payload)
    try:
        text = payload.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite)
        if _ESCAPED_SURROGATE.search(text) and _LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise MalformedAnswer("the JSON contains an unpaired surrogate")
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(str(error)) from error
    return _require_object(value)


def decode_document(value: Any, most_characters: int) -> ParsedDocument:
    """Decode a document; raise MalformedAnswer if a value or offset is invalid, or if the text is too long."""
    document = _decode_document(_require_object(value))
    if document.characters > most_characters:
        raise MalformedAnswer("the text is longer than the limit")
    return document


def printable_reason(value: Any) -> str:
    """Return a reason in one printable line of at most 400 characters, as it may contain bytes of the file."""
    line = " ".join(str(value or "").split())
    return "".join(character if character.isprintable() else "\ufffd" for character in line[:_MAX_REASON_LENGTH])


def _decode_document(value: dict[str, Any], *, is_part: bool = False) -> ParsedDocument:
    text = _require_text(value.get("text"))
    parts = () if is_part else tuple(_decode_part(item) for item in _require_list(value.get("parts")))
    if is_part and (value.get("parts") or value.get("artefacts")):
        raise MalformedAnswer("a document within the file contains parts or artefacts itself")
    if len({part.name for part in parts}) < len(parts):
        raise MalformedAnswer("two documents within the file have the same name")
    return ParsedDocument(
        text=text,
        title=_require_text(value.get("title"))[:_MAX_TITLE_LENGTH],
        pages=_decode_offsets(_require_list(value.get("pages")), text),
        sections=_decode_sections(value, text),
        blocks=_decode_blocks(value, text),
        metadata=_decode_metadata(_require_object(value.get("metadata"))),
        notes=tuple(printable_reason(_require_text(item)) for item in _require_list(value.get("notes"))[:_MAX_NOTES]),
        parts=parts,
        artefacts=_decode_artefacts(_require_object(value.get("artefacts"))),
    )


def _decode_part(value: Any) -> Part:
    item = _require_object(value)
    name, group = _require_text(item.get("name")), _require_text(item.get("group"))
    if max(len(name), len(group)) > _MAX_NAME_LENGTH:
        raise MalformedAnswer(f"a document within the file has a name or group of over {_MAX_NAME_LENGTH} characters")
    return Part(name, group, _decode_document(_require_object(item.get("document")), is_part=True))


def _decode_sections(value: dict[str, Any], text: str) -> tuple[Section, ...]:
    items = [_require_list(item, 3) for item in _require_list(value.get("sections"))]
    starts = _decode_offsets([start for start, _, _ in items], text)
    levels = (_require_integer(level, 1, _DEEPEST_HEADING) for _, level, _ in items)
    titles = (_require_text(title)[:_MAX_TITLE_LENGTH] for _, _, title in items)
    return tuple(map(Section, starts, levels, titles))


def _decode_blocks(value: dict[str, Any], text: str) -> tuple[Block, ...]:
    headers = [_require_text(item) for item in _require_list(value.get("headers"))]
    blocks, reached = [], 0
    for item in _require_list(value.get("blocks")):
        start, end, kind, header = _require_list(item, 4)
        if not isinstance(kind, str) or kind not in _KINDS:
            raise MalformedAnswer("a block has an unknown kind")
        first = _require_integer(start, reached, len(text))
        reached = _require_integer(end, first, len(text))
        blocks.append(Block(first, reached, kind, headers[_require_integer(header, 0, len(headers) - 1)]))  # type: ignore[arg-type]
    return tuple(blocks)


def _decode_metadata(value: dict[str, Any]) -> dict[str, MetadataValue]:
    if len(value) > _MAX_METADATA or any(len(key) > _MAX_NAME_LENGTH for key in value):
        raise MalformedAnswer("the metadata is too large")
    return {key: _decode_metadata_value(item) for key, item in value.items()}


def _decode_artefacts(value: dict[str, Any]) -> dict[str, Any]:
    for name, content in value.items():
        if not _ARTEFACT_NAME.fullmatch(name):
            raise MalformedAnswer(f"the name of an artefact is not of the form {_ARTEFACT_NAME.pattern}")
        _check_depth(content, _DEEPEST_ARTEFACT)
    return value


def _check_depth(value: Any, left: int) -> None:
    """Raise MalformedAnswer for deep nesting, which would exceed the recursion limit of callers."""
    if isinstance(value, dict | list):
        if not left:
            raise MalformedAnswer("an artefact is nested too deeply")
        for inner in value.values() if isinstance(value, dict) else value:
            _check_depth(inner, left - 1)


def _decode_metadata_value(value: Any) -> MetadataValue:
    if isinstance(value, str):
        return _require_text(value)[:_MAX_METADATA_LENGTH]
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return _require_integer(value, -_LARGEST_INTEGER, _LARGEST_INTEGER)
    return [_require_text(item)[:_MAX_METADATA_LENGTH] for item in _require_list(value)[:_MAX_METADATA_LENGTH]]


def _require_integer(value: Any, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise MalformedAnswer(f"a number is not between {lowest} and {highest}")
    return value


def _decode_offsets(values: list[Any], text: str) -> tuple[int, ...]:
    offsets = tuple(_require_integer(value, 0, len(text)) for value in values)
    if any(later < earlier for earlier, later in pairwise(offsets)):
        raise MalformedAnswer("the offsets of its pages or sections are not in ascending order")
    return offsets


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise MalformedAnswer("a value is not a string")
    return value.replace("\0", "\ufffd")  # PostgreSQL cannot store NUL, and SQLite must store the same text


def _require_list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise MalformedAnswer("a value is not a list of the expected length")
    return value


def _require_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedAnswer("a value is not a JSON object")
    return value


def _refuse_many_values(payload: bytes) -> None:
    """Refuse JSON with too many values before it is parsed. Strings are not counted: parsing does not inflate them."""
    if len(payload) > _SMALL_PAYLOAD:
        bare = _STRING.sub(b"", payload)
        if sum(map(bare.count, (b"[", b"{", b","))) > _MAX_VALUES:
            raise MalformedAnswer("the JSON has too many values")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedAnswer("a number is infinite")
    return number


def _refuse_constant(name: str) -> None:
    raise MalformedAnswer(f"{name} is not a number")
