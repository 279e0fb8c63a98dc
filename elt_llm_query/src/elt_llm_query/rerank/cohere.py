"""Scores by a hosted service, Cohere's, through LlamaIndex's integration: only where the settings allow it."""

from collections.abc import Mapping, Sequence
from importlib import util
from typing import TYPE_CHECKING

from elt_llm_core.errors import ModelError, SettingsError
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from elt_llm_query.rerank.scorer import Cancelled, Judged

if TYPE_CHECKING:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

DEFAULT_MODEL = "rerank-v3.5"
KEY_VARIABLE = "COHERE_API_KEY"
MOST_PASSAGES = 1000
_INTEGRATION = "llama_index.postprocessor.cohere_rerank"
_INSTALL = "Run: uv pip install llama-index-postprocessor-cohere-rerank"


class CohereScorer:
    """Question and passages are sent to the service; `failures` are the errors its client raises."""

    name = "cohere"

    def __init__(
        self, postprocessor: "BaseNodePostprocessor", model: str, failures: tuple[type[Exception], ...] = ()
    ) -> None:
        self._postprocessor = postprocessor
        self._model = model
        self._failures: tuple[type[Exception], ...] = (*failures, OSError)

    @property
    def description(self) -> str:
        """The model's name."""
        return f"{self._model}, hosted"

    @property
    def notes(self) -> tuple[str, ...]:
        """That text left the machine."""
        return (f"The question and the passages found for it were sent to Cohere ({self._model}).",)

    def judge(self, question: str, passages: Sequence[str], cancelled: Cancelled | None = None) -> Judged:
        """Relevance from 0 to 1, None for a passage that the service left out. Raises ModelError if it fails."""
        nodes = [NodeWithScore(node=TextNode(id_=str(place), text=text)) for place, text in enumerate(passages)]
        try:
            ranked = self._postprocessor.postprocess_nodes(nodes, QueryBundle(question))
        except self._failures as error:
            raise ModelError(f"Cohere did not answer: {type(error).__name__}") from error
        scores = {one.node.node_id: one.score for one in ranked}
        return Judged(tuple(scores.get(str(place)) for place in range(len(passages))))


def is_ready(environment: Mapping[str, str]) -> bool:
    """The integration is installed and there is a key for the service; whether it is allowed is not asked here."""
    try:
        return bool(environment.get(KEY_VARIABLE)) and util.find_spec(_INTEGRATION) is not None
    except ModuleNotFoundError:
        return False


def open_cohere(name: str | None, environment: Mapping[str, str], *, allowed: bool) -> CohereScorer:
    """The scorer of a hosted model. Raises SettingsError if not allowed, ModelError without library or key."""
    if not allowed:
        raise SettingsError(
            "query.reranker_strategy is cohere, a hosted service, and network.allow_remote_models is false",
            hint="Set network.allow_remote_models to true if passages may leave this machine, or"
            " query.reranker_strategy to embedding or cross-encoder",
        )
    try:
        import httpx
        from cohere.core.api_error import ApiError
        from llama_index.postprocessor.cohere_rerank import CohereRerank
    except ImportError as error:
        raise ModelError("LlamaIndex's integration of Cohere is not installed", hint=_INSTALL) from error
    if not environment.get(KEY_VARIABLE):
        raise ModelError(f"{KEY_VARIABLE} is not set", hint=f"Set {KEY_VARIABLE} to the key of your account")
    model = name or DEFAULT_MODEL
    reranker = CohereRerank(top_n=MOST_PASSAGES, model=model, api_key=environment[KEY_VARIABLE])
    return CohereScorer(reranker, model, (ApiError, httpx.HTTPError))
