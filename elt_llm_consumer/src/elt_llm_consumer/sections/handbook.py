"""What a handbook job may be told."""

from collections.abc import Mapping
from typing import Literal

from elt_llm_core.settings_section import Section
from pydantic import Field

Kind = Literal["role", "organisation", "document", "event", "rule", "process", "data"]


class HandbookSection(Section):
    """Settings of a handbook job: what counts as a candidate, which words tell its kind, and how much is shown."""

    topics: tuple[str, ...] = Field(
        (),
        description="Words; only candidates and relationships that the texts name in sections and sentences about "
        "them are shown. None: all.",
    )
    passages_per_topic: int = Field(20, ge=0, le=200, description="Passages to search for each topic by meaning.")
    least_named: int = Field(
        2, ge=1, description="Times a name in capitals stands within sentences; one of a single word once more."
    )
    least_acting: int = Field(
        4, ge=1, description="Times a thing without a capital acts, or is acted on, in a rule, to be a candidate."
    )
    least_used: int = Field(
        6,
        ge=1,
        description="Times a thing is spoken of that does nothing, but whose name tells its kind; three times as often "
        "where nothing tells it.",
    )
    at_most: int = Field(400, ge=1, le=10_000, description="Candidates at most: those defined, then the most used.")
    kinds: Mapping[Kind, tuple[str, ...]] = Field(
        {},
        description="Last words of names that tell their kind, such as role: [warden], added to those that ship; one "
        "that ships under another kind is taken from there.",
    )
    ordinary_words: tuple[str, ...] = Field(
        (), description="Nouns that are no candidates by themselves, added to those that ship, such as day and case."
    )
    skip: tuple[str, ...] = Field((), description="Names that are left out.")
    evidence: int = Field(5, ge=1, le=100, description="Places to show for each cell.")
    duty_words: tuple[str, ...] = Field(
        (
            "duties",
            "duty",
            "powers",
            "responsibilities",
            "functions",
            "terms of reference",
            "remit",
            "role",
            "aufgaben",
        ),
        min_length=1,
        description='Words that head a list of duties, as in "The duties of the Board are:".',
    )
    most_statements: int = Field(20, ge=1, le=500, description="Duties and powers to show for each role at most.")
    describe: Literal["off", "model"] = Field(
        "off",
        description="model: the language model writes a sentence about each candidate; what the texts do not say is "
        "left out.",
    )
