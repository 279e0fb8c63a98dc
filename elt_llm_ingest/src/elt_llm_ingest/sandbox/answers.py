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
# Titles stand in every passage below them, so that one of a megabyte would become gigabytes.
_LONGEST_TITLE = 1000
_LONGEST_NAME = 1000
_LONGEST_METADATA = 20_000  # characters of one value, or entries
_MOST_METADATA = 1000
_DEEPEST_ARTEFACT = 100
# A list takes 30 times the memory that it takes as JSON; readers within their own memory give a fifth of this.
_MOST_VALUES = 10_000_000
_SMALL = 8 << 20  # bytes that cannot hold so many
_LARGEST_INTEGER = 2**63 - 1
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Its end is optional, or each quote of a string that never ends would be tried as the beginning of one.
_STRING = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"?')
_ARTEFACT_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")  # becomes the name of a folder


class MalformedAnswer(Exception):
    """An answer that is no document: the worker is broken, or not itself any more."""


def parse_json(payload: bytes) -> dict[str, Any]:
    """The JSON object in `payload`. Raises MalformedAnswer for anything else, and for text that cannot be stored."""
    _refuse_many_values(payload)
    try:
        text = payload.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
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
        title=_text(value.get("title"))[:_LONGEST_TITLE],
        pages=_ascending(_offset(item, text) for item in _list(value.get("pages"))),
        sections=_sections(value, text),
        blocks=_blocks(value, text),
        metadata=_metadata(_object(value.get("metadata"))),
        notes=tuple(printable(_text(item)) for item in _list(value.get("notes"))[:_MOST_NOTES]),
        parts=parts,
        artefacts=_artefacts(_object(value.get("artefacts"))),
    )


def _part(value: Any) -> Part:
    item = _object(value)
    name, group = _text(item.get("name")), _text(item.get("group"))
    if max(len(name), len(group)) > _LONGEST_NAME:
        raise MalformedAnswer("a part with an endless name")
    return Part(name, group, _document(_object(item.get("document")), is_part=True))


def _sections(value: dict[str, Any], text: str) -> tuple[Section, ...]:
    sections = []
    for item in _list(value.get("sections")):
        start, level, title = _list(item, 3)
        sections.append(
            Section(_offset(start, text), _integer(level, 1, _DEEPEST_HEADING), _text(title)[:_LONGEST_TITLE])
        )
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


def _metadata(value: dict[str, Any]) -> dict[str, MetadataValue]:
    if len(value) > _MOST_METADATA or any(len(key) > _LONGEST_NAME for key in value):
        raise MalformedAnswer("metadata without end")
    return {key: _metadata_value(item) for key, item in value.items()}


def _artefacts(value: dict[str, Any]) -> dict[str, Any]:
    for name, content in value.items():
        if not _ARTEFACT_NAME.fullmatch(name):
            raise MalformedAnswer("an artefact of a name that none has")
        _check_depth(content, _DEEPEST_ARTEFACT)
    return value


def _check_depth(value: Any, left: int) -> None:
    """What nests to the edge of what the stack bears here would break where the stack is higher."""
    if isinstance(value, dict | list):
        if not left:
            raise MalformedAnswer("an artefact that is nested too deeply")
        for inner in value.values() if isinstance(value, dict) else value:
            _check_depth(inner, left - 1)


def _metadata_value(value: Any) -> MetadataValue:
    if isinstance(value, str):
        return value[:_LONGEST_METADATA]
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _integer(value, -_LARGEST_INTEGER, _LARGEST_INTEGER)
    if isinstance(value, float):
        return value
    return [_text(item)[:_LONGEST_METADATA] for item in _list(value)[:_LONGEST_METADATA]]


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


def _refuse_many_values(payload: bytes) -> None:
    """Looks at what would be made of the JSON before any of it is: what is text cannot be more than its bytes."""
    if len(payload) > _SMALL:
        bare = _STRING.sub(b"", payload)
        if sum(map(bare.count, (b"[", b"{", b","))) > _MOST_VALUES:
            raise MalformedAnswer("more values than any document has")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedAnswer("a number beyond all numbers")
    return number


def _refuse_constant(name: str) -> None:
    raise MalformedAnswer(f"{name}, which is no number")
