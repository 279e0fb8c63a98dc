"""A parsed document as a LlamaIndex document, and back, so that both worlds share readers and chunkers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elt_llm_core.outline import Section
from llama_index.core.schema import BaseNode, Document, MetadataMode

from elt_llm_ingest.parsed_document import Block, ParsedDocument

_STRUCTURE = ("pages", "sections", "blocks")


def to_llama_document(parsed: ParsedDocument, path: Path) -> Document:
    """The document with its structure in `metadata`, kept away from prompts and embeddings."""
    structure: dict[str, Any] = {
        "pages": list(parsed.pages),
        "sections": [(section.start, section.level, section.title) for section in parsed.sections],
        "blocks": [(block.start, block.end, block.kind, block.header) for block in parsed.blocks],
    }
    metadata = {**parsed.metadata, "title": parsed.title, "file_path": str(path), **structure}
    hidden = [*_STRUCTURE]
    return Document(
        text=parsed.text,
        metadata=metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
    )


def from_llama_document(node: BaseNode) -> ParsedDocument:
    """The parsed document behind a LlamaIndex document; one from another reader has text and title only."""
    metadata: Mapping[str, Any] = node.metadata
    return ParsedDocument(
        text=node.get_content(metadata_mode=MetadataMode.NONE),
        title=str(metadata.get("title") or metadata.get("file_name") or ""),
        pages=tuple(metadata.get("pages", ())),
        sections=tuple(Section(*section) for section in metadata.get("sections", ())),
        blocks=tuple(Block(*block) for block in metadata.get("blocks", ())),
    )
