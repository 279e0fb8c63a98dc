"""Several collections answered one by one, the answers then made one."""

from dataclasses import replace

from elt_llm_query.synthesis.calls import ModelCalls, OnPiece
from elt_llm_query.synthesis.drafting import Draft, Synthesis, Task
from elt_llm_query.synthesis.not_found import says_not_found
from elt_llm_query.synthesis.sources import Source


class ByCollection:
    """Has another way of writing answer from the sources of each collection, and polishes what they say into one.

    The partial answers are kept as they were. Where only one collection has anything to say, that is the answer.
    """

    def __init__(self, each: Synthesis) -> None:
        self._each = each
        self.name = f"iterative {each.name}"

    def draft(self, task: Task, calls: ModelCalls, on_piece: OnPiece) -> Draft:
        """The polished answer with its parts."""
        groups = _by_collection(task.sources)
        if len(groups) == 1:
            return self._each.draft(task, calls, on_piece)
        drafts = {name: self._each.draft(replace(task, sources=own), calls, _unheard) for name, own in groups.items()}
        telling = {name: draft for name, draft in drafts.items() if draft.text and not says_not_found(draft.text)}
        whole = all(draft.whole for draft in drafts.values())
        text = self._joined(task, calls, telling or drafts, on_piece)
        return Draft(
            text=text,
            read=tuple(sorted((s for draft in drafts.values() for s in draft.read), key=lambda one: one.number)),
            dropped=tuple(source for draft in drafts.values() for source in draft.dropped),
            steps=tuple(f"{name}: {step}" for name, draft in drafts.items() for step in draft.steps),
            parts=tuple((name, draft.text) for name, draft in drafts.items()),
            whole=whole and calls.ledger[-1].finish == "stop",
            told={name: draft.told for name, draft in drafts.items() if draft.told},
        )

    def _joined(self, task: Task, calls: ModelCalls, drafts: dict[str, Draft], on_piece: OnPiece) -> str:
        if len(drafts) == 1 or all(says_not_found(draft.text) for draft in drafts.values()):
            text = next(iter(drafts.values())).text
            on_piece(text)
            return text
        parts = "\n\n".join(f'<part collection="{name}">\n{draft.text}\n</part>' for name, draft in drafts.items())
        written = calls.ask("one answer of all parts", task.prompts["polish"], task.values(parts=parts), on_piece)
        return written.text.strip()


def _by_collection(sources: tuple[Source, ...]) -> dict[str, tuple[Source, ...]]:
    names = dict.fromkeys(source.chunk.collection for source in sources)
    return {name: tuple(one for one in sources if one.chunk.collection == name) for name in names}


def _unheard(_piece: str) -> None:
    """Partial answers are not shown as they are written: they are not the answer."""
