"""The passages of a trace by names that people recognise, as the stage `explain` has them."""

from collections.abc import Mapping, Sequence
from typing import Any

from elt_llm_core.results import TraceStage

from elt_llm_api.render import shortened

_NAME = 28  # characters of a file's name; both its ends are kept
_COLLECTION = 16
_UNKNOWN: Mapping[str, Any] = {}


class NamedPassages:
    """Looks passages up by collection and node id; one that is not named goes by its id."""

    def __init__(self, stages: Sequence[TraceStage]) -> None:
        told = next((stage.details for stage in stages if stage.name == "explain"), {})
        self._passages: Mapping[str, Mapping[str, Any]] = told.get("passages", {})
        self.several = len(self._passages) > 1

    def details(self, collection: str, node_id: str) -> Mapping[str, Any]:
        """All that is told of one passage; empty if nothing is."""
        found: Mapping[str, Any] = self._passages.get(collection, {}).get(node_id, _UNKNOWN)
        return found

    def name(self, collection: str, node_id: str) -> str:
        """Document and page, then how it begins; the collection first where there are several."""
        one = self.details(collection, node_id)
        if not one:
            return node_id
        # A document within a file is known by its title: `model.drawio#entity/3c51` says nothing.
        document = one["title"] if "#" in one["source"] else one["source"]
        place = shortened(document, _NAME) + (f" p. {one['page']}" if one["page"] else "")
        named = f"{place}: {one['begins']}"
        return f"{shortened(collection, _COLLECTION)}: {named}" if self.several else named

    def short(self, collection: str, node_id: str) -> str:
        """`#3` for the third of the passages that are read, in whichever collection; else the name."""
        places = (passages[node_id]["place"] for passages in self._passages.values() if node_id in passages)
        read = next((place for place in places if place), None)
        return f"#{read}" if read else self.name(collection, node_id)

    def place(self, collection: str, node_id: str) -> str:
        """The place among the passages that are read, from 1, or `-`."""
        return str(self.details(collection, node_id).get("place") or "-")

    def words(self, collection: str, node_id: str) -> str:
        """The question's words that it has; behind `~` those it has as part of a word, or a part of."""
        one = self.details(collection, node_id)
        return " ".join([*one.get("matched", ()), *(f"~{word}" for word in one.get("matched in part", ()))]) or "-"
