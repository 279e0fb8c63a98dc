"""What a search of the texts finds for one field of one entity."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from elt_llm_core.results import RetrievedChunk
from elt_llm_query.engine import Engine

from elt_llm_consumer.fields.about import Subjects
from elt_llm_consumer.sections.catalog import CatalogField

_DEEPER = 2


@dataclass(frozen=True)
class Searched:
    """The passages found, best first; by number, the statements in them with the score of their passage, 0 to 1."""

    chunks: tuple[RetrievedChunk, ...] = field(default=(), repr=False)
    scores: Mapping[int, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


NOTHING = Searched()


class Searcher:
    """Asks the engine a field's question about an entity; without an engine or a question it finds nothing."""

    def __init__(self, engine: Engine | None, by_profile: Mapping[str, Engine], subjects: Subjects) -> None:
        """`by_profile` has the engines of fields that are searched for with a profile of their own."""
        self._engine, self._by_profile, self._subjects = engine, by_profile, subjects

    def search(self, settings: CatalogField, name: str, *, deeper: bool) -> Searched:
        """Raises RetrievalError if no passages could be looked for at all."""
        engine = self._by_profile.get(settings.profile, self._engine)
        if engine is None or not settings.question:
            return NOTHING
        question = settings.question.replace("{entity}", name)
        found = engine.search(question, top_k=settings.top_k * (_DEEPER if deeper else 1))
        scores: dict[int, float] = {}
        for chunk in found.chunks:
            for statement in self._subjects.within(chunk.collection, chunk.source_id, chunk.span):
                score = max(0.0, min(1.0, chunk.score))
                scores[statement.number] = max(score, scores.get(statement.number, 0.0))
        return Searched(found.chunks, scores, found.notes if found.failed else ())
