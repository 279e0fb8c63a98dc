"""Models that score chunks: a local cross-encoder, an LLM, and, if the settings allow it, Cohere's service."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path

from elt_llm_core.errors import EltError, ModelError, SettingsError
from elt_llm_core.models.completion import complete_prompt
from elt_llm_core.models.cross_encoder import DEFAULT_MODEL, CrossEncoder
from elt_llm_core.models.model_files import find_model_folder, model_folders
from llama_index.core.llms import LLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from elt_llm_query.rerank.reranker import Cancelled, ChunkScorer, ChunkScores, ModelSources

MOST_THREADS = 8


@dataclass(frozen=True)
class CrossEncoderScorer:
    """A scorer that runs a local cross-encoder; no text leaves the machine."""

    model: CrossEncoder
    name = "cross-encoder"
    notes = ()

    @property
    def description(self) -> str:
        """The model's folder and token limit."""
        return f"{self.model.folder}, {self.model.token_limit} tokens"

    def score(self, question: str, chunks: Sequence[str], cancelled: Cancelled | None = None) -> ChunkScores:
        """Return the scores of the cross-encoder. Raises ModelError if the model fails."""
        return ChunkScores(tuple(self.model.score(question, chunks)))


def open_cross_encoder(name: str | None, models_dir: Path | None) -> CrossEncoderScorer:
    """Open the named cross-encoder, by default DEFAULT_MODEL. Raises ModelError for a missing or damaged model."""
    wanted = name or DEFAULT_MODEL
    folder = find_model_folder(wanted, models_dir)
    if folder is None:
        looked_at = [str(path) for path in model_folders(wanted, models_dir)] or ["no folder of models is configured"]
        raise ModelError(
            f"The cross-encoder '{wanted}' is not on this machine ({', '.join(looked_at)})",
            hint=f"Run: elt-llm models pull {DEFAULT_MODEL.rpartition('/')[2]}, name an installed model in"
            " query.reranker_model, or set query.reranker_strategy to embedding",
        )
    return CrossEncoderScorer(CrossEncoder(folder, min(os.cpu_count() or 1, MOST_THREADS)))


BATCH_SIZE = 10  # chunks in one prompt: about 3000 tokens at most
MOST_CHARACTERS = 1200  # of one chunk
MOST_REPLIED = 20_000  # characters of a reply that are parsed
BEST = 10.0  # the greatest score that the prompt allows

_INSTRUCTION = Path(__file__).with_name("scoring_prompt.txt").read_text(encoding="utf-8")
_OPENING = re.compile(r"<[\s\u00ad\u200b-\u200f\u2060\ufeff/]{0,20}passage", re.IGNORECASE)
_SCORE = re.compile(
    r"""(?:^|[{,])[\s*"'\-]{0,9}(?:passage\s{1,3})?[\[(#]?(\d{1,3})[\])]?["'*]{0,3}\s{0,3}[:=\-]\s{0,3}"""
    r"""["'*]{0,3}(-?\d{1,6}(?:\.\d{1,6})?)(?![\d.]*\d)""",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class LlmScorer:
    """A scorer that asks a LlamaIndex language model.

    A chunk gets no score if the reply omits it, gives it two different scores, or gives it a score outside 0 to 10. If
    the model fails, no chunk of that prompt gets a score.
    """

    llm: LLM = field(repr=False)  # may show its key
    name = "llm"
    notes = ()

    @property
    def description(self) -> str:
        """The model's name."""
        return str(self.llm.metadata.model_name)

    def score(self, question: str, chunks: Sequence[str], cancelled: Cancelled | None = None) -> ChunkScores:
        """Return scores from 0 to 10, or None where the reply has no usable score. A note reports how many lack one."""
        gone = cancelled or (lambda: False)
        scores: list[float | None] = []
        failures: dict[str, None] = {}
        for start in range(0, len(chunks), BATCH_SIZE):
            batch = chunks[start : start + BATCH_SIZE]
            if gone():
                scores += [None] * len(batch)
                continue
            try:
                reply = complete_prompt(self.llm, scoring_prompt(question, batch), cancelled).text
            except EltError as failure:
                failures[f"The language model did not score chunks: {failure}"] = None
                reply = ""
            scores += parse_scores("" if gone() else reply, len(batch))  # a cancelled reply may end within a number
        missing = sum(score is None for score in scores)
        notes = list(failures)
        if missing:
            notes.append(f"The language model returned no usable score for {missing} of {len(scores)} chunks.")
        return ChunkScores(tuple(scores), tuple(notes))


def scoring_prompt(question: str, chunks: Sequence[str]) -> str:
    """Build one prompt that asks for a score of each chunk. Chunks are numbered from 1 and cut to 1200 characters."""
    blocks = [
        f'<passage number="{number}">\n{_OPENING.sub("(passage", chunk[:MOST_CHARACTERS])}\n</passage>'
        for number, chunk in enumerate(chunks, 1)
    ]
    return "\n".join([_INSTRUCTION, f"Question: {question}", "", *blocks, "", "Scores:"])


def parse_scores(reply: str, count: int) -> list[float | None]:
    """Parse the scores of the chunks 1 to `count` from lines such as `1: 7`, `[1] = 7/10`, or JSON.

    A chunk's score is None if the reply omits it, gives it two different scores, or a score outside 0 to 10.
    """
    scores: dict[int, set[float]] = {}
    for match in _SCORE.finditer(reply[:MOST_REPLIED]):
        scores.setdefault(int(match[1]), set()).add(float(match[2]))
    only = [next(iter(own)) if len(own := scores.get(number, set())) == 1 else -1.0 for number in range(1, count + 1)]
    return [score if 0.0 <= score <= BEST else None for score in only]


def open_llm_scorer(llm: LLM | None) -> LlmScorer:
    """Build a scorer from the language model in use. Raises SettingsError if there is none."""
    if llm is None:
        raise SettingsError(
            "query.reranker_strategy is llm, but no language model is in use",
            hint="Give the engine a language model, or set query.reranker_strategy to embedding or cross-encoder",
        )
    return LlmScorer(llm)


DEFAULT_COHERE_MODEL = "rerank-v3.5"
COHERE_KEY_VARIABLE = "COHERE_API_KEY"
MOST_CHUNKS_SENT = 1000
_INTEGRATION = "llama_index.postprocessor.cohere_rerank"
_INSTALL = "Run: uv pip install llama-index-postprocessor-cohere-rerank"


@dataclass(frozen=True)
class CohereScorer:
    """A scorer that sends the question and the chunks to Cohere.

    `failures` are the exception types that Cohere's client raises. `score` raises them as ModelError.
    """

    postprocessor: BaseNodePostprocessor = field(repr=False)  # may show its key
    model: str
    failures: tuple[type[Exception], ...] = (OSError,)
    name = "cohere"

    @property
    def description(self) -> str:
        """The model's name."""
        return f"{self.model}, hosted"

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that the question and its chunks left the machine."""
        return (f"The question and its chunks were sent to Cohere ({self.model}).",)

    def score(self, question: str, chunks: Sequence[str], cancelled: Cancelled | None = None) -> ChunkScores:
        """Return scores from 0 to 1, or None where Cohere returned none. Raises ModelError if Cohere fails."""
        nodes = [NodeWithScore(node=TextNode(id_=str(index), text=text)) for index, text in enumerate(chunks)]
        try:
            ranked = self.postprocessor.postprocess_nodes(nodes, QueryBundle(question))
        except self.failures as error:
            raise ModelError(f"Cohere did not respond: {type(error).__name__}") from error
        scores = {one.node.node_id: one.score for one in ranked}
        return ChunkScores(tuple(scores.get(str(index)) for index in range(len(chunks))))


def cohere_is_ready(environment: Mapping[str, str]) -> bool:
    """Return whether the Cohere integration is installed and the environment contains an API key."""
    try:
        return bool(environment.get(COHERE_KEY_VARIABLE)) and util.find_spec(_INTEGRATION) is not None
    except ModuleNotFoundError:
        return False


def open_cohere(name: str | None, environment: Mapping[str, str], *, allowed: bool) -> CohereScorer:
    """Build the Cohere scorer.

    Raises SettingsError if hosted models are not allowed, ModelError if the library or the key is missing.
    """
    if not allowed:
        raise SettingsError(
            "query.reranker_strategy is cohere, a hosted service, and network.allow_remote_models is false",
            hint="Set network.allow_remote_models to true if chunks may leave this machine, or"
            " query.reranker_strategy to embedding or cross-encoder",
        )
    try:
        import httpx
        from cohere.core.api_error import ApiError
        from llama_index.postprocessor.cohere_rerank import CohereRerank
    except ImportError as error:
        raise ModelError("LlamaIndex's Cohere integration is not installed", hint=_INSTALL) from error
    if not environment.get(COHERE_KEY_VARIABLE):
        raise ModelError(
            f"The environment variable {COHERE_KEY_VARIABLE} is not set", hint="Set it to your Cohere account's API key"
        )
    model = name or DEFAULT_COHERE_MODEL
    reranker = CohereRerank(top_n=MOST_CHUNKS_SENT, model=model, api_key=environment[COHERE_KEY_VARIABLE])
    return CohereScorer(reranker, model, (ApiError, httpx.HTTPError, OSError))


def choose_scorer(
    name: str | None, sources: ModelSources, environment: Mapping[str, str]
) -> tuple[ChunkScorer | None, tuple[str, ...]]:
    """Choose a local cross-encoder, otherwise Cohere, otherwise None. Also return notes.

    A configured `name` always means a cross-encoder, so Cohere never replaces it. Without a name, Cohere is chosen if
    the settings allow hosted models and its library and key are present. If a cross-encoder cannot be opened, a note
    reports this.
    """
    if name is not None or find_model_folder(DEFAULT_MODEL, sources.models_dir) is not None:
        try:
            return open_cross_encoder(name, sources.models_dir), ()
        except ModelError as failure:
            return None, (f"The chunks are ranked by cosine and keywords: {failure}.",)
    if sources.allow_remote and cohere_is_ready(environment):
        return open_cohere(None, environment, allowed=True), ()
    return None, ()
