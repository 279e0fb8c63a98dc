"""A glossary held against gold: which terms it has, which it lacks, which it made up.

A gold definition is found if a row has its term (folded, in any number, with or without an article) and its meaning
from its document: a value of the row shares 80 % of its words with the gold text, counted over the longer of the two,
or a quote of the row holds such a share of the gold text in one stretch. An abbreviation is found with its long form,
a reference by a quote that holds it. A row is right if it is what some gold line says; rows that only optional lines
speak of are not counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elt_llm_consumer.gold.cells import cell_texts, in_document
from elt_llm_consumer.gold.files import GoldDistractor, GoldTerm, read_gold
from elt_llm_consumer.gold.report import Share
from elt_llm_consumer.gold.sameness import SAME_TEXT, holds, says, share, term_key
from elt_llm_consumer.rows import JobResult, Row

TABLE, DEFINITION, ABBREVIATION = "terms", "definition", "abbreviation"
NAMES = ("term", "abbreviation", "synonyms")
SHORT_SENTENCE = 4


@dataclass(frozen=True)
class _Compared:
    """Rows and gold lines, and which says which."""

    rows: tuple[Row, ...]
    gold: tuple[GoldTerm, ...]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Numbers of a row and of a gold line that it says."""
        return tuple(
            (place, number)
            for number, gold in enumerate(self.gold)
            for place, row in enumerate(self.rows)
            if _names_it(row, gold) and _says_it(row, gold)
        )

    @cached_property
    def found(self) -> frozenset[int]:
        """Numbers of the gold lines that some row says."""
        return frozenset(number for _, number in self.pairs)

    def lines_of(self, row: int) -> list[GoldTerm]:
        """The gold lines that a row says."""
        return [self.gold[number] for place, number in self.pairs if place == row]


def compare_glossary(result: JobResult, folder: Path) -> tuple[list[Share], list[str]]:
    """Precision, recall overall and by pattern, contradictions shown, distractors taken; then what is wrong."""
    compared = _Compared(result.table(TABLE).rows, tuple(read_gold(folder, "glossary.jsonl", GoldTerm)))
    distractors = read_gold(folder, "glossary_distractors.jsonl", GoldDistractor)
    precision, false = _precision(compared)
    recall, missed = _recall(compared)
    conflicts, wrong = _conflicts(compared)
    taken = [f"took for a definition: {row.name}: {bad.sentence}" for row, bad in _taken(compared, distractors)]
    left = Share("distractors left alone", len(distractors) - len(taken), len(distractors))
    return [precision, *recall, *conflicts, left], [*missed, *false, *wrong, *taken]


def _names_it(row: Row, gold: GoldTerm) -> bool:
    called = {term_key(name) for name in (row.name, *cell_texts(row, NAMES))}
    return bool(called & {term_key(name) for name in (gold.term, gold.abbreviation) if name})


def _says_it(row: Row, gold: GoldTerm) -> bool:
    places = [place for place in row.evidence if in_document(place, gold.document)]
    if gold.pattern == "abbreviation":
        called = {term_key(name) for name in (row.name, *cell_texts(row, (*NAMES, DEFINITION)))}
        return bool(places) and {term_key(gold.term), term_key(gold.abbreviation)} <= called
    quoted = any(holds(gold.definition, place.quote) for place in places)
    if gold.pattern == "cross_reference":
        return quoted
    written = any(share(gold.definition, text) >= SAME_TEXT for text in cell_texts(row, (DEFINITION,)))
    return quoted or (written and bool(places))


def _precision(compared: _Compared) -> tuple[Share, list[str]]:
    right, of, remarks = 0, 0, []
    known = [{term_key(gold.term), term_key(gold.abbreviation)} for gold in compared.gold]
    for number, row in enumerate(compared.rows):
        said = compared.lines_of(number)
        if said and all(gold.optional for gold in said):
            continue
        of += 1
        right += bool(said)
        if not said:
            named = any(term_key(row.name) in keys for keys in known)
            what = "another definition than gold" if named else "not a term of gold"
            shown = " / ".join(cell_texts(row, (DEFINITION,)))[:100]
            remarks.append(f"{what}: {row.name}: {shown}")
    return Share("precision", right, of), remarks


def _recall(compared: _Compared) -> tuple[list[Share], list[str]]:
    wanted = [(number, gold) for number, gold in enumerate(compared.gold) if not gold.optional]
    kinds = sorted({kind for _, gold in wanted for kind in (gold.pattern, *gold.also)})
    shares = [_share_found("recall", [number for number, _ in wanted], compared)]
    for kind in kinds:
        of_kind = [number for number, gold in wanted if kind in (gold.pattern, *gold.also)]
        shares.append(_share_found(f"recall, {kind}", of_kind, compared))
    remarks = [
        f"missed ({gold.pattern}): {gold.term}: {gold.document}: {gold.definition[:100]}"
        for number, gold in wanted
        if number not in compared.found
    ]
    return shares, remarks


def _share_found(name: str, numbers: Sequence[int], compared: _Compared) -> Share:
    return Share(name, sum(number in compared.found for number in numbers), len(numbers))


def _conflicts(compared: _Compared) -> tuple[list[Share], list[str]]:
    """Contradicting terms shown as such, and rows shown as such that are."""
    gold = {term_key(one.term): one.term for one in compared.gold if one.conflict}
    shown = {
        term_key(row.name): row.name
        for row in compared.rows
        if (cell := row.cells.get(DEFINITION)) is not None and cell.verdict == "conflict"
    }
    both = len(gold.keys() & shown.keys())
    remarks = [f"contradiction not shown: {gold[key]}" for key in gold if key not in shown]
    remarks += [f"no contradiction: {shown[key]}" for key in shown if key not in gold]
    return [Share("contradictions shown", both, len(gold)), Share("contradictions that are", both, len(shown))], remarks


def _taken(compared: _Compared, distractors: Sequence[GoldDistractor]) -> list[tuple[Row, GoldDistractor]]:
    """Each distractor that a row rests on, with the first such row, unless the row says what a gold line says."""
    taken = []
    rows = [row for number, row in enumerate(compared.rows) if not compared.lines_of(number)]
    for bad in distractors:
        row = next((row for row in rows if _rests_on(row, bad)), None)
        if row is not None:
            taken.append((row, bad))
    return taken


def _rests_on(row: Row, bad: GoldDistractor) -> bool:
    for place in row.evidence:
        if not in_document(place, bad.document):
            continue
        long_enough = len(place.quote.split()) >= SHORT_SENTENCE or share(place.quote, bad.sentence) >= SAME_TEXT
        if (long_enough and says(bad.sentence, place.quote)) or share(bad.sentence, place.quote) >= SAME_TEXT:
            return True
    return False
