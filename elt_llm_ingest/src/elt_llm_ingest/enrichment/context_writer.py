"""Write one sentence of context for each chunk with a language model."""

import re
import unicodedata
from importlib.resources import files
from typing import TYPE_CHECKING

from elt_llm_core.errors import SettingsError
from elt_llm_core.models.completion import complete_prompt
from elt_llm_core.store.records import NewDocument, NewNode, sha256
from elt_llm_core.text.sentences import sentence_spans

from elt_llm_ingest.chunkers.span_chunker import MARGIN, SENTENCE_TOKENS
from elt_llm_ingest.chunkers.token_index import TokenCounter

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import Settings
    from llama_index.core.llms import LLM

PROMPT_VERSION = 1  # raise it whenever prompt.txt changes
_SURROUNDING_CHARACTERS = 1_500  # characters of the document shown before and after the chunk

_PROMPT = files(__package__).joinpath("prompt.txt").read_text(encoding="utf-8")


def context_prompt(document: NewDocument, node: NewNode) -> str:
    """Build the prompt for one chunk: the title and section, the surrounding text, and the chunk itself."""
    part = document.text[max(0, node.start - _SURROUNDING_CHARACTERS) : node.end + _SURROUNDING_CHARACTERS]
    return _PROMPT.format(title=document.title, section=node.section or "-", part=part, passage=node.text)


_MAX_REPLY_LENGTH = 20_000
_MIN_WORDS = 3
_REPLY_WORD = re.compile(r"[^\W\d_]{2,}+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_THOUGHT = "</think>"
_QUOTES = "\"'“”„‘’«»`*_ "  # noqa: RUF001


def context_sentence(reply: str) -> str:
    """Return the first meaningful sentence of a reply without quotation marks; empty if there is none.

    Reasoning before the answer, and lines that only announce it ("Here is the sentence:"), are skipped.
    """
    answer = reply[:_MAX_REPLY_LENGTH].rpartition(_THOUGHT)[2]
    if "<think>" in answer:
        return ""
    # Without control characters and halves of surrogate pairs, line ends kept.
    kept = (mark for mark in answer.replace("\r", "\n") if mark in "\n\t" or unicodedata.category(mark)[0] != "C")
    for line in "".join(kept).split("\n"):
        bare = " ".join(line.split()).strip(_QUOTES)
        if not bare or bare.endswith(":"):
            continue
        start, end = sentence_spans(bare)[0]
        sentence = bare[start:end].strip(_QUOTES)
        if len(_REPLY_WORD.findall(sentence)) >= _MIN_WORDS:
            return sentence
    return ""


_MIN_TOKENS = 8  # a shorter part of a sentence is dropped


class ContextWriter:
    """Write contexts with `llm`; `counter` is the embedding model that will embed them."""

    def __init__(self, llm: "LLM", counter: TokenCounter) -> None:
        self._llm = llm
        self._counter = counter

    @property
    def identity(self) -> str:
        """The model, the prompt version and the most tokens of a sentence: whatever the sentences depend on."""
        return f"{self._llm.class_name()}/{self._llm.metadata.model_name}-{PROMPT_VERSION}:{SENTENCE_TOKENS}"

    def key(self, document: NewDocument, node: NewNode) -> bytes:
        """Return the cache key of a sentence: equal for the same chunk with the same surrounding text."""
        return sha256(self.identity, context_prompt(document, node))

    def write(self, document: NewDocument, node: NewNode) -> str:
        """Return the model's sentence; empty if its reply is unusable. Raises a ModelError if the call fails."""
        return context_sentence(complete_prompt(self._llm, context_prompt(document, node)).text)

    def fitted(self, sentence: str, node: NewNode) -> str:
        """Cut a sentence to the tokens that its chunk leaves, in whole words; empty if too few are left."""
        used = len(self._counter.token_spans(node.embedded_text))
        room = min(SENTENCE_TOKENS, self._counter.token_limit - used - MARGIN)
        spans = self._counter.token_spans(sentence)
        if len(spans) <= room:
            return sentence
        if room < _MIN_TOKENS:
            return ""
        cut = sentence[: spans[room][0]]
        whole_words = cut if sentence[len(cut) - 1].isspace() else cut.rpartition(" ")[0]
        return whole_words.rstrip()


def create_context_writer(settings: "Settings", counter: TokenCounter) -> ContextWriter:
    """Create a writer with the configured language model. Raises SettingsError if none is configured."""
    from elt_llm_core.models.factory import create_llm

    llm = create_llm(settings)
    if llm is None:
        raise SettingsError(
            f"chunking.enrichment is 'llm', but llm.provider '{settings.llm.provider}' gives no language model.",
            hint="Set llm.provider to a model that writes, such as ollama, or chunking.enrichment to none.",
        )
    return ContextWriter(llm, counter)
