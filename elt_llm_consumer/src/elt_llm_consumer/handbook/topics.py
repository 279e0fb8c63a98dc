"""Which parts of the texts are about the topics that a job is narrowed to."""

import re
from collections.abc import Iterable, Sequence

from elt_llm_query.engine import Engine

from elt_llm_consumer.handbook.reading import Sentence

Place = tuple[str, str]
"""Collection and id of a document."""


class Topics:
    """Knows the sentences that name a topic, stand under a heading that does, or in a passage that a search found."""

    def __init__(self, topics: Sequence[str], engine: Engine | None, passages: int) -> None:
        """`passages` is how many are searched for each topic. Raises RetrievalError if a search fails."""
        self._topics = tuple(topic.strip() for topic in topics if topic.strip())
        stems = [re.escape(topic.removesuffix("s")) for topic in self._topics]
        self._named = re.compile(rf"(?<!\w)(?:{'|'.join(stems)})(?:s|es|en)?(?!\w)", re.IGNORECASE)
        self._found: dict[Place, list[tuple[int, int]]] = {}
        if engine is not None and passages:
            for topic in self._topics:
                for chunk in engine.search(topic, top_k=passages).chunks:
                    self._found.setdefault((chunk.collection, chunk.source_id), []).append(chunk.span)

    def of(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences about the topics in their order; all where there is none."""
        return [one for one in sentences if self._is_about(one)] if self._topics else list(sentences)

    def _is_about(self, sentence: Sentence) -> bool:
        if self._named.search(sentence.text) or self._named.search(sentence.section):
            return True
        document = sentence.document
        spans = self._found.get((document.collection, document.document_id), ())
        return any(start <= sentence.start and sentence.end <= end for start, end in spans)
