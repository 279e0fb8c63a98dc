"""Enrich chunks: a language model writes a sentence of context for each. Runs can be resumed; costs are estimated."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING

from elt_llm_core.errors import SettingsError
from elt_llm_core.models.completion import complete_prompt
from elt_llm_core.progress import ProgressListener
from elt_llm_core.store.documents import StoredFile, file_versions_of, read_file_version
from elt_llm_core.store.nodes import EnrichmentTable
from elt_llm_core.store.records import NewDocument, NewNode, sha256
from elt_llm_core.store.store import Store
from elt_llm_core.text.language import detect_language
from elt_llm_core.text.sentences import sentence_spans
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_core.utilities import Failpoint, failpoint

from elt_llm_ingest.chunkers.pieces import TokenCounter
from elt_llm_ingest.chunkers.span_chunker import MARGIN, SENTENCE_TOKENS

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import Settings
    from llama_index.core.llms import LLM

PROMPT_VERSION = 1  # increase this number whenever enrichment_prompt.txt changes
_SURROUNDING_CHARACTERS = 1_500  # characters of the document shown before and after the chunk

_PROMPT = files(__package__).joinpath("enrichment_prompt.txt").read_text(encoding="utf-8")


def context_prompt(document: NewDocument, node: NewNode) -> str:
    """Build the prompt for one chunk: the title and section, the surrounding text, and the chunk itself."""
    part = document.text[max(0, node.start - _SURROUNDING_CHARACTERS) : node.end + _SURROUNDING_CHARACTERS]
    return _PROMPT.format(title=document.title, section=node.section or "-", part=part, passage=node.text)


_MAX_REPLY_LENGTH = 20_000
_MIN_WORDS = 3
_REPLY_WORD = re.compile(r"[^\W\d_]{2,}+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_QUOTES = "\"'“”„‘’«»`*_ "  # noqa: RUF001


def context_sentence(reply: str) -> str:
    """Return the first meaningful sentence of a reply, without quotation marks; empty if there is none.

    Reasoning before the answer, and lines that only announce the answer ("Here is the sentence:"), are skipped.
    """
    answer = reply[:_MAX_REPLY_LENGTH].rpartition("</think>")[2]
    if "<think>" in answer:
        return ""
    # Control characters and lone surrogates are removed; line ends are kept.
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


_MIN_TOKENS = 8  # a shortened sentence with fewer tokens is dropped


class ContextWriter:
    """Writes a sentence of context for a chunk, with the language model `llm`.

    `counter` counts tokens as the embedding model does, which will embed the sentence together with the chunk.
    """

    def __init__(self, llm: "LLM", counter: TokenCounter) -> None:
        self._llm = llm
        self._counter = counter

    @property
    def identity(self) -> str:
        """What the context sentences depend on: the language model, the prompt's version, and the limit of tokens."""
        return f"{self._llm.class_name()}/{self._llm.metadata.model_name}-{PROMPT_VERSION}:{SENTENCE_TOKENS}"

    def key(self, document: NewDocument, node: NewNode) -> bytes:
        """Return the key of a chunk's cached context sentence: equal for equal chunks in equal surrounding text."""
        return sha256(self.identity, context_prompt(document, node))

    def write(self, document: NewDocument, node: NewNode) -> str:
        """Let the language model write one sentence: what a chunk is about, and where in its document it is.

        Return the sentence, or "" if the reply is unusable. If the server cuts a reply off, it is requested once more
        with another seed. Raises a ModelError if the call fails.
        """
        prompt = context_prompt(document, node)
        written = complete_prompt(self._llm, prompt)
        if written.finish == "cut off":
            written = complete_prompt(self._llm, prompt, another_seed=True)
        return context_sentence(written.text)

    def fitted(self, sentence: str, node: NewNode) -> str:
        """Return a context sentence, shortened until it and its chunk fit into the token limit; "" without room."""
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
            f"chunking.enrichment is 'llm', but llm.provider '{settings.llm.provider}' provides no language model.",
            hint="Set llm.provider to a language model, such as ollama, or set chunking.enrichment to none.",
        )
    return ContextWriter(llm, counter)


_CHARACTERS_PER_TOKEN = 4  # a rough average for language models


@dataclass(frozen=True)
class EnrichmentCost:
    """What it costs to give each chunk a context sentence that a language model writes."""

    calls: int
    """The number of calls of the language model that are still needed."""
    known: int
    """The number of chunks that need no call: their sentence is stored, or an equal chunk requests it."""
    tokens_read: int
    """The estimated number of tokens in the prompts of these calls."""
    tokens_written: int
    """The maximum number of tokens in the replies."""

    def __str__(self) -> str:
        """Return the cost as a sentence."""
        if not self.calls:
            return f"Contexts: all {self.known} chunks have one; the language model is not called."
        return (
            f"Contexts: the language model will be called {self.calls} times, reading about {self.tokens_read} tokens"
            f" and writing up to {self.tokens_written}; {self.known} chunks have a context already."
        )


_LANGUAGE_SAMPLE = 20_000


def enriched_extraction(extraction: str, writer: ContextWriter) -> str:
    """Return `extraction` with the writer's identity at its end, unless it is there already.

    `extraction` is the part of a document version's key that changes with its metadata. With the identity, an enriched
    version has another key than the version without context sentences: "4f0c" -> "4f0c|Ollama/qwen-1:48".
    """
    ending = f"|{writer.identity}"
    return extraction if extraction.endswith(ending) else extraction + ending


def enrichment_cost(store: Store, versions: Sequence[int], writer: ContextWriter) -> EnrichmentCost:
    """Estimate the cost of `enrich_versions` without calling the model. Equal requests are counted once."""
    cache = EnrichmentTable(store.database)
    calls: set[bytes] = set()
    nodes = characters = 0
    for document in _pending_versions(store, versions, writer):
        keys = {writer.key(document, node): node for node in document.nodes}
        nodes += len(document.nodes)
        for key in keys.keys() - cache.known(keys).keys() - calls:
            calls.add(key)
            characters += len(context_prompt(document, keys[key]))
    return EnrichmentCost(
        calls=len(calls),
        known=nodes - len(calls),
        tokens_read=characters // _CHARACTERS_PER_TOKEN,
        tokens_written=len(calls) * SENTENCE_TOKENS,
    )


def enrich_versions(
    store: Store, versions: Sequence[int], writer: ContextWriter, progress: ProgressListener
) -> list[int]:
    """Add a context sentence to each chunk of these document versions. Return the enriched versions, ascending.

    A file is enriched as a whole: the result contains the versions of the file and of all documents within it.
    The cost is reported before the first request. Every sentence is stored as it arrives, so that a repeated call
    requests only missing ones. Raises the language model's errors. The caller holds the writer's lock.
    """
    cost = enrichment_cost(store, versions, writer)
    progress.note(str(cost))
    progress.stage("enrich", cost.calls)
    run = _Enricher(store, writer, progress)
    enriched = [number for file in file_versions_of(store.database, versions) for number in run.enriched(file)]
    if run.unusable:
        progress.note(f"Contexts: {run.unusable} replies could not be used, so their chunks have no context.")
    return sorted(enriched)


class _Enricher:
    def __init__(self, store: Store, writer: ContextWriter, progress: ProgressListener) -> None:
        self._store, self._writer, self._progress = store, writer, progress
        self._cache = EnrichmentTable(store.database)
        self._tokenisers: dict[str, KeywordTokeniser] = {}
        self.unusable = 0

    def enriched(self, file: int) -> list[int]:
        """Return the enriched versions of a file and of the documents within it. Store them if they are new."""
        stored = read_file_version(self._store.database, file)
        if _is_enriched(stored, self._writer):
            return list(stored.numbers)
        extraction = enriched_extraction(stored.document.extraction, self._writer)
        number = self._store.documents.find(replace(stored.document, extraction=extraction).key)
        if number is None:
            document, *parts = (self._document(document) for document in (stored.document, *stored.parts))
            number = self._store.documents.add(stored.collection, document, parts)
        return self._store.documents.with_parts([number])

    def _document(self, document: NewDocument) -> NewDocument:
        language = detect_language(document.text[:_LANGUAGE_SAMPLE])
        tokeniser = self._tokenisers.setdefault(language, KeywordTokeniser(language))
        known = self._cache.known(self._writer.key(document, node) for node in document.nodes)
        nodes = [self._node(document, node, tokeniser, known) for node in document.nodes]
        return replace(
            document,
            nodes=tuple(nodes),
            tokeniser=tokeniser.fingerprint,
            extraction=enriched_extraction(document.extraction, self._writer),
        )

    def _node(
        self, document: NewDocument, node: NewNode, tokeniser: KeywordTokeniser, known: dict[bytes, str]
    ) -> NewNode:
        key = self._writer.key(document, node)
        if key not in known:
            known[key] = self._ask(key, document, node)
        sentence = self._writer.fitted(known[key], node)
        if sentence:
            context = f"{node.context}\n{sentence}" if node.context else sentence
            node = replace(node, context=context, metadata={**node.metadata, "enrichment": sentence})
        return replace(node, stems=" ".join(tokeniser.stems(node.embedded_text)))

    def _ask(self, key: bytes, document: NewDocument, node: NewNode) -> str:
        with failpoint(Failpoint.ENRICH):
            sentence = self._writer.write(document, node)
            self._cache.add(key, sentence)
        self.unusable += not sentence
        self._progress.advance(1, document.path)
        return sentence


def _is_enriched(stored: StoredFile, writer: ContextWriter) -> bool:
    return stored.document.extraction == enriched_extraction(stored.document.extraction, writer)


def _pending_versions(store: Store, versions: Sequence[int], writer: ContextWriter) -> Iterator[NewDocument]:
    for file in file_versions_of(store.database, versions):
        stored = read_file_version(store.database, file)
        if not _is_enriched(stored, writer):
            yield from (stored.document, *stored.parts)
