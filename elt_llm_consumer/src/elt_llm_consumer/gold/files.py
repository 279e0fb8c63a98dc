"""Gold files: JSON lines that say what a right result holds."""

from pathlib import Path
from typing import Literal, TypeVar

from elt_llm_core.enterprise_model import Record
from elt_llm_core.errors import UsageError
from pydantic import Field, ValidationError

Class = Literal["STRONG", "MODERATE", "THIN", "ABSENT"]
Gap = Literal["MATCHED", "MODEL_ONLY", "HANDBOOK_ONLY"]
Pattern = Literal[
    "table",
    "means",
    "defined_as",
    "shall_have_meaning",
    "in_these",
    "glossary_list",
    "bold",
    "abbreviation",
    "cross_reference",
]
GoldLine = TypeVar("GoldLine", bound=Record)


class GoldTerm(Record):
    """One definition in one document. `also` names further kinds it is of, such as `nested`."""

    term: str = Field(min_length=1)
    pattern: Pattern
    document: str = Field(description="Name of the file, without folders.")
    page: int | None = Field(None, ge=1)
    definition: str = Field(min_length=1, description="As it is written; of an abbreviation its long form.")
    abbreviation: str = ""
    conflict: bool = False
    refers_to: str = ""
    also: tuple[str, ...] = ()
    optional: bool = Field(False, description="A matter of opinion: neither asked for nor wrong.")


class GoldDistractor(Record):
    """Words that look like a definition and are none."""

    document: str
    page: int | None = Field(None, ge=1)
    kind: str = ""
    sentence: str = Field(min_length=1)


class GoldEntity(Record):
    """What an entity of the model is in the inventory and among the defined terms; `entity` None: drawn nowhere."""

    entity: str | None
    domain: str = ""
    container: bool = False
    fact_sheet: str | None = None
    fact_sheet_id: str | None = None
    inventory_join: Literal["id", "name", "alias", "none"] = "none"
    term: str | None = None
    term_join: Literal["name", "alias", "none"] = "none"
    also_right: tuple[str, ...] = Field((), description="Terms that would be right too.")
    must_not_match: tuple[str, ...] = Field((), description="Names that look alike and are something else.")


class GoldPlace(Record):
    """Where words stand."""

    document: str
    page: int | None = Field(None, ge=1)


class GoldWords(Record):
    """Words of which a right cell may hold these."""

    words: str = Field(min_length=1)
    places: tuple[GoldPlace, ...] = ()


class GoldField(Record):
    """Whether a field of an entity is in the sources; of what is found, `any_of` is in a right cell."""

    entity: str
    field: str
    verdict: Literal["found", "absent", "either"]
    any_of: tuple[GoldWords, ...] = ()


class GoldCoverage(Record):
    """The class a careful reader would give an entity."""

    entity: str
    coverage: Class
    also_right: tuple[Class, ...] = ()


class GoldGap(Record):
    """On which side a name is known."""

    name: str
    gap: Gap
    optional: bool = False


def read_gold(folder: Path, name: str, kind: type[GoldLine]) -> list[GoldLine]:
    """The lines of one gold file. Raises UsageError if it is not there, or names the line that is wrong."""
    path = folder / name
    if not path.is_file():
        raise UsageError(
            f"There is no {name} in {folder}.", hint="Name the folder with the gold files, such as samples/jobs/gold."
        )
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_line(text, number, path, kind) for number, text in enumerate(lines, start=1) if text.strip()]


def _line(text: str, number: int, path: Path, kind: type[GoldLine]) -> GoldLine:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}, line {number}: {place or 'the line'}: {first['msg']}") from error
