"""Read the values of a field from the columns of tables, in the rows about an entity, and from lists of such values."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from elt_llm_core.text.languages import word_pattern
from elt_llm_query.grounding.rules import NumberValue, find_numbers
from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.catalog.mentions import StatementIndex
from elt_llm_consumer.catalog.sentence_fields import FieldCandidate
from elt_llm_consumer.names.names import name_tokens
from elt_llm_consumer.sentences.statements import TableCell, TextStatement
from elt_llm_consumer.sentences.words import CueMatcher

_OWN_ROW, OWN_RECORD, _LISTED, _LISTED_RECORD = 1.0, 0.9, 0.8, 0.75
_KIND = 0.86
"""The score of a table row about one kind of the entity, which is used only if no row is about the entity itself."""
_BETWEEN = word_pattern(r"[,;/]|\s(?:@item_conjunctions@|@example_words@|&)\s", re.IGNORECASE)
_LEAD = word_pattern(r"^\s{0,3}(?:(?:@item_conjunctions@|@example_words@|&)\s{1,3})?", re.IGNORECASE)
_NUMBERED = re.compile(r"^[A-Z]{0,4}\s?[\d.]{1,8}[a-z]?$")
_SHORT_FORM = re.compile(r"(?P<name>[^()]{2,200}?)\s?\((?P<short>[A-Z][^()\s]{0,8}[A-Z]s?)\)")
_QUALIFIER = word_pattern(
    r"[*_]{0,2}\s{0,3}(?:\(|[\u2013\u2014:]|-\s)|\s(?:@prepositions@|@relatives@|@if@)\s", re.IGNORECASE
)
# The headers of columns with things, such as "Record", "Type of data" and "Data held", but not "Data Owner".
_OF_THINGS = word_pattern(r"(?:^|[\s/])(?:@headers_of_things@)(?:$|\s(?:of|/|and|und)\s)", re.IGNORECASE)
_OF_SYSTEMS = word_pattern(
    r"(?:^|[\s/])(?:@headers_of_things@|@headers_of_systems@)(?:$|\s(?:of|/|and|und)\s)", re.IGNORECASE
)
_AS_ABOVE = word_pattern(r"@as_above@|[\"\u201d\u3003]", re.IGNORECASE)
_AS_ROW = word_pattern(r"@as_row@\s(?P<label>[\w.]{1,10})", re.IGNORECASE)
_PERIODS = frozenset({"day", "week", "month", "year"})
# "Permanent" as a whole cell, and "kept permanently", but neither "permanent staff" nor "permanently deleted".
_ENDLESS = word_pattern(r"^@endless@(?!\s\w)|(?<!\w)@endlessly@(?!\w|\s@removed@)", re.IGNORECASE)
# The end of the name in an item such as "Accident reports: 7 years" or "Leases (10 years from expiry)".
_NAME_END = re.compile(r"(?:\s?\([^()\n]{1,80}\))?[:\u2013\u2014]\s?|\s?\(|\s[-\u2013\u2014]{1,2}\s")
_REACH = 20  # maximum characters before the period of an item
_MARKS = "#*_:. \n"

TableRow = tuple[TextStatement, TableCell]


class TableField:
    """Finds the values of one field in table columns that have one of the field's configured headers.

    A column with one of `short_headers` counts below a heading with a word of `headers`: "Period" below "Retention".
    """

    def __init__(
        self,
        headers: Sequence[str],
        statements: StatementIndex,
        record_words: Sequence[str],
        short_headers: Sequence[str] = (),
        record_headers: Sequence[str] = (),
        cues: Sequence[str] = (),
    ) -> None:
        self._names = names = statements.names
        headers_of_kinds = (headers, short_headers, record_headers)
        headed, short, beside = ({names.key(header) for header in listed} for listed in headers_of_kinds)
        stems = tuple(word for key in headed for word in key if len(word) > len("for") and (word,) not in short)
        self._known = {names.key(name) for name in names.names}
        self._records = {names.key(word) for word in record_words}
        self._rows: list[TableRow] = []
        self._similar: list[TableRow] = []
        for statement in statements.statements if headed else ():
            keyed = [(cell, names.key(cell.header)) for cell in statement.cells if cell.text and cell.header]
            columns = headed | short if short and keyed and _is_below(statement, stems) else headed
            columns = columns | beside if beside and keyed and _lists_things(_subject(statement.cells)) else columns
            values = [cell for cell, key in keyed if key in columns] or _only(
                [cell for cell, _ in keyed if names.key(cell.headers[-1]) in columns]
            )
            self._rows += [(statement, cell) for cell in values]
            self._similar += [
                (statement, cell)
                for cell, key in keyed
                if cell not in values
                and any(key[start : start + len(own)] == own for own in headed for start in range(len(key)))
            ]
        self._meant = _meant_cells(self._rows)
        if short and cues:
            single = tuple(key[0] for key in headed if len(key) == 1)
            self._rows += _listed_periods(statements.statements, CueMatcher(cues), single)
        self._grouped = _grouped_rows([*self._rows, *self._similar])

    def candidates(self, name: str, *, similar: bool = False) -> list[FieldCandidate]:
        """Return the field's values in table rows about a name, best first.

        If `similar`, use longer headers that contain a configured header: "Retention in the system" for "Retention".
        Cells such as "as above" give the value of the cell that they refer to, or none.
        """
        keys, found = self._names.joined_keys(name), []
        for statement, value in self._similar if similar else self._rows:
            others = [cell for cell in statement.cells if cell.start != value.start]
            score = max((self._score(cell, others, keys) for cell in others), default=0.0)
            if statement.number in self._grouped and "".join(self._names.key(statement.cells[1].text)) in keys:
                score = _OWN_ROW
            if score:
                found += self._candidate(statement, value, score)
        return sorted(found, key=lambda one: (-one.score, one.statement.number))

    def kinds(self, name: str) -> list[FieldCandidate]:
        """Return the field's values in rows about one kind of the named entity: "Adult case files" for "Case File".

        A kind that is itself an entity or term is left out.
        """
        forms, found = {self._names.key(form) for form in self._names.forms(name)}, []
        for statement, value in self._rows:
            kind = _subject(statement.cells)
            if kind.start != value.start and self._names.key(kind.text) not in self._known:
                found += self._candidate(statement, value, _KIND) if self._is_kind(kind.text, forms) else []
        return [replace(one, value=f"{_subject(one.statement.cells).text}: {one.value}") for one in found]

    def responsible(self, name: str) -> list[FieldCandidate]:
        """Return who is responsible for the named thing, from tables of duties: "Registrar: Duties: Case Files"."""
        keys, found = self._names.joined_keys(name), []
        for statement, duties in self._rows:
            who = _subject(statement.cells)
            if who.start != duties.start and self._listed_score(duties, keys):
                value = f"{who.text}: {duties.header}: {duties.text}"
                found.append(FieldCandidate(statement, _LISTED, value))
        return found

    def _candidate(self, statement: TextStatement, value: TableCell, score: float) -> list[FieldCandidate]:
        meant = self._meant.get((statement.number, value.start), (statement, value))
        if meant is None:
            return []
        source = meant[0] if meant[0] is not statement else None
        if not statement.start <= value.start < statement.end:  # the value is in the opening of the list
            source = replace(statement, start=value.start, end=value.end, text=value.text)
        return [FieldCandidate(statement, score, meant[1].text, source=source)]

    def _is_kind(self, text: str, forms: Iterable[tuple[str, ...]]) -> bool:
        """Return whether a cell names a kind: "Adult case files", or "Case files (closed)" of a Case File."""
        key = self._names.key(text)
        own = next((own for own in forms if len(key) > len(own) and own in (key[: len(own)], key[-len(own) :])), ())
        if len(own) > 1 and key[-len(own) :] == own:
            return True
        return bool(own) and bool(_QUALIFIER.match(text, name_tokens(text)[len(own) - 1].end))

    def _listed_score(self, cell: TableCell, keys: frozenset[str]) -> float:
        items = [item for item in _items(cell.text) if self._names.key(item) not in self._records]
        return max((self._match_score(item, keys, _LISTED, _LISTED_RECORD) for item in items), default=0.0)

    def _score(self, cell: TableCell, cells: Sequence[TableCell], keys: frozenset[str]) -> float:
        is_subject = cell.start == _subject(cells).start
        if not is_subject and not _lists_things(cell):
            return 0.0  # "Clerk" in the column "Owner" is no subject of the row
        form = _SHORT_FORM.fullmatch(cell.text)
        texts = [cell.text, *(form.groups() if form else ())]
        own = max(self._match_score(text, keys, _OWN_ROW, OWN_RECORD) for text in texts) if is_subject else 0.0
        return own or self._listed_score(cell, keys)

    def _match_score(self, text: str, keys: frozenset[str], itself: float, record: float) -> float:
        key = self._names.key(text)
        if "".join(key) in keys:
            return itself
        return record if len(key) > 1 and key[-1:] in self._records and "".join(key[:-1]) in keys else 0.0


def _lists_things(cell: TableCell) -> bool:
    return bool(cell.headers) and _OF_THINGS.search(cell.headers[-1]) is not None


def periods_in(text: str) -> list[NumberValue]:
    """Return the periods in a text, such as "6 months"; without any, "permanently" is a period without an end."""
    found = [one for one in find_numbers(text) if one.measure in _PERIODS]
    endless = None if found else _ENDLESS.search(text)
    return [NumberValue(*endless.span(), frozenset({math.inf}), "endless")] if endless else found


def _listed_periods(
    statements: Sequence[TextStatement], cues: CueMatcher, stems: tuple[str, ...]
) -> Iterator[TableRow]:
    """Yield the items of lists with their periods, as rows of a name and a period.

    The period is that of the heading or sentence which opens the list ("Documents to keep for 10 years"), of the
    sentence that follows in the item ("Payroll records. Retain for 7 years."), or of the item itself, below such an
    opening, or a heading or title with one of the stems ("Payroll records: 7 years").
    """
    for _, group in groupby(statements, lambda one: (one.document.collection, one.document.document_id)):
        by_start = {one.start: one for one in group}
        heading = opening = None
        item: TextStatement | None = None
        for piece in next(iter(by_start.values())).document.pieces:
            statement, places = by_start.get(piece.start), [cue[0] for cue in cues.spans(piece.text)]
            opens = piece if places and len(periods_in(piece.text)) == 1 else None
            if piece.kind == "heading":
                heading, opening, item = opens, None, None
            elif statement is None or statement.cells or (piece.kind != "item" and piece.new_paragraph):
                opening, item = opens if piece.text.endswith(":") else None, None
            elif piece.kind == "item" and not (opens and piece.text.endswith(":")):
                item = statement
                yield from _rows_of_item(item, opening or heading, stems)
            elif item is not None and opens and not places[0]:
                yield from _rows_of_item(item, piece, stems)
            elif opens and piece.text.endswith(":"):
                opening, item = piece, None


def _rows_of_item(item: TextStatement, above: TextPiece | None, stems: tuple[str, ...]) -> Iterator[TableRow]:
    """Yield the rows of an item: its name, or name and examples, with its own period or that of the text `above`."""
    text, found, last = item.text, _NAME_END.search(item.text, item.offset), len(item.text)
    own = periods_in(text[found.end() :]) if found else []
    names, value = [(item.offset, last)], (above.start, above.end) if above and not periods_in(text) else None
    if found and len(own) == 1 and own[0].start <= _REACH:
        names = [(item.offset, found.start())]
        value = (item.start + found.end(), item.end) if above or _is_below(item, stems) else None
    elif found and not found.group().endswith("("):
        names = [(item.offset, found.start()), (found.end(), last)]
    if value:
        period = _cell_at(item, *value)
        subjects = (_cell_at(item, item.start + start, item.start + end) for start, end in names)
        yield from ((replace(item, cells=(one, period)), period) for one in subjects)


def _cell_at(item: TextStatement, start: int, end: int) -> TableCell:
    """Return a span of the item's document, without marks around it, as a cell without headers."""
    text = item.document.text[start:end]
    start += len(text) - len(text.lstrip(_MARKS))
    text = text.strip(_MARKS)
    text = text if "(" in text else text.rstrip(")")
    return TableCell(start, start + len(text), " ".join(text.replace("**", "").split()), ())


def _is_below(statement: TextStatement, stems: tuple[str, ...]) -> bool:
    """Return whether a word in the headings or the title above a statement starts with one of the stems."""
    above = (*statement.headings, statement.document.title)
    return any(token.key.startswith(stems) for title in above for token in name_tokens(title))


def _items(text: str) -> Iterator[str]:
    """Yield the items of a list, and with the words that items share: "Case Files" in "Case and Loan Files"."""
    items = [_LEAD.sub("", item).strip(" .") for item in _BETWEEN.split(text)]
    yield from items
    first: list[str] = []
    for one, other in pairwise(item.split() for item in items):
        first = one[:-1] if len(one) > 1 else first
        if len(other) > 1:
            yield " ".join([*one, other[-1]])
        elif first and other:
            yield " ".join([*first, *other])


def _grouped_rows(values: Iterable[TableRow]) -> frozenset[int]:
    """Return the numbers of the rows that are about their second cell: the first names a group, such as a division.

    In their table, first cells are repeated, as by a merged cell. Second cells, of things or systems, are not.
    """
    tables = defaultdict[tuple[object, ...], dict[int, Sequence[TableCell]]](dict)
    for statement, _ in values:
        if len(cells := statement.cells) > 1 and cells[1].headers and _OF_SYSTEMS.search(cells[1].headers[-1]):
            tables[statement.document.document_id, statement.headings, cells[1].headers][statement.number] = cells
    found: set[int] = set()
    for rows in tables.values():
        first, second = ({cells[column].text for cells in rows.values()} for column in (0, 1))
        found |= rows.keys() if len(first) < len(rows) == len(second) else set()
    return frozenset(found)


def _meant_cells(values: Iterable[TableRow]) -> Mapping[tuple[int, int], TableRow | None]:
    """Return the row and cell that each cell such as "as above" or "see row 4" means; None if no row is found.

    The keys are the number of the statement and the start of the cell. The meant row is in the same table.
    """
    found: dict[tuple[int, int], TableRow | None] = {}
    tables = defaultdict[tuple[object, ...], list[TableRow]](list)
    for statement, cell in values:
        tables[statement.document.document_id, statement.headings, cell.headers].append((statement, cell))
    for table in tables.values():
        labelled = {statement.cells[0].text.casefold(): (statement, cell) for statement, cell in table}
        for number, (statement, cell) in enumerate(table):
            place, text = (statement.number, cell.start), cell.text.strip(" .()")
            if _AS_ABOVE.fullmatch(text):
                before = table[number - 1] if number else None
                found[place] = found.get((before[0].number, before[1].start), before) if before else None
            elif row := _AS_ROW.fullmatch(text):
                found[place] = labelled.get(row["label"].casefold())
    return found


def _only(cells: list[TableCell]) -> list[TableCell]:
    """Return the single cell of the list; nothing if it contains several."""
    return cells if len(cells) == 1 else []


def _subject(cells: Sequence[TableCell]) -> TableCell:
    """Return the cell that names the subject of a row: the first cell that is not a row number."""
    return next((cell for cell in cells if cell.text and not _NUMBERED.match(cell.text)), cells[0])
