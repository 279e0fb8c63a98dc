"""Settings that this version accepts and does not act on yet: whoever sets one is told."""

from elt_llm_core.settings import Settings

_KEYS = {
    "llm": ("answer_language",),
    "query": (
        "use_lost_in_middle",
        "system_prompt",
    ),
    "answer": ("strict", "max_reasoning_steps", "reflect_steps"),
}


def settings_without_effect(settings: Settings) -> list[str]:
    """One sentence naming the keys that differ from their defaults for nothing; no sentence if there are none."""
    defaults = Settings()
    idle = [
        f"{section}.{key}"
        for section, keys in _KEYS.items()
        for key in keys
        if getattr(getattr(settings, section), key) != getattr(getattr(defaults, section), key)
    ]
    return [f"Set, but without effect in this version: {', '.join(idle)}."] if idle else []
