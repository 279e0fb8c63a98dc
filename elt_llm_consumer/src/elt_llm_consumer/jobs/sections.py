"""The sections of a job file: the sources, the outputs, the run settings, and one section for each kind of job."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, Literal, get_args

from elt_llm_core.settings.tree import SettingsSection
from pydantic import Field, field_validator

_DEFAULTS: Final = tomllib.loads(files("elt_llm_consumer.jobs").joinpath("defaults.toml").read_text(encoding="utf-8"))
DEFAULT_FIELDS: Final[Mapping[str, Mapping[str, Any]]] = _DEFAULTS["fields"]
"""The default settings of the shipped catalog fields, by field name."""
EXAMPLE_JOBS: Final[Mapping[str, Mapping[str, Any]]] = _DEFAULTS["examples"]
"""The description, sources and outputs of each example job of `elt-llm init --examples`, by job name."""


def _listed(section: str, key: str) -> tuple[str, ...]:
    return tuple(_DEFAULTS[section][key])


class SourcesSection(SettingsSection):
    """The collections that a job reads. File paths are relative to the folder that contains config/."""

    handbook: tuple[str, ...] = Field((), description="Collections with the texts to read.")
    model: str | None = Field(None, description="The collection that holds the enterprise model.")
    inventory: tuple[str, ...] = Field((), description="Collections that hold the inventory.")
    aliases: str | None = Field(None, description="A file with further aliases, in the format of config/aliases.yaml.")
    alias_columns: tuple[str, ...] = Field(
        ("Alias", "Aliases", "Synonym", "Synonyms", "Also known as", "Other names", "Acronym"),
        description="Labels of inventory columns that hold other names, separated by semicolons.",
    )
    curated: str | None = Field(None, description="A file of values that replace the generated ones.")

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections of texts, model and inventory, without duplicates."""
        return tuple(dict.fromkeys([*self.handbook, *([self.model] if self.model else []), *self.inventory]))


OutputFormat = Literal["json", "csv", "xlsx", "html", "purview", "openmetadata", "datahub"]


class OutputsSection(SettingsSection):
    """The settings of the output files, which are in one folder and named after the job."""

    folder: str = Field("out", description="Relative to the folder that holds config/; created if missing.")
    formats: tuple[OutputFormat, ...] = Field(
        ("json", "csv", "xlsx", "html"), min_length=1, description="File formats to write."
    )
    glossary_name: str = Field(
        "Glossary", min_length=1, max_length=100, description="Name of the glossary in the data catalog."
    )


class RunSection(SettingsSection):
    """The settings of a run: the profile, whether a language model is used, and how many rows are made in parallel."""

    profile: str = Field("default", description="The profile whose retrieval and model settings are used.")
    use_model: Literal["auto", "never"] = Field(
        "auto", description="auto: use the profile's language model, if any; never: use rules and quotes only."
    )
    rows_at_once: int = Field(2, ge=1, le=32, description="Rows generated in parallel.")


DefinitionPattern = Literal["table", "list", "sentence", "is", "brackets", "abbreviation", "reference"]


class GlossarySection(SettingsSection):
    """The settings of a glossary job: where to look for definitions, which to skip, and how to clean their text."""

    patterns: tuple[DefinitionPattern, ...] = Field(
        get_args(DefinitionPattern),
        description="How definitions are found. table: rows under headers; list: lists and headings under a heading "
        'such as Glossary; sentence: "X means", "X is defined as"; is: "X is a", where it is unambiguous; brackets: '
        '(the "X"); abbreviation: long form (SHORT); reference: "X has the meaning given in".',
    )
    headings: tuple[str, ...] = Field(
        _listed("glossary", "headings"),
        description="Headings above lists of definitions. A heading may join several of them: Terms and Definitions.",
    )
    term_headers: tuple[str, ...] = Field(
        _listed("glossary", "term_headers"), description="Headings of columns that contain terms."
    )
    meaning_headers: tuple[str, ...] = Field(
        _listed("glossary", "meaning_headers"), description="Headings of columns that contain definitions."
    )
    abbreviation_headers: tuple[str, ...] = Field(
        _listed("glossary", "abbreviation_headers"), description="Headings of columns that contain abbreviations."
    )
    synonym_headers: tuple[str, ...] = Field(
        _listed("glossary", "synonym_headers"), description="Headings of columns that contain other names of the term."
    )
    see_also_headers: tuple[str, ...] = Field(
        _listed("glossary", "see_also_headers"), description="Headings of columns that name related terms."
    )
    shortest_definition: int = Field(3, ge=1, le=1000, description="Minimum characters of a definition.")
    longest_definition: int = Field(
        3000, ge=50, le=100_000, description="Maximum characters of a definition; longer text is skipped."
    )
    longest_term: int = Field(80, ge=5, le=300, description="Maximum characters of a term.")
    skip_terms: tuple[str, ...] = Field((), description="Terms to skip, in upper or lower case, singular or plural.")
    clean_up: Literal["off", "model"] = Field(
        "off",
        description="model: the language model corrects the text of a definition; changes that the document does not "
        "support are rejected, and the quote stays unchanged.",
    )
    most_places: int = Field(10, ge=1, le=1000, description="Maximum sections listed per term that use it.")


FieldKind = Literal["model", "inventory", "definition", "text"]


class CatalogField(SettingsSection):
    """A field that every entity has: the source of its value, and how to recognize the value in a text."""

    kind: FieldKind = Field(
        "text",
        description="model: a property in the model; inventory: a column of the inventory; definition: the definition "
        "in a text; text: sentences and table cells about the entity.",
    )
    column: str = Field(
        "",
        description="For kind model: id, name, type, domain, subgroup, diagram. For kind inventory: description, "
        "status, quality, level, parent, or the label of a column.",
    )
    question: str = Field(
        "", max_length=500, description="Search query; {entity} is replaced by the name. Empty: no search."
    )
    headers: tuple[str, ...] = Field((), description="Headings of table columns whose cells contain the value.")
    short_headers: tuple[str, ...] = Field(
        (), description="Headings of such columns that count only below a heading or title with a word of `headers`."
    )
    record_headers: tuple[str, ...] = Field(
        (),
        description="Headings of such columns that count only in tables whose rows name records or other things.",
    )
    listed_under: tuple[str, ...] = Field(
        (), description="Headings of table columns that list what the row's subject is responsible for, such as Duties."
    )
    definitions: bool = Field(False, description="Whether a sentence that only defines the entity can also be a value.")
    cues: tuple[str, ...] = Field(
        (),
        description="A sentence must contain one of these words. * at the end matches any ending, ... between two "
        "words up to six words, # a number, #### a year. Lower case matches any case, capitals match only capitals.",
    )
    answers: tuple[str, ...] = Field(
        (), description="Words such as is responsible for; the person or body named before them is the value."
    )
    answers_after: tuple[str, ...] = Field(
        (),
        description="Words such as owned by, or owner of ... is around the entity; the person after them is the value.",
    )
    classes_after: tuple[str, ...] = Field(
        (),
        description="Words such as classified as, or als ... eingestuft around the class; different classes contradict "
        "each other.",
    )
    states: bool = Field(
        False,
        description="Whether the value is about states of the entity: one of the words must describe what happens to "
        'it. A list of its states ("is ordered, in use or scrapped") needs none of the words.',
    )
    rule: bool = Field(
        False,
        description="Whether a sentence must demand, allow, forbid or limit something; a number counts as a limit.",
    )
    at_most: int = Field(3, ge=1, le=50, description="Maximum sentences to use, best first.")
    least_score: float = Field(0.6, ge=0, le=1, description="Minimum score of a sentence about the entity.")
    top_k: int = Field(8, ge=1, le=100, description="Chunks to retrieve.")
    profile: str = Field("", description="Profile whose retrieval settings the search uses; empty: the job's profile.")
    prompt: str = Field(
        "", max_length=4000, description="Instruction for the language model; {entity} is replaced by the name."
    )


class CatalogSection(SettingsSection):
    """The settings of a catalog job."""

    fields: Mapping[str, CatalogField | None] = Field(
        {},
        description="Fields added to the shipped ones. A field of the same name changes only the keys it contains; "
        "null removes a shipped field.",
    )
    entity_types: tuple[str, ...] = Field(
        (), description="Types of entities to include, such as DataObject; empty: all."
    )
    skip: tuple[str, ...] = Field((), description="Names of entities and terms to skip.")
    deeper: tuple[str, ...] = Field((), description="Names of entities that get twice as many chunks and values.")
    not_in_texts: tuple[str, ...] = Field(
        (), description="Names of entities that the texts are not expected to cover; their fields are not searched for."
    )
    context: str = Field(
        "",
        max_length=4000,
        description="Text before the chunks in the prompts of a language model, such as what the organisation does. It "
        "is no evidence: each sentence of the model must be supported by a chunk.",
    )
    search_again: bool = Field(
        False,
        description="Whether the language model chooses further searches, at most `answer.further_steps` of the "
        "profile, for a field of which the first chunks support nothing or only a part.",
    )
    least_likeness: float = Field(
        0.85, ge=0.5, le=1, description="Minimum similarity at which two names count as the same; 1: only equal names."
    )
    handbook_only: bool = Field(True, description="Whether defined terms that are missing from the model get rows.")
    record_words: tuple[str, ...] = Field(
        ("record", "file", "data", "details", "information", "entry", "document", "list"),
        description='Words for the records of an entity: sentences about a "Case File" also describe a case.',
    )
    rule_words: tuple[str, ...] = Field(
        _listed("catalog", "rule_words"), description="Words that show a demand, a permission or a prohibition."
    )
    relationship_sentences: int = Field(2, ge=0, le=20, description="Maximum sentences quoted for one relationship.")

    @field_validator("fields")
    @classmethod
    def _check_fields(cls, given: Mapping[str, CatalogField | None]) -> Mapping[str, CatalogField | None]:
        for name, field in given.items():
            if name not in DEFAULT_FIELDS and field is None:
                raise ValueError(f"field {name!r} cannot be removed: there is no shipped field of this name")
            if name not in DEFAULT_FIELDS and field and field.kind in {"model", "inventory"} and not field.column:
                raise ValueError(f"field {name!r} of kind {field.kind} needs a column")
        return given

    def all_fields(self) -> dict[str, CatalogField]:
        """Return the shipped fields with their changes, in order, followed by the added fields."""
        found: dict[str, CatalogField] = {}
        for name in {**DEFAULT_FIELDS, **self.fields}:
            given = self.fields.get(name)
            if name in self.fields and given is None:
                continue
            changes = {key: getattr(given, key) for key in given.model_fields_set} if given else {}
            found[name] = CatalogField.model_validate({**DEFAULT_FIELDS.get(name, {}), **changes})
        return found


CoverageClass = Literal["STRONG", "MODERATE", "THIN", "ABSENT"]


class CoverageThresholds(SettingsSection):
    """The lower bounds of the coverage classes STRONG and MODERATE, and the least score of a found chunk.

    A rule counts half if the name in it may mean something other than the entity, such as "loan" in lower case.
    """

    strong_rules: float = Field(3, ge=0, description="STRONG: minimum number of rules that name the entity.")
    strong_sections: int = Field(3, ge=1, description="STRONG: minimum number of sections with these rules.")
    strong_sections_if_defined: int = Field(
        2, ge=1, description="STRONG for defined entities: minimum number of sections."
    )
    moderate_rules: float = Field(
        1, gt=0, description="MODERATE: minimum number of rules that name the entity, or a definition."
    )
    least_score: float = Field(
        0.35, ge=0, le=1, description="Minimum cosine similarity of a chunk that counts as found."
    )


class CoverageSection(SettingsSection):
    """The settings of a coverage job: what to measure, and the bounds of the classes."""

    types: tuple[str, ...] = Field((), description="Types of entities to measure; empty: all.")
    skip: tuple[str, ...] = Field((), description="Names of entities to skip.")
    thresholds: CoverageThresholds = Field(CoverageThresholds(), description="Bounds of the classes.")
    rule_words: tuple[str, ...] = Field(
        _listed("coverage", "rule_words"), description="Words that make a statement a rule."
    )
    rule_openings: tuple[str, ...] = Field(
        _listed("coverage", "rule_openings"), description="Words that make a statement a rule if it starts with them."
    )
    passages: int = Field(20, ge=1, le=200, description="Chunks to retrieve for each entity.")
    least_nearness: float = Field(
        0.45, ge=0, le=1, description="Minimum cosine similarity between an entity and a rule without one."
    )
    evidence: int = Field(5, ge=1, le=50, description="Quotes to show for each class, highest score first.")
    least_rule_words: int = Field(6, ge=1, description="Minimum words of a listed rule without an entity.")


EntityKind = Literal["role", "organisation", "document", "event", "rule", "process", "data"]


class HandbookSection(SettingsSection):
    """The settings of a handbook job: which names and nouns become rows, words that decide their kind, and limits."""

    topics: tuple[str, ...] = Field(
        (),
        description="Topic words. Only candidates and relationships from sections and sentences about these topics "
        "are shown. Empty: all.",
    )
    passages_per_topic: int = Field(20, ge=0, le=200, description="Chunks to retrieve for each topic.")
    least_named: int = Field(
        2, ge=1, description="Minimum occurrences of a capitalized name within sentences; one more for a single word."
    )
    least_acting: int = Field(4, ge=1, description="Minimum rules in which a lower-case noun is subject or object.")
    least_used: int = Field(
        6,
        ge=1,
        description="Minimum mentions of other nouns whose last word decides their kind; three times as many for nouns "
        "of unknown kind.",
    )
    at_most: int = Field(
        400, ge=1, le=10_000, description="Maximum candidates: defined ones first, then the most used."
    )
    kinds: Mapping[EntityKind, tuple[str, ...]] = Field(
        {},
        description="Last words of names that decide their kind, such as role: [warden], added to the shipped ones; a "
        "shipped word moves to the kind listed here.",
    )
    ordinary_words: tuple[str, ...] = Field(
        (), description="Nouns that are not candidates by themselves, such as day and case, added to the shipped ones."
    )
    skip: tuple[str, ...] = Field((), description="Names to skip.")
    evidence: int = Field(5, ge=1, le=100, description="Quotes to show for each cell.")
    duty_words: tuple[str, ...] = Field(
        _listed("handbook", "duty_words"),
        min_length=1,
        description='Words in the heading of a list of duties, as in "The duties of the Board are:".',
    )
    most_statements: int = Field(20, ge=1, le=500, description="Maximum duties and powers to show for each role.")
    describe: Literal["off", "model"] = Field(
        "off",
        description="model: the language model writes a sentence about each candidate; claims that the texts do not "
        "support are removed.",
    )
