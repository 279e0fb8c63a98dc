"""Compare a job's result with gold files: JSON lines that list what a correct result contains.

A gold definition is found if a row has the same term and the same meaning from the same document. Terms are compared
without case, number and article. Two meanings are the same if a value of the row shares 80 % of its words with the gold
text, counted over the longer text, or if one part of a quote contains this share of the gold text. An abbreviation is
found with its long form, and a reference by its quote.

A row is right if a gold line matches the row. Rows that match only optional lines are not counted. Joins with fact
sheets are read from the evidence of a row. Joins with terms are read from the column `handbook_term`, otherwise from
the definition that the row quotes.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from elt_llm_core.enterprise import EnterpriseRecord
from elt_llm_core.errors import UsageError
from elt_llm_core.text.normalise import words
from pydantic import Field, ValidationError

from elt_llm_consumer.evidence import Cell, Evidence, JobResult, Row, Table
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import Corpus

MAX_REMARKS = 40


@dataclass(frozen=True)
class GoldShare:
    """A named share: `right` correct items of `of` items."""

    name: str
    right: float
    of: float

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None if there are no items."""
        return self.right / self.of if self.of else None

    @property
    def line(self) -> str:
        """The share as text, such as "recall: 96.0 % (48 of 50)"."""
        if self.value is None:
            return f"{self.name}: nothing to count"
        return f"{self.name}: {100 * self.value:.1f} % ({self.right:g} of {self.of:g})"


@dataclass(frozen=True)
class GoldReport:
    """Shares of correct results, and one sentence per error."""

    job: str
    kind: str
    shares: tuple[GoldShare, ...]
    remarks: tuple[str, ...] = field(default=())

    def share(self, name: str) -> GoldShare:
        """Return the share of this name. Raises KeyError if it was not counted."""
        for one in self.shares:
            if one.name == name:
                return one
        raise KeyError(name)

    def lines(self, most_remarks: int = MAX_REMARKS) -> list[str]:
        """Return the report as text lines with at most `most_remarks` remarks."""
        shown = [f"  {remark}" for remark in self.remarks[:most_remarks]]
        left = len(self.remarks) - len(shown)
        more = [f"  ... and {left} more remarks; --json lists all remarks"] if left > 0 else []
        return [f"{self.job} ({self.kind}) against gold:", *(one.line for one in self.shares), *shown, *more]

    def to_json(self) -> Mapping[str, Any]:
        """Return all shares with counts, and all remarks."""
        shares = {
            one.name: {"value": None if one.value is None else round(one.value, 4), "right": one.right, "of": one.of}
            for one in self.shares
        }
        return {"job": self.job, "kind": self.kind, "shares": shares, "remarks": list(self.remarks)}


def f1_share(name: str, both: int, found: int, gold: int) -> GoldShare:
    """Return F1, the harmonic mean of precision and recall, for `both` common items of `found` and `gold` items."""
    return GoldShare(name, 2 * both, found + gold)


ARTICLES = frozenset({"a", "an", "the", "der", "die", "das", "ein", "eine"})
SAME_TEXT = 0.8
"""Share of words, 0 to 1, from which two texts are the same definition."""
_AFTER_ES = ("ses", "shes", "ches", "xes", "zes")


def gold_term_key(term: str) -> tuple[str, ...]:
    """Return the normal form of a term: folded words in the singular, without a leading article."""
    folded = [part for word in words(term) for part in word.replace("'s", "").split("-") if part]
    if len(folded) > 1 and folded[0] in ARTICLES:
        folded = folded[1:]
    return tuple(_singular(word) for word in folded)


def content_words(text: str) -> list[str]:
    """Return the folded words of a text without clause numbers, which are single letters and digits."""
    return [word for word in words(text) if len(word) > 1]


def word_share(gold: str, found: str) -> float:
    """Return the share of common words, with multiplicity, in the longer text; 0 to 1."""
    one, other = content_words(gold), content_words(found)
    return _shared_words(one, other) / max(len(one), len(other), 1)


def quote_holds(gold: str, quote: str, least: float = SAME_TEXT) -> bool:
    """Return whether one part of a quote contains the required share of the words of `gold`."""
    wanted, given = content_words(gold), content_words(quote)
    if not wanted:
        return False
    # The window is as long as the gold text and moves by an eighth of this length.
    step = max(1, len(wanted) // 8)
    starts = range(0, max(1, len(given) - len(wanted) + step), step)
    return any(_shared_words(wanted, given[start : start + len(wanted)]) >= least * len(wanted) for start in starts)


def text_says(text: str, wanted: str) -> bool:
    """Return whether `text` contains the words of `wanted` in sequence."""
    sought = words(wanted)
    return bool(sought) and f" {' '.join(sought)} " in f" {' '.join(words(text))} "


def _shared_words(one: Sequence[str], other: Sequence[str]) -> int:
    return (Counter(one) & Counter(other)).total()


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(_AFTER_ES):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


GoldClass = Literal["STRONG", "MODERATE", "THIN", "ABSENT"]
GapSide = Literal["MATCHED", "MODEL_ONLY", "HANDBOOK_ONLY"]
GoldPattern = Literal[
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
GoldLine = TypeVar("GoldLine", bound=EnterpriseRecord)


class GoldTerm(EnterpriseRecord):
    """A definition in a document. `also` lists further kinds of the definition, such as `nested`."""

    term: str = Field(min_length=1)
    pattern: GoldPattern
    document: str = Field(description="Name of the file, without folders.")
    page: int | None = Field(None, ge=1)
    definition: str = Field(min_length=1, description="The definition's text; for an abbreviation, its long form.")
    abbreviation: str = ""
    conflict: bool = False
    refers_to: str = ""
    also: tuple[str, ...] = ()
    optional: bool = Field(False, description="Debatable: neither required nor wrong.")


class GoldDistractor(EnterpriseRecord):
    """Text that looks like a definition but is not one."""

    document: str
    page: int | None = Field(None, ge=1)
    kind: str = ""
    sentence: str = Field(min_length=1)


class GoldEntity(EnterpriseRecord):
    """The expected catalog row of one entity: its inventory item and its defined term.

    `entity` is None if the model has no such entity.
    """

    entity: str | None
    domain: str = ""
    container: bool = False
    fact_sheet: str | None = None
    fact_sheet_id: str | None = None
    inventory_join: Literal["id", "name", "alias", "none"] = "none"
    term: str | None = None
    term_join: Literal["name", "alias", "none"] = "none"
    also_right: tuple[str, ...] = Field((), description="Terms that are also correct.")
    must_not_match: tuple[str, ...] = Field((), description="Similar names of other things.")


class GoldPlace(EnterpriseRecord):
    """The location of a quote in the gold file: document, page and words."""

    document: str
    page: int | None = Field(None, ge=1)


class GoldWords(EnterpriseRecord):
    """Words that a correct cell may contain."""

    words: str = Field(min_length=1)
    places: tuple[GoldPlace, ...] = ()


class GoldField(EnterpriseRecord):
    """The expected field of an entity: whether the sources contain it.

    A correct cell contains one of the texts `any_of`.
    """

    entity: str
    field: str
    verdict: Literal["found", "absent", "either"]
    any_of: tuple[GoldWords, ...] = ()


class GoldCoverage(EnterpriseRecord):
    """The correct coverage class of an entity."""

    entity: str
    coverage: GoldClass
    also_right: tuple[GoldClass, ...] = ()


class GoldGap(EnterpriseRecord):
    """The expected gap of a name: whether the model, the handbook, or both contain the name."""

    name: str
    gap: GapSide
    optional: bool = False


def read_gold(folder: Path, name: str, kind: type[GoldLine]) -> list[GoldLine]:
    """Read a gold file. Raises UsageError if the file is missing or a line is invalid."""
    path = folder / name
    if not path.is_file():
        raise UsageError(
            f"There is no {name} in {folder}.", hint="Name the folder with the gold files, such as samples/jobs/gold."
        )
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_parse_line(text, number, path, kind) for number, text in enumerate(lines, start=1) if text.strip()]


def _parse_line(text: str, number: int, path: Path, kind: type[GoldLine]) -> GoldLine:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}, line {number} is not valid: {place or 'the line'}: {first['msg']}") from error


class RowsByName:
    """Finds the first row with a name: by the exact name, otherwise by the normal form."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._written: dict[str, Row] = {}
        self._same: dict[tuple[str, ...], Row] = {}
        for row in rows:
            self._written.setdefault(row.name, row)
            self._same.setdefault(gold_term_key(row.name), row)

    def get(self, name: str) -> Row | None:
        """Return the row with this name, or None."""
        return self._written.get(name) or self._same.get(gold_term_key(name))


def cell_values(cell: Cell | None) -> tuple[str, ...]:
    """Return the values of a cell as texts; empty for an absent cell."""
    if cell is None or cell.value is None:
        return ()
    return cell.value if isinstance(cell.value, tuple) else (str(cell.value),)


def column_texts(row: Row, columns: Collection[str]) -> tuple[str, ...]:
    """Return the values of the cells in these columns as texts."""
    return tuple(text for column in columns for text in cell_values(row.cells.get(column)))


def first_value(row: Row, classes: Collection[str]) -> str | None:
    """Return the first value of the row that is one of these classes, or None."""
    return next((text for cell in row.cells.values() for text in cell_values(cell) if text in classes), None)


def is_from_document(evidence: Evidence, document: str) -> bool:
    """Return whether evidence is from a file of this name, in any folder."""
    return evidence.source.split("#")[0].rsplit("/", 1)[-1] == document


def check_quotes(result: JobResult, corpora: Sequence[Corpus]) -> tuple[GoldShare, list[str]]:
    """Return the share of found cells whose quotes are all at their spans, and a remark for every other cell."""
    right = of = 0
    remarks = []
    for table in result.tables:
        for row in table.rows:
            for column, cell in row.cells.items():
                if cell.verdict != "found" or cell.method == "curated":
                    continue
                of += 1
                lost = [one.place for one in cell.evidence if not any(corpus.holds(one) for corpus in corpora)]
                right += not lost
                remarks += [f"quote not on its page: {row.name}, {column}: {place}" for place in lost[:1]]
    return GoldShare("found cells with their quotes on the page", right, of), remarks


COVERAGE_TABLE, GAPS_TABLE = "coverage", "gaps"


def compare_coverage(result: JobResult, folder: Path) -> tuple[list[GoldShare], list[str]]:
    """Return the share of entities with the gold class, the share of gaps that equal gold, and remarks on errors."""
    classes, wrong_classes = _classes(result.table(COVERAGE_TABLE), folder)
    gaps, wrong_gaps = _gaps(result.table(GAPS_TABLE), folder)
    return [classes, *gaps], [*wrong_classes, *wrong_gaps]


def _classes(table: Table, folder: Path) -> tuple[GoldShare, list[str]]:
    given = _CoverageClasses(table, get_args(GoldClass))
    right, remarks = 0, []
    gold = read_gold(folder, "coverage.jsonl", GoldCoverage)
    for one in gold:
        found = given.get(one.entity)
        right += found in (one.coverage, *one.also_right)
        if found not in (one.coverage, *one.also_right):
            remarks.append(f"coverage of {one.entity}: {found or 'no row'}, gold says {one.coverage}")
    return GoldShare("coverage as in gold", right, len(gold)), remarks


def _gaps(table: Table, folder: Path) -> tuple[list[GoldShare], list[str]]:
    given = _CoverageClasses(table, get_args(GapSide))
    counted = [one for one in read_gold(folder, "gaps.jsonl", GoldGap) if not one.optional]
    shares, remarks = [], []
    for gap in get_args(GapSide):
        of_gap = [one for one in counted if one.gap == gap]
        wrong = [one for one in of_gap if given.get(one.name) != gap]
        shares.append(GoldShare(f"gaps, {gap}", len(of_gap) - len(wrong), len(of_gap)))
        remarks += [f"gap of {one.name}: {given.get(one.name) or 'no row'}, gold says {gap}" for one in wrong]
    return shares, remarks


class _CoverageClasses:
    """The coverage class of a row, by name."""

    def __init__(self, table: Table, classes: tuple[str, ...]) -> None:
        self._rows, self._classes = RowsByName(table.rows), classes

    def get(self, name: str) -> str | None:
        row = self._rows.get(name)
        return None if row is None else first_value(row, self._classes)


def compare_fields(entities: Table, folder: Path) -> tuple[list[GoldShare], list[str]]:
    """Return the shares of cells that agree with gold, and remarks on errors.

    A cell agrees if it is present or absent as in gold; every cell that is not absent is present. Another share counts
    the found cells with the right words. Fields missing from the catalog are not counted. A missing entity has no
    values.
    """
    rows = RowsByName(entities.rows)
    gold = [one for one in read_gold(folder, "fields.jsonl", GoldField) if one.verdict != "either"]
    counted = [one for one in gold if one.field in entities.columns]
    cells = [row.cells.get(one.field) if (row := rows.get(one.entity)) else None for one in counted]
    judged = list(zip(counted, cells, strict=True))
    both = [(one, cell) for one, cell in judged if one.verdict == "found" and cell is not None and _has_value(cell)]
    right = [one for one, cell in both if _has_words(one, cell)]
    fields = dict.fromkeys(one.field for one in counted)
    shares = [
        _agreement("found or absent as in gold", judged),
        *(_agreement(f"found or absent, {name}", [it for it in judged if it[0].field == name]) for name in fields),
        GoldShare("found cells with the right words", len(right), len(both)),
    ]
    remarks = [
        f"{one.entity}, {one.field}: gold says {one.verdict}" for one, cell in judged if not _cell_agrees(one, cell)
    ]
    words = [
        f"{one.entity}, {one.field}: without the words of gold: {_value_beginning(cell)}"
        for one, cell in both
        if one not in right
    ]
    return shares, [*remarks, *words]


def _agreement(name: str, judged: Sequence[tuple[GoldField, Cell | None]]) -> GoldShare:
    return GoldShare(name, sum(_cell_agrees(one, cell) for one, cell in judged), len(judged))


def _cell_agrees(gold: GoldField, cell: Cell | None) -> bool:
    return (cell is not None and _has_value(cell)) == (gold.verdict == "found")


def _has_value(cell: Cell) -> bool:
    return cell.verdict != "absent"


def _has_words(gold: GoldField, cell: Cell) -> bool:
    texts = (*cell_values(cell), *(place.quote for place in cell.evidence))
    return any(text_says(text, one.words) for one in gold.any_of for text in texts)


def _value_beginning(cell: Cell) -> str:
    return " / ".join(cell_values(cell))[:100]


TERMS_TABLE, DEFINITION_COLUMN, ABBREVIATION_COLUMN = "terms", "definition", "abbreviation"
NAME_COLUMNS = ("term", "abbreviation", "synonyms")
SHORT_SENTENCE = 4


@dataclass(frozen=True)
class _GlossaryComparison:
    """Matches the rows of a glossary with gold lines."""

    rows: tuple[Row, ...]
    gold: tuple[GoldTerm, ...]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The index pairs of matching rows and gold lines."""
        return tuple(
            (place, number)
            for number, gold in enumerate(self.gold)
            for place, row in enumerate(self.rows)
            if _row_names(row, gold) and _row_defines(row, gold)
        )

    @cached_property
    def found(self) -> frozenset[int]:
        """The indexes of the gold lines that at least one row matches."""
        return frozenset(number for _, number in self.pairs)

    def lines_of(self, row: int) -> list[GoldTerm]:
        """Return the gold lines that a row matches."""
        return [self.gold[number] for place, number in self.pairs if place == row]


def compare_glossary(result: JobResult, folder: Path) -> tuple[list[GoldShare], list[str]]:
    """Return precision, recall by pattern, the shares of contradictions and distractors, and remarks on errors."""
    compared = _GlossaryComparison(result.table(TERMS_TABLE).rows, tuple(read_gold(folder, "glossary.jsonl", GoldTerm)))
    distractors = read_gold(folder, "glossary_distractors.jsonl", GoldDistractor)
    precision, false = _precision(compared)
    recall, missed = _recall(compared)
    conflicts, wrong = _conflicts(compared)
    taken = [
        f"distractor listed as a definition: {row.name}: {bad.sentence}"
        for row, bad in _distractors_found(compared, distractors)
    ]
    left = GoldShare("distractors avoided", len(distractors) - len(taken), len(distractors))
    return [precision, *recall, *conflicts, left], [*missed, *false, *wrong, *taken]


def _row_names(row: Row, gold: GoldTerm) -> bool:
    called = {gold_term_key(name) for name in (row.name, *column_texts(row, NAME_COLUMNS))}
    return bool(called & {gold_term_key(name) for name in (gold.term, gold.abbreviation) if name})


def _row_defines(row: Row, gold: GoldTerm) -> bool:
    places = [place for place in row.evidence if is_from_document(place, gold.document)]
    if gold.pattern == "abbreviation":
        called = {gold_term_key(name) for name in (row.name, *column_texts(row, (*NAME_COLUMNS, DEFINITION_COLUMN)))}
        return bool(places) and {gold_term_key(gold.term), gold_term_key(gold.abbreviation)} <= called
    quoted = any(quote_holds(gold.definition, place.quote) for place in places)
    if gold.pattern == "cross_reference":
        return quoted
    written = any(word_share(gold.definition, text) >= SAME_TEXT for text in column_texts(row, (DEFINITION_COLUMN,)))
    return quoted or (written and bool(places))


def _precision(compared: _GlossaryComparison) -> tuple[GoldShare, list[str]]:
    right, of, remarks = 0, 0, []
    known = [{gold_term_key(gold.term), gold_term_key(gold.abbreviation)} for gold in compared.gold]
    for number, row in enumerate(compared.rows):
        said = compared.lines_of(number)
        if said and all(gold.optional for gold in said):
            continue
        of += 1
        right += bool(said)
        if not said:
            named = any(gold_term_key(row.name) in keys for keys in known)
            what = "another definition than gold" if named else "not a term of gold"
            shown = " / ".join(column_texts(row, (DEFINITION_COLUMN,)))[:100]
            remarks.append(f"{what}: {row.name}: {shown}")
    return GoldShare("precision", right, of), remarks


def _recall(compared: _GlossaryComparison) -> tuple[list[GoldShare], list[str]]:
    wanted = [(number, gold) for number, gold in enumerate(compared.gold) if not gold.optional]
    kinds = sorted({kind for _, gold in wanted for kind in (gold.pattern, *gold.also)})
    shares = [_recall_share("recall", [number for number, _ in wanted], compared)]
    for kind in kinds:
        of_kind = [number for number, gold in wanted if kind in (gold.pattern, *gold.also)]
        shares.append(_recall_share(f"recall, {kind}", of_kind, compared))
    remarks = [
        f"missed ({gold.pattern}): {gold.term}: {gold.document}: {gold.definition[:100]}"
        for number, gold in wanted
        if number not in compared.found
    ]
    return shares, remarks


def _recall_share(name: str, numbers: Sequence[int], compared: _GlossaryComparison) -> GoldShare:
    return GoldShare(name, sum(number in compared.found for number in numbers), len(numbers))


def _conflicts(compared: _GlossaryComparison) -> tuple[list[GoldShare], list[str]]:
    """Return the share of gold contradictions that are shown, and the share of shown contradictions that are right."""
    gold = {gold_term_key(one.term): one.term for one in compared.gold if one.conflict}
    shown = {
        gold_term_key(row.name): row.name
        for row in compared.rows
        if (cell := row.cells.get(DEFINITION_COLUMN)) is not None and cell.verdict == "conflict"
    }
    both = len(gold.keys() & shown.keys())
    remarks = [f"contradiction not shown: {gold[key]}" for key in gold if key not in shown]
    remarks += [f"no contradiction: {shown[key]}" for key in shown if key not in gold]
    return [
        GoldShare("contradictions shown", both, len(gold)),
        GoldShare("contradictions that are", both, len(shown)),
    ], remarks


def _distractors_found(
    compared: _GlossaryComparison, distractors: Sequence[GoldDistractor]
) -> list[tuple[Row, GoldDistractor]]:
    """Return each distractor that a row without a gold line quotes, with the first such row."""
    taken = []
    rows = [row for number, row in enumerate(compared.rows) if not compared.lines_of(number)]
    for bad in distractors:
        row = next((row for row in rows if _rests_on(row, bad)), None)
        if row is not None:
            taken.append((row, bad))
    return taken


def _rests_on(row: Row, bad: GoldDistractor) -> bool:
    for place in row.evidence:
        if not is_from_document(place, bad.document):
            continue
        long_enough = len(place.quote.split()) >= SHORT_SENTENCE or word_share(place.quote, bad.sentence) >= SAME_TEXT
        if (long_enough and text_says(bad.sentence, place.quote)) or word_share(bad.sentence, place.quote) >= SAME_TEXT:
            return True
    return False


MATCHED_TERM_COLUMN, FORMAL_DEFINITION_COLUMN = "handbook_term", "formal_definition"
_SHEET = "#fact-sheet/"


def compare_matching(entities: Table, folder: Path) -> tuple[list[GoldShare], list[str]]:
    """Return F1 of joins with fact sheets, with terms and overall, and the share of near duplicates kept apart."""
    gold = [one for one in read_gold(folder, "entities.jsonl", GoldEntity) if one.entity is not None]
    terms = [one for one in read_gold(folder, "glossary.jsonl", GoldTerm) if not one.optional]
    rows = RowsByName(entities.rows)
    sheets = _JoinCounts("fact sheet")
    defined = _JoinCounts("term")
    near, crossed = 0, []
    for one in gold:
        row = rows.get(one.entity or "")
        sheets.count(one.entity or "", {one.fact_sheet_id} if one.fact_sheet_id else set(), _sheets_of(row))
        found = _terms_of(row, terms)
        wanted: set[object] = set()
        if one.term and _has_meaning(one.term, terms):
            wanted.add(gold_term_key(one.term))
        tolerated: set[object] = {gold_term_key(name) for name in (*one.also_right, one.term or "")}
        defined.count(one.entity or "", wanted, found - (tolerated - wanted))
        near += len(one.must_not_match)
        crossed += [f"near-duplicates joined: {one.entity}, {name}" for name in _joined_near(one, found)]
    shares = [
        f1_share("matching F1", sheets.both + defined.both, sheets.found + defined.found, sheets.gold + defined.gold),
        f1_share("matching F1, fact sheets", sheets.both, sheets.found, sheets.gold),
        f1_share("matching F1, terms", defined.both, defined.found, defined.gold),
        GoldShare("near-duplicates kept apart", near - len(crossed), near),
    ]
    return shares, [*sheets.remarks, *defined.remarks, *crossed]


class _JoinCounts:
    """Counts the joins that were found, the joins in gold, and the joins in both."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.both = self.found = self.gold = 0
        self.remarks: list[str] = []

    def count(self, entity: str, wanted: set[object], found: set[object]) -> None:
        """Count the joins of one entity: found, expected by the gold file, and both."""
        self.both += len(wanted & found)
        self.found += len(found)
        self.gold += len(wanted)
        self.remarks += [
            f"not joined with its {self._what}: {entity}: {_pair_text(one)}" for one in _difference_of(wanted, found)
        ]
        self.remarks += [
            f"joined with a wrong {self._what}: {entity}: {_pair_text(one)}" for one in _difference_of(found, wanted)
        ]


def _difference_of(one: set[object], other: set[object]) -> list[object]:
    return sorted(one - other, key=str)


def _pair_text(one: object) -> str:
    return " ".join(one) if isinstance(one, tuple) else str(one)


def _sheets_of(row: Row | None) -> set[object]:
    sources = [place.source for place in row.evidence] if row else []
    return {source.split(_SHEET, 1)[1] for source in sources if _SHEET in source}


def _terms_of(row: Row | None, terms: Sequence[GoldTerm]) -> set[object]:
    if row is None:
        return set()
    if named := column_texts(row, (MATCHED_TERM_COLUMN,)):
        return {gold_term_key(name) for name in named}
    cell = row.cells.get(FORMAL_DEFINITION_COLUMN)
    quotes = [place.quote for place in cell.evidence] if cell else []
    return {
        gold_term_key(one.term)
        for one in terms
        if _is_gold_join(one) and any(quote_holds(one.definition, it) for it in quotes)
    }


def _is_gold_join(one: GoldTerm) -> bool:
    return one.pattern not in ("abbreviation", "cross_reference")


def _has_meaning(term: str, terms: Sequence[GoldTerm]) -> bool:
    """Return whether the gold file has a definition of a term. If so, a catalog must show the join with the term."""
    return any(_is_gold_join(one) and gold_term_key(one.term) == gold_term_key(term) for one in terms)


def _joined_near(gold: GoldEntity, found: set[object]) -> list[str]:
    return [name for name in gold.must_not_match if gold_term_key(name) in found]


ENTITIES_TABLE = "entities"


def compare_with_gold(result: JobResult, folder: Path, corpora: Sequence[Corpus]) -> GoldReport:
    """Compare a result with gold files. `corpora` are the texts that the evidence of the result quotes.

    Raises UsageError if a gold file is missing or invalid, and for a kind of job without gold.
    """
    shares, remarks = _compare(result, folder)
    quotes, lost = check_quotes(result, corpora)
    return GoldReport(result.job, result.kind, (*shares, quotes), (*remarks, *lost))


def job_corpora(context: JobContext) -> tuple[Corpus, ...]:
    """Return all corpora that a job may quote: texts, model and inventory."""
    structured = (context.model, context.inventory)
    return (context.corpus, *(one.corpus for one in structured if one is not None))


def _compare(result: JobResult, folder: Path) -> tuple[list[GoldShare], list[str]]:
    match result.kind:
        case "glossary":
            return compare_glossary(result, folder)
        case "catalog":
            entities = result.table(ENTITIES_TABLE)
            matched, wrong_matches = compare_matching(entities, folder)
            fields, wrong_fields = compare_fields(entities, folder)
            return [*matched, *fields], [*wrong_matches, *wrong_fields]
        case "coverage":
            return compare_coverage(result, folder)
        case _:
            raise UsageError(
                f"There is no gold data (expected results) for a {result.kind} job.",
                hint="Run without --gold, or run another kind of job.",
            )
