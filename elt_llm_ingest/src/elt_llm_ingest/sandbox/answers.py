"""A worker's answer checked piece by piece: whoever took the worker over can say only what a document may be."""

import json
import math
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, get_args

from elt_llm_core.outline import Section
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsed_document import Block, BlockKind, ParsedDocument, Part

_KINDS = frozenset(get_args(BlockKind))
_DEEPEST_HEADING = 1000
_MOST_NOTES = 1000
_MOST_REASON = 400
_LARGEST_INTEGER = 2**63 - 1
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class MalformedAnswer(Exception):
    """An answer that is no document: the worker is broken, or not itself any more."""


def parse_json(payload: bytes) -> dict[str, Any]:
    """The JSON object in `payload`. Raises MalformedAnswer for anything else, and for text that cannot be stored."""
    try:
        text = payload.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant)
        if _ESCAPED_SURROGATE.search(text) and _LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise MalformedAnswer("half a surrogate pair")
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(str(error)) from error
    return _object(value)


def decode_document(value: Any, most_characters: int) -> ParsedDocument:
    """The document. Raises MalformedAnswer unless every offset lies within its text, in order, and all else fits."""
    document, characters = _document(_object(value)), 0
    for held in (document, *(part.document for part in document.parts)):
        characters += len(held.text)
    if characters > most_characters:
        raise MalformedAnswer("more text than was allowed")
    return document


def printable(value: Any) -> str:
    """A reason on one line, without what a terminal would obey; libraries put bytes of the file into theirs."""
    line = " ".join(str(value or "").split())
    return "".join(character if character.isprintable() else "\ufffd" for character in line[:_MOST_REASON])


def _document(value: dict[str, Any], *, is_part: bool = False) -> ParsedDocument:
    text = _text(value.get("text"))
    parts = () if is_part else tuple(_part(item) for item in _list(value.get("parts")))
    if is_part and (value.get("parts") or value.get("artefacts")):
        raise MalformedAnswer("a part within a part")
    if len({part.name for part in parts}) < len(parts):
        raise MalformedAnswer("two parts of one name")
    return ParsedDocument(
        text=text,
        title=_text(value.get("title")),
        pages=_ascending(_offset(item, text) for item in _list(value.get("pages"))),
        sections=_sections(value, text),
        blocks=_blocks(value, text),
        metadata={key: _metadata_value(item) for key, item in _object(value.get("metadata")).items()},
        notes=tuple(printable(_text(item)) for item in _list(value.get("notes"))[:_MOST_NOTES]),
        parts=parts,
        artefacts=_object(value.get("artefacts")),
    )


def _part(value: Any) -> Part:
    item = _object(value)
    return Part(
        _text(item.get("name")), _text(item.get("group")), _document(_object(item.get("document")), is_part=True)
    )


def _sections(value: dict[str, Any], text: str) -> tuple[Section, ...]:
    sections = []
    for item in _list(value.get("sections")):
        start, level, title = _list(item, 3)
        sections.append(Section(_offset(start, text), _integer(level, 1, _DEEPEST_HEADING), _text(title)))
    _ascending(section.start for section in sections)
    return tuple(sections)


def _blocks(value: dict[str, Any], text: str) -> tuple[Block, ...]:
    headers = [_text(item) for item in _list(value.get("headers"))]
    blocks, reached = [], 0
    for item in _list(value.get("blocks")):
        start, end, kind, header = _list(item, 4)
        if not isinstance(kind, str) or kind not in _KINDS:
            raise MalformedAnswer("a block of no known kind")
        begin = _integer(start, reached, len(text))
        reached = _integer(end, begin, len(text))
        blocks.append(Block(begin, reached, kind, headers[_integer(header, 0, len(headers) - 1)]))  # type: ignore[arg-type]
    return tuple(blocks)


def _metadata_value(value: Any) -> MetadataValue:
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return _integer(value, -_LARGEST_INTEGER, _LARGEST_INTEGER)
    if isinstance(value, float) and math.isfinite(value):
        return value
    return [_text(item) for item in _list(value)]


def _offset(value: Any, text: str) -> int:
    return _integer(value, 0, len(text))


def _integer(value: Any, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise MalformedAnswer(f"a number that is not one from {lowest} to {highest}")
    return value


def _ascending(numbers: Iterable[int]) -> tuple[int, ...]:
    listed = tuple(numbers)
    if any(later < earlier for earlier, later in pairwise(listed)):
        raise MalformedAnswer("offsets that do not ascend")
    return listed


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise MalformedAnswer("something that is no text")
    return value


def _list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise MalformedAnswer("something that is no list of its length")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedAnswer("something that is no object")
    return value


def _refuse_constant(name: str) -> None:
    raise MalformedAnswer(f"{name}, which is no number")
