"""What a coverage job may be told."""

from elt_llm_core.settings_section import Section
from pydantic import Field

RULE_WORDS = (
    "must",
    "shall",
    "may",
    "may not",
    "must not",
    "shall not",
    "is required",
    "are required",
    "is entitled",
    "is responsible",
    "is not permitted",
    "is forbidden",
    "are forbidden",
    "is prohibited",
    "needs",
    "requires",
    "muss",
    "darf",
    "soll",
    "ist verpflichtet",
)
RULE_OPENINGS = ("No", "Nobody", "Nothing", "Only", "Kein", "Keine", "Niemand", "Nur")


class Thresholds(Section):
    """From what on an entity belongs to a class. A statement that may mean something else counts half."""

    strong_rules: float = Field(3, ge=0, description="STRONG: so many rules that name it, or more.")
    strong_sections: int = Field(3, ge=1, description="STRONG: in so many sections, or more.")
    strong_sections_if_defined: int = Field(2, ge=1, description="STRONG, if it is defined: so many sections.")
    moderate_rules: float = Field(1, gt=0, description="MODERATE: so many rules that name it, or a definition.")
    least_score: float = Field(0.35, ge=0, le=1, description="Cosine from which a passage counts as found.")


class CoverageSection(Section):
    """What is measured, and what the classes mean."""

    types: tuple[str, ...] = Field((), description="Types of entities to measure; none named: all.")
    skip: tuple[str, ...] = Field((), description="Names of entities to leave out.")
    thresholds: Thresholds = Field(Thresholds(), description="Bounds of the classes.")
    rule_words: tuple[str, ...] = Field(RULE_WORDS, description="Words that make a statement a rule.")
    rule_openings: tuple[str, ...] = Field(
        RULE_OPENINGS, description="Words that make a statement a rule where it begins with them."
    )
    passages: int = Field(20, ge=1, le=200, description="Passages to search for each entity.")
    least_nearness: float = Field(
        0.45, ge=0, le=1, description="Cosine from which an entity is near a rule without one."
    )
    evidence: int = Field(5, ge=1, le=50, description="Places to show for each class, the surest first.")
    least_rule_words: int = Field(6, ge=1, description="Words that a rule without an entity must have to be listed.")
