"""One sentence of context a passage, written by a language model and cut to what its embedding has room for."""

from typing import TYPE_CHECKING

from elt_llm_core.errors import SettingsError
from elt_llm_core.models.writing import ask
from elt_llm_core.store.records import NewDocument, NewNode, sha256

from elt_llm_ingest.chunkers.chunk_spans import MARGIN
from elt_llm_ingest.chunkers.contexts import SENTENCE_TOKENS
from elt_llm_ingest.chunkers.token_index import PassageCounter
from elt_llm_ingest.enrichment.prompt import PROMPT_VERSION, prompt_for
from elt_llm_ingest.enrichment.reply import usable_sentence

if TYPE_CHECKING:
    from elt_llm_core.settings import Settings
    from llama_index.core.llms import LLM

_FEWEST_TOKENS = 8  # less of a sentence than this says nothing


class ContextWriter:
    """Asks `llm` about passages; `counter` is the embedding model that will read the result."""

    def __init__(self, llm: "LLM", counter: PassageCounter) -> None:
        self._llm = llm
        self._counter = counter

    @property
    def identity(self) -> str:
        """What decides the sentences: the model, the prompt's version and the room for them."""
        return f"{self._llm.class_name()}/{self._llm.metadata.model_name}-{PROMPT_VERSION}:{SENTENCE_TOKENS}"

    def key(self, document: NewDocument, node: NewNode) -> bytes:
        """What a sentence is kept under: equal for the same passage with the same text around it."""
        return sha256(self.identity, prompt_for(document, node))

    def write(self, document: NewDocument, node: NewNode) -> str:
        """The model's sentence, empty if its reply cannot be used. Raises a ModelError if it fails."""
        return usable_sentence(ask(self._llm, prompt_for(document, node)).text)

    def fitted(self, sentence: str, node: NewNode) -> str:
        """As much of a sentence as its passage leaves room for, in whole words; empty if that is too little."""
        used = len(self._counter.token_spans(node.embedded_text))
        room = min(SENTENCE_TOKENS, self._counter.token_limit - used - MARGIN)
        spans = self._counter.token_spans(sentence)
        if len(spans) <= room:
            return sentence
        if room < _FEWEST_TOKENS:
            return ""
        cut = sentence[: spans[room][0]]
        whole_words = cut if sentence[len(cut) - 1].isspace() else cut.rpartition(" ")[0]
        return whole_words.rstrip()


def create_context_writer(settings: "Settings", counter: PassageCounter) -> ContextWriter:
    """The writer of the language model that the settings name. Raises SettingsError if they name none."""
    from elt_llm_core.models.llms import create_llm

    llm = create_llm(settings)
    if llm is None:
        raise SettingsError(
            f"chunking.enrichment is 'llm', but llm.provider '{settings.llm.provider}' gives no language model.",
            hint="Set llm.provider to a model that writes, such as ollama, or chunking.enrichment to none.",
        )
    return ContextWriter(llm, counter)
