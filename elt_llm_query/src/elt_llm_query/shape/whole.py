"""Small collections are read whole: all their chunks, in the order of their documents."""

from collections.abc import Iterable, Sequence

from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.shape.passages import Passage


def read_whole(generation: Searchable, ranked: Iterable[Candidate]) -> list[Passage]:
    """Every chunk by source and place; those that were ranked keep their ranks and scores, others have none."""
    found = {one.node_id: one for one in ranked if one.collection == generation.collection}
    nodes = sorted(
        generation.nodes(generation.ids), key=lambda node: (node.source, node.document_id, node.start, node.ordinal)
    )
    return [Passage(found.get(node.node_id) or Candidate(node.node_id, generation.collection), node) for node in nodes]


def small_enough(generations: Iterable[Searchable], most_chunks: int) -> Sequence[Searchable]:
    """Those with at least one chunk and at most so many; none if that is 0."""
    return [one for one in generations if 0 < len(one.ids) <= most_chunks]
