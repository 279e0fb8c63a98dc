"""What writing contexts will cost, known before the first call."""

from collections.abc import Iterable
from dataclasses import dataclass

from elt_llm_core.store.enrichments import Enrichments
from elt_llm_core.store.records import NewDocument

from elt_llm_ingest.chunkers.contexts import SENTENCE_TOKENS
from elt_llm_ingest.enrichment.context_writer import ContextWriter
from elt_llm_ingest.enrichment.prompt import prompt_for

_CHARACTERS_PER_TOKEN = 4  # of a language model, roughly, in running text


@dataclass(frozen=True)
class Cost:
    """Calls still to be made, passages whose sentence is known, and tokens the calls read and write, roughly."""

    calls: int
    known: int
    tokens_read: int
    tokens_written: int

    def __str__(self) -> str:
        """One sentence for a person."""
        if not self.calls:
            return f"Contexts: all {self.known} passages have theirs; the language model is not asked."
        return (
            f"Contexts: the language model will be asked {self.calls} times, reading about {self.tokens_read} tokens"
            f" and writing up to {self.tokens_written}; {self.known} passages have theirs already."
        )


def cost_of(documents: Iterable[NewDocument], cache: Enrichments, writer: ContextWriter) -> Cost:
    """The cost of contexts for all nodes of these documents; nodes that ask the same are paid for once."""
    asked: set[bytes] = set()
    nodes = characters = 0
    for document in documents:
        keys = {writer.key(document, node): node for node in document.nodes}
        known = cache.known(keys)
        nodes += len(document.nodes)
        for key in keys.keys() - known.keys() - asked:
            asked.add(key)
            characters += len(prompt_for(document, keys[key]))
    return Cost(
        calls=len(asked),
        known=nodes - len(asked),
        tokens_read=characters // _CHARACTERS_PER_TOKEN,
        tokens_written=len(asked) * SENTENCE_TOKENS,
    )
