"""The best reranker that is there: a cross-encoder of this machine's own, else a hosted one if allowed, else none."""

from collections.abc import Mapping
from dataclasses import dataclass

from elt_llm_core.errors import ModelError
from elt_llm_core.models.cross_encoder import DEFAULT_MODEL
from elt_llm_core.models.model_folder import find_model_folder

from elt_llm_query.rerank.cohere import is_ready, open_cohere
from elt_llm_query.rerank.cross_encoder import open_cross_encoder
from elt_llm_query.rerank.scorer import ModelSources, PassageScorer


@dataclass(frozen=True)
class Choice:
    """The scorer that was found, or none and, where one was configured, why."""

    scorer: PassageScorer | None
    notes: tuple[str, ...] = ()


def choose_scorer(name: str | None, sources: ModelSources, environment: Mapping[str, str]) -> Choice:
    """A cross-encoder that is configured or lies in the folder of models, even if a hosted one is allowed.

    A hosted one is chosen only where the settings allow it, its library and key are there, and no model is named:
    a name is that of a cross-encoder, so its absence is told and never made good by a service.
    """
    if name is not None or find_model_folder(DEFAULT_MODEL, sources.models_dir) is not None:
        try:
            return Choice(open_cross_encoder(name, sources.models_dir))
        except ModelError as failure:
            return Choice(None, (f"Passages are ranked by cosine and keywords: {failure}.",))
    if sources.allow_remote and is_ready(environment):
        return Choice(open_cohere(None, environment, allowed=True))
    return Choice(None)
