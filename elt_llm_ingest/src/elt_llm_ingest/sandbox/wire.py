"""What passes between the parent and a worker: frames of JSON, never anything that could run.

A frame is its length as 8 bytes, big-endian, then that many bytes of UTF-8.
"""

import json
import re
from typing import Any

from elt_llm_ingest.parsed_document import Block, ParsedDocument

PREFIX = 8
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def frame(payload: bytes) -> bytes:
    """The payload with its length before it."""
    return len(payload).to_bytes(PREFIX, "big") + payload


def to_bytes(value: Any) -> bytes:
    """A JSON value as UTF-8. Half a surrogate pair, which no file may hold, is replaced one for one: offsets hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _LONE_SURROGATE.sub("\ufffd", text).encode("utf-8")


def encode_document(document: ParsedDocument) -> dict[str, Any]:
    """A parsed document as a JSON value. Headers are listed once each, however many rows stand below them."""
    headers: dict[str, int] = {}
    return {
        "text": document.text,
        "title": document.title,
        "pages": list(document.pages),
        "sections": [[section.start, section.level, section.title] for section in document.sections],
        "blocks": [_encode_block(block, headers) for block in document.blocks],
        "headers": list(headers),
        "metadata": document.metadata,
        "notes": list(document.notes),
        "parts": [
            {"name": part.name, "group": part.group, "document": encode_document(part.document)}
            for part in document.parts
        ],
        "artefacts": dict(document.artefacts),
    }


def _encode_block(block: Block, headers: dict[str, int]) -> list[Any]:
    return [block.start, block.end, block.kind, headers.setdefault(block.header, len(headers))]
