"""Compare a job's result with gold files: JSON lines that list what a correct result contains.

A gold definition counts as found if a row has the same term and the same meaning from the same document. Terms are
compared without regard to case, number and articles. Two meanings are the same if a value of the row and the gold text
share at least 80 % of the longer text's words, or if a part of a quote, as long as the gold text, contains this share
of the gold text's words. An abbreviation must have the right long form, and a reference must have the right quote.

A row is right if a line of the gold file matches it. Rows that match only optional lines are not counted. The fact
sheet that an entity was joined with (recognized as the same thing) is read from the evidence of the entity's row. The
defined term that it was joined with is read from the column `handbook_term` or, if this is empty, from the definition
that the row quotes.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from elt_llm_core.enterprise import EnterpriseRecord
from elt_llm_core.errors import UsageError
from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.normalise import words
from pydantic import Field, ValidationError

from elt_llm_consumer.evidence import Cell, Evidence, JobResult, Row, Table
from elt_llm_consumer.jobs.corpus import Corpus
from elt_llm_consumer.jobs.sections import CoverageClass

_MAX_REMARKS = 40


@dataclass(frozen=True)
class GoldShare:
    """A named share of correct items: `right` items out of `of` are correct."""

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
    """The comparison of a result with gold files: shares of correct items, and one remark for each error."""

    job: str
    kind: str
    shares: tuple[GoldShare, ...]
    remarks: tuple[str, ...] = field(default=())

    def share(self, name: str) -> GoldShare:
        """Return the share with this name, such as "recall". Raises KeyError if it was not counted."""
        return {one.name: one for one in self.shares}[name]

    def lines(self, most_remarks: int = _MAX_REMARKS) -> list[str]:
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


_ARTICLES = language_words("definite_articles") | language_words("indefinite_articles")
_SAME_TEXT = 0.8
"""The minimum share of common words, 0 to 1, at which two texts count as the same definition."""
_AFTER_ES = ("ses", "shes", "ches", "xes", "zes")


def gold_term_key(term: str) -> tuple[str, ...]:
    """Return the normal form of a term, without case, number and article: "The Case Files" -> ("case", "file")."""
    folded = [part for word in words(term) for part in word.replace("'s", "").split("-") if part]
    if len(folded) > 1 and folded[0] in _ARTICLES:
        folded = folded[1:]
    return tuple(_singular(word) for word in folded)


def _content_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without single letters and digits, which usually number clauses."""
    return [word for word in words(text) if len(word) > 1]


def word_share(gold: str, found: str) -> float:
    """Return the share, 0 to 1, of the longer text's words that both texts contain; repeated words count each time."""
    one, other = _content_words(gold), _content_words(found)
    return _shared_words(one, other) / max(len(one), len(other), 1)


def quote_holds(gold: str, quote: str) -> bool:
    """Return whether a part of a quote contains at least the share `_SAME_TEXT` of the gold text's words.

    The part is a sequence of words as long as the gold text, anywhere in the quote.
    """
    wanted, given = _content_words(gold), _content_words(quote)
    if not wanted:
        return False
    # A window as long as the gold text moves over the quote, in steps of an eighth of its length.
    step = max(1, len(wanted) // 8)
    starts = range(0, max(1, len(given) - len(wanted) + step), step)
    least = _SAME_TEXT * len(wanted)
    return any(_shared_words(wanted, given[start : start + len(wanted)]) >= least for start in starts)


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
    """A definition in a correct glossary.

    `pattern` is the way in which the document defines the term, such as `means` for "X means ...". `also` lists more
    properties of the definition, such as `nested` or `variant`. Recall is counted for each pattern and property.
    """

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
    """A text that looks like a definition but is not one, so that a correct glossary does not contain it."""

    document: str
    page: int | None = Field(None, ge=1)
    kind: str = ""
    sentence: str = Field(min_length=1)


class GoldEntity(EnterpriseRecord):
    """The fact sheet and the defined term with which the catalog must join an entity of the enterprise model.

    `entity` is None in a line about a fact sheet or term to which no entity of the model belongs. Such a line is not
    compared with a row.
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
    """The document and the page in which expected words occur."""

    document: str
    page: int | None = Field(None, ge=1)


class GoldWords(EnterpriseRecord):
    """Words that a correct cell may contain."""

    words: str = Field(min_length=1)
    places: tuple[GoldPlace, ...] = ()


class GoldField(EnterpriseRecord):
    """The expected cell of one entity and field. `verdict` gives whether the sources contain the value.

    A correct cell contains one of the texts in `any_of`.
    """

    entity: str
    field: str
    verdict: Literal["found", "absent", "either"]
    any_of: tuple[GoldWords, ...] = ()


class GoldCoverage(EnterpriseRecord):
    """The correct coverage class of an entity."""

    entity: str
    coverage: CoverageClass
    also_right: tuple[CoverageClass, ...] = ()


class GoldGap(EnterpriseRecord):
    """An expected row of the table `gaps`: whether the model, the handbook, or both contain the name."""

    name: str
    gap: GapSide
    optional: bool = False


def _read_gold(folder: Path, name: str, kind: type[GoldLine]) -> list[GoldLine]:
    """Read a gold file. Raises UsageError if the file is missing or a line is invalid."""
    path = folder / name
    if not path.is_file():
        raise UsageError(
            f"There is no {name} in {folder}.", hint="Name the folder with the gold files, such as samples/jobs/gold."
        )
    found = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            found += [kind.model_validate_json(text)] if text.strip() else []
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            raise UsageError(f"{path}, line {number} is not valid: {place}: {first['msg']}") from error
    return found


class _RowsByName:
    """Finds the first row with a given name; without such a row, by the normal form ("The Case Files": case file)."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._written: dict[str, Row] = {}
        self._same: dict[tuple[str, ...], Row] = {}
        for row in rows:
            self._written.setdefault(row.name, row)
            self._same.setdefault(gold_term_key(row.name), row)

    def get(self, name: str) -> Row | None:
        """Return the row with this name, or None."""
        return self._written.get(name) or self._same.get(gold_term_key(name))

    def class_of(self, name: str, classes: Collection[str]) -> str | None:
        """Return the value in the row with this name that is one of `classes`, such as "THIN"; None without one."""
        row = self.get(name)
        texts = _column_texts(row, row.cells) if row else ()
        return next((text for text in texts if text in classes), None)


def _cell_values(cell: Cell | None) -> tuple[str, ...]:
    """Return the values of a cell as texts; empty for an absent cell."""
    if cell is None or cell.value is None:
        return ()
    return cell.value if isinstance(cell.value, tuple) else (str(cell.value),)


def _column_texts(row: Row, columns: Collection[str]) -> tuple[str, ...]:
    """Return the values of the cells in these columns as texts."""
    return tuple(text for column in columns for text in _cell_values(row.cells.get(column)))


def _is_from_document(evidence: Evidence, document: str) -> bool:
    """Return whether evidence is from a file of this name, in any folder."""
    return evidence.source.split("#")[0].rsplit("/", 1)[-1] == document


def _check_quotes(result: JobResult, corpora: Sequence[Corpus]) -> tuple[GoldShare, list[str]]:
    """Return the share of cells with verdict `found` whose quotes are all at their spans, and a remark per failure."""
    right = of = 0
    remarks = []
    for row in (row for table in result.tables for row in table.rows):
        for column, cell in row.cells.items():
            if cell.verdict == "found" and cell.method != "curated":
                of += 1
                lost = [one.place for one in cell.evidence if not any(corpus.holds(one) for corpus in corpora)]
                right += not lost
                remarks += [f"quote not on its page: {row.name}, {column}: {place}" for place in lost[:1]]
    return GoldShare("found cells with their quotes on the page", right, of), remarks


def _compare_coverage(result: JobResult, folder: Path) -> tuple[list[GoldShare], list[str]]:
    """Compare the coverage and the gaps with the gold files in `folder`.

    Return the share of entities with a correct coverage class, the shares of gold gaps that are reported, and a remark
    on each error.
    """
    remarks: list[str] = []

    def share(
        name: str, table: str, wanted: Sequence[tuple[str, Sequence[str]]], classes: Collection[str]
    ) -> GoldShare:
        rows, right = _RowsByName(result.table(table).rows), 0
        for entity, allowed in wanted:
            found = rows.class_of(entity, classes)
            right += found in allowed
            if found not in allowed:
                what = table.removesuffix("s")
                remarks.append(f"{what} of {entity}: {found or 'no row'}, expected {allowed[0]}")
        return GoldShare(name, right, len(wanted))

    classes = [
        (one.entity, (one.coverage, *one.also_right)) for one in _read_gold(folder, "coverage.jsonl", GoldCoverage)
    ]
    gaps = [one for one in _read_gold(folder, "gaps.jsonl", GoldGap) if not one.optional]
    shares = [share("coverage as in gold", "coverage", classes, get_args(CoverageClass))]
    for gap in get_args(GapSide):
        of_gap = [(one.name, (gap,)) for one in gaps if one.gap == gap]
        shares.append(share(f"gaps, {gap}", "gaps", of_gap, get_args(GapSide)))
    return shares, remarks


def _compare_fields(entities: Table, folder: Path) -> tuple[list[GoldShare], list[str]]:
    """Return the shares of catalog cells that agree with the gold file, and remarks on errors.

    A cell agrees if it is present or absent as in the gold file. Cells with any verdict but `absent` are present; the
    cells of an entity without a row are absent. Another share counts the found cells that contain the right words. A
    field that is not in the catalog is not counted.
    """
    rows = _RowsByName(entities.rows)
    judged: list[tuple[GoldField, Cell | None]] = []
    for one in _read_gold(folder, "fields.jsonl", GoldField):
        if one.verdict != "either" and one.field in entities.columns:
            cell = row.cells.get(one.field) if (row := rows.get(one.entity)) else None
            judged.append((one, cell if cell is not None and cell.verdict != "absent" else None))
    wrong = [one for one, cell in judged if (cell is not None) != (one.verdict == "found")]
    both = [(one, cell) for one, cell in judged if one.verdict == "found" and cell is not None]
    without = [(one, cell) for one, cell in both if not _has_words(one, cell)]

    def agreement(name: str, fields: Collection[str]) -> GoldShare:
        of = sum(one.field in fields for one, _ in judged)
        return GoldShare(name, of - sum(one.field in fields for one in wrong), of)

    fields = dict.fromkeys(one.field for one, _ in judged)
    shares = [
        agreement("found or absent as in gold", fields),
        *(agreement(f"found or absent, {name}", (name,)) for name in fields),
        GoldShare("found cells with the right words", len(both) - len(without), len(both)),
    ]
    remarks = [f"{one.entity}, {one.field}: expected {one.verdict}" for one in wrong]
    for one, cell in without:
        begin = " / ".join(_cell_values(cell))[:100]
        remarks.append(f"{one.entity}, {one.field}: lacks the words of the gold file: {begin}")
    return shares, remarks


def _has_words(gold: GoldField, cell: Cell) -> bool:
    texts = (*_cell_values(cell), *(place.quote for place in cell.evidence))
    return any(text_says(text, one.words) for one in gold.any_of for text in texts)


_GLOSSARY_TABLES = ("terms", "abbreviations")
_NAME_COLUMNS = ("term", "abbreviation", "synonyms")
_SHORT_SENTENCE = 4  # words; a quote with fewer words must match the whole sentence


def _compare_glossary(result: JobResult, folder: Path) -> tuple[list[GoldShare], list[str]]:
    """Compare the terms with the gold glossary in `folder`. Return shares, and a remark on each error.

    The shares are the precision, the recall for each pattern of definitions, the contradictions found, and the
    distractors (texts that only look like definitions) that are not listed.
    """
    rows = [row for table in result.tables if table.name in _GLOSSARY_TABLES for row in table.rows]
    gold = _read_gold(folder, "glossary.jsonl", GoldTerm)
    distractors = _read_gold(folder, "glossary_distractors.jsonl", GoldDistractor)
    matches = [
        (row, [number for number, one in enumerate(gold) if _row_names(row, one) and _row_defines(row, one)])
        for row in rows
    ]
    precision, false = _precision(matches, gold)
    recall, missed = _recall(gold, {number for _, numbers in matches for number in numbers})
    conflicts, wrong = _conflicts(rows, gold)
    taken = [
        f"distractor listed as a definition: {row.name}: {bad.sentence}"
        for bad in distractors
        for row in [row for row, numbers in matches if not numbers and _rests_on(row, bad)][:1]
    ]
    left = GoldShare("distractors avoided", len(distractors) - len(taken), len(distractors))
    return [precision, *recall, *conflicts, left], [*missed, *false, *wrong, *taken]


def _row_names(row: Row, gold: GoldTerm) -> bool:
    called = {gold_term_key(name) for name in (row.name, *_column_texts(row, _NAME_COLUMNS))}
    return bool(called & {gold_term_key(name) for name in (gold.term, gold.abbreviation) if name})


def _row_defines(row: Row, gold: GoldTerm) -> bool:
    places = [place for place in row.evidence if _is_from_document(place, gold.document)]
    if gold.pattern == "abbreviation":
        called = {gold_term_key(name) for name in (row.name, *_column_texts(row, (*_NAME_COLUMNS, "definition")))}
        return bool(places) and {gold_term_key(gold.term), gold_term_key(gold.abbreviation)} <= called
    quoted = any(quote_holds(gold.definition, place.quote) for place in places)
    if gold.pattern == "cross_reference":
        return quoted
    written = any(word_share(gold.definition, text) >= _SAME_TEXT for text in _column_texts(row, ("definition",)))
    return quoted or (written and bool(places))


def _precision(matches: Sequence[tuple[Row, Sequence[int]]], gold: Sequence[GoldTerm]) -> tuple[GoldShare, list[str]]:
    known = {gold_term_key(name) for one in gold for name in (one.term, one.abbreviation)}
    right = sum(not all(gold[number].optional for number in numbers) for _, numbers in matches)
    remarks = []
    for row in (row for row, numbers in matches if not numbers):
        is_term = gold_term_key(row.name) in known
        what = "another definition than in the gold file" if is_term else "not a term of the gold file"
        shown = " / ".join(_column_texts(row, ("definition",)))[:100]
        remarks.append(f"{what}: {row.name}: {shown}")
    return GoldShare("precision", right, right + len(remarks)), remarks


def _recall(gold: Sequence[GoldTerm], found: Collection[int]) -> tuple[list[GoldShare], list[str]]:
    wanted = [(number, one) for number, one in enumerate(gold) if not one.optional]
    numbers: dict[str, list[int]] = {}
    for number, one in wanted:
        for kind in {one.pattern, *one.also}:
            numbers.setdefault(f"recall, {kind}", []).append(number)
    all_numbers = {"recall": [number for number, _ in wanted], **dict(sorted(numbers.items()))}
    remarks = [
        f"missed ({one.pattern}): {one.term}: {one.document}: {one.definition[:100]}"
        for number, one in wanted
        if number not in found
    ]
    return [GoldShare(name, sum(it in found for it in of), len(of)) for name, of in all_numbers.items()], remarks


def _conflicts(rows: Sequence[Row], gold: Sequence[GoldTerm]) -> tuple[list[GoldShare], list[str]]:
    """Return recall and precision of the rows that show contradictions between definitions, and remarks on errors."""
    wanted = {gold_term_key(one.term): one.term for one in gold if one.conflict}
    shown = {
        gold_term_key(row.name): row.name
        for row in rows
        if (cell := row.cells.get("definition")) is not None and cell.verdict == "conflict"
    }
    both = len(wanted.keys() & shown.keys())
    remarks = [f"contradiction not shown: {wanted[key]}" for key in wanted if key not in shown]
    remarks += [f"contradiction shown that is not in the gold file: {shown[key]}" for key in shown if key not in wanted]
    shares = [
        GoldShare("contradictions shown", both, len(wanted)),
        GoldShare("contradictions that are right", both, len(shown)),
    ]
    return shares, remarks


def _rests_on(row: Row, bad: GoldDistractor) -> bool:
    for place in row.evidence:
        if not _is_from_document(place, bad.document):
            continue
        share = word_share(place.quote, bad.sentence)
        long_enough = len(place.quote.split()) >= _SHORT_SENTENCE or share >= _SAME_TEXT
        if (long_enough and text_says(bad.sentence, place.quote)) or share >= _SAME_TEXT:
            return True
    return False


_SHEET = "#fact-sheet/"


def _compare_matching(entities: Table, folder: Path) -> tuple[list[GoldShare], list[str]]:
    """Compare with which fact sheet and defined term each entity was joined (recognized as the same thing).

    Return the F1 of these joins, the share of similar names that were rightly not joined, and remarks on errors. A term
    counts only if the gold glossary has its meaning: some rows show their term only by quoting this meaning.
    """
    terms = [one for one in _read_gold(folder, "glossary.jsonl", GoldTerm) if not one.optional]
    terms = [one for one in terms if one.pattern not in ("abbreviation", "cross_reference")]
    meanings = {gold_term_key(one.term) for one in terms}
    rows = _RowsByName(entities.rows)
    sheets, defined = _JoinCounts("fact sheet"), _JoinCounts("term")
    near, crossed = 0, []
    for one in _read_gold(folder, "entities.jsonl", GoldEntity):
        if one.entity is None:
            continue
        row = rows.get(one.entity)
        sources = [place.source for place in row.evidence] if row else []
        joined = {source.split(_SHEET, 1)[1] for source in sources if _SHEET in source}
        sheets.count(one.entity, {one.fact_sheet_id} if one.fact_sheet_id else set(), joined)
        found = _terms_of(row, terms)
        wanted = {gold_term_key(one.term)} & meanings if one.term else set()
        tolerated = {gold_term_key(name) for name in (*one.also_right, one.term or "")}
        defined.count(one.entity, wanted, found - (tolerated - wanted))
        near += len(one.must_not_match)
        crossed += [
            f"near-duplicates joined: {one.entity}, {name}"
            for name in one.must_not_match
            if gold_term_key(name) in found
        ]
    shares = [
        _JoinCounts.f1("matching F1", sheets, defined),
        _JoinCounts.f1("matching F1, fact sheets", sheets),
        _JoinCounts.f1("matching F1, terms", defined),
        GoldShare("near-duplicates kept apart", near - len(crossed), near),
    ]
    return shares, [*sheets.remarks, *defined.remarks, *crossed]


class _JoinCounts:
    """Counts joins for F1. A join is a pair of an entity and a fact sheet, or of an entity and a defined term.

    `both` is the number of joins that are in the result and in the gold file. `sum` is the number of joins in the
    result plus the number in the gold file. F1 is 2 * both / sum.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self.both = self.sum = 0
        self.remarks: list[str] = []

    def count(self, entity: str, wanted: Collection[object], found: Collection[object]) -> None:
        """Count the joins of one entity: `wanted` are those in the gold file, and `found` those in the result."""
        self.both += len({*wanted} & {*found})
        self.sum += len(wanted) + len(found)
        for problem, joins in (
            ("not joined with its", {*wanted} - {*found}),
            ("joined with a wrong", {*found} - {*wanted}),
        ):
            for one in sorted(joins, key=str):
                text = " ".join(one) if isinstance(one, tuple) else one
                self.remarks.append(f"{problem} {self._what}: {entity}: {text}")

    @staticmethod
    def f1(name: str, *counts: "_JoinCounts") -> GoldShare:
        """Return F1, the harmonic mean of precision and recall, over all the counts."""
        return GoldShare(name, 2 * sum(one.both for one in counts), sum(one.sum for one in counts))


def _terms_of(row: Row | None, terms: Sequence[GoldTerm]) -> set[tuple[str, ...]]:
    """Return the keys of the defined terms with which the entity of a row was joined.

    These are the terms in the column `handbook_term`. If it is empty, they are the terms whose gold definition the cell
    `formal_definition` quotes.
    """
    if row is None:
        return set()
    if named := _column_texts(row, ("handbook_term",)):
        return {gold_term_key(name) for name in named}
    cell = row.cells.get("formal_definition")
    quotes = [place.quote for place in cell.evidence] if cell else []
    return {gold_term_key(one.term) for one in terms if any(quote_holds(one.definition, it) for it in quotes)}


def compare_with_gold(result: JobResult, folder: Path, corpora: Sequence[Corpus]) -> GoldReport:
    """Compare a result with gold files. `corpora` are the texts that the evidence of the result quotes.

    Raises UsageError if a gold file is missing or invalid, or if there are no gold files for this kind of job.
    """
    match result.kind:
        case "glossary":
            shares, remarks = _compare_glossary(result, folder)
        case "catalog":
            entities = result.table("entities")
            shares, remarks = _compare_matching(entities, folder)
            fields, wrong = _compare_fields(entities, folder)
            shares, remarks = [*shares, *fields], [*remarks, *wrong]
        case "coverage":
            shares, remarks = _compare_coverage(result, folder)
        case _:
            raise UsageError(
                f"There is no gold data (expected results) for a {result.kind} job.",
                hint="Run without --gold, or run another kind of job.",
            )
    quotes, lost = _check_quotes(result, corpora)
    return GoldReport(result.job, result.kind, (*shares, quotes), (*remarks, *lost))
