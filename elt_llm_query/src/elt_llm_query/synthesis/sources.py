"""The passages as a language model reads them: numbered, named, and fenced as quoted text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.results import RetrievedChunk

from elt_llm_query.shape.order import lost_in_the_middle

_FENCE = re.compile(r"<[\s\u00ad\u200b-\u200f\u2060\ufeff/]{0,20}source", re.IGNORECASE)
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Source:
    """A passage under the number it is cited by."""

    number: int
    chunk: RetrievedChunk

    @property
    def text(self) -> str:
        """The passage with its place, fenced; a fence within the passage is undone, so that it cannot end itself."""
        title = _attribute(self.chunk.source_title or self.chunk.source)
        page = f' page="{self.chunk.page}"' if self.chunk.page else ""
        section = f' section="{_attribute(self.chunk.section)}"' if self.chunk.section else ""
        body = "\n".join(part for part in (self._context, self.chunk.text) if part)
        return f'<source number="{self.number}" title="{title}"{page}{section}>\n{_unfenced(body)}\n</source>'

    @property
    def _context(self) -> str:
        """What helps to read the passage, but for what the fence says already."""
        context = self.chunk.context.strip()
        return "" if context in (self.chunk.section, self.chunk.source_title) else context


def number_sources(chunks: Sequence[RetrievedChunk]) -> list[Source]:
    """The passages numbered from 1 by their score, the best first; ties as they come."""
    ranked = sorted(range(len(chunks)), key=lambda place: (-chunks[place].score, place))
    return [Source(number, chunks[place]) for number, place in enumerate(ranked, 1)]


def as_read(sources: Sequence[Source], *, best_outside: bool) -> str:
    """The sources one after the other; `best_outside` puts the weakest into the middle, where models read least."""
    ordered = lost_in_the_middle(sources) if best_outside else list(sources)
    return "\n\n".join(source.text for source in ordered)


def _attribute(value: str) -> str:
    return _unfenced(" ".join(value.replace('"', "'").split()))[:_LONGEST_NAME]


def _unfenced(text: str) -> str:
    return _FENCE.sub("(source", text)
