"""How a job works: which settings, how many rows at once, and whether a language model may write."""

from typing import Literal

from elt_llm_core.settings_section import Section
from pydantic import Field


class Running(Section):
    """Limits of the work."""

    profile: str = Field("default", description="The profile whose retrieval and model settings hold.")
    use_model: Literal["auto", "never"] = Field(
        "auto", description="auto: a language model writes where the profile has one; never: rules and quotes alone."
    )
    rows_at_once: int = Field(2, ge=1, le=32, description="Rows that are made at the same time.")
