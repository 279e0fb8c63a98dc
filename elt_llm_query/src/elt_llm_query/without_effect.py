"""Settings that have nothing to act on as an engine was opened: whoever sets one is told."""

from elt_llm_core.settings import Settings

# How a model writes; without one answers are quoted from the passages.
_OF_WRITING = {
    "llm": ("model", "temperature", "top_p", "answer_language"),
    "query": ("use_lost_in_middle", "system_prompt"),
    "answer": (
        "strategy",
        "by_collection",
        "strict",
        "max_reasoning_steps",
        "branches",
        "reflect_steps",
        "further_steps",
    ),
}


def settings_without_effect(settings: Settings, *, writes: bool) -> list[str]:
    """One sentence naming the keys that differ from their defaults for nothing; no sentence if there are none.

    `writes`: a language model is in use.
    """
    defaults = Settings()
    idle = [
        f"{section}.{key}"
        for section, keys in _OF_WRITING.items()
        for key in keys
        if getattr(getattr(settings, section), key) != getattr(getattr(defaults, section), key)
    ]
    if writes or not idle:
        return []
    return [f"Set, but without effect while no language model is in use: {', '.join(idle)}."]
