"""The settings of retrieval that can be turned in the laboratory, each with the range that the settings give it."""

from collections.abc import Sequence
from typing import Any, get_args

import gradio as gr
from elt_llm_core.settings import Profile, QuerySettings, Settings

KEYS = (
    "dense_weight",
    "rerank_weight",
    "leg_top_k",
    "similarity_top_k",
    "reranker_top_k",
    "fusion",
    "use_reranker",
    "reranker_strategy",
    "use_mmr",
    "mmr_threshold",
)
_MOST = {"leg_top_k": 200, "similarity_top_k": 50, "reranker_top_k": 50}
_LABELS = {
    "dense_weight": "Weight of vectors (dense_weight)",
    "rerank_weight": "Weight of the reranker (rerank_weight)",
    "leg_top_k": "Candidates of each leg (leg_top_k)",
    "similarity_top_k": "Passages kept, not reranked (similarity_top_k)",
    "reranker_top_k": "Passages kept, reranked (reranker_top_k)",
    "fusion": "Fusion",
    "use_reranker": "Rerank (use_reranker)",
    "reranker_strategy": "Reranker",
    "use_mmr": "Prefer passages that differ (use_mmr)",
    "mmr_threshold": "Relevance over variety (mmr_threshold)",
}


def build_knobs(side: str) -> list[Any]:
    """A control for each key, in their order, labelled with the side of the laboratory it belongs to."""
    return [_knob(key, f"{side}: {_LABELS[key]}", f"{side.lower()}-{key}") for key in KEYS]


def settings_of(values: Sequence[Any]) -> dict[str, Any]:
    """What the controls say, by key: whole numbers where the settings have such."""
    kinds = QuerySettings.model_fields
    return {key: int(value) if kinds[key].annotation is int else value for key, value in zip(KEYS, values, strict=True)}


def values_of(profile: Profile, settings: Settings) -> dict[str, Any]:
    """What a profile makes of each key."""
    query = profile.apply_to(settings).query
    return {key: getattr(query, key) for key in KEYS}


def _knob(key: str, label: str, elem_id: str) -> Any:
    default = getattr(QuerySettings(), key)
    choices = get_args(QuerySettings.model_fields[key].annotation)
    if choices:
        return gr.Dropdown(list(choices), value=default, label=label, elem_id=elem_id)
    if isinstance(default, bool):
        return gr.Checkbox(default, label=label, elem_id=elem_id)
    if key in _MOST:
        return gr.Slider(1, _MOST[key], value=default, step=1, label=label, elem_id=elem_id)
    return gr.Slider(0.0, 1.0, value=default, step=0.05, label=label, elem_id=elem_id)
