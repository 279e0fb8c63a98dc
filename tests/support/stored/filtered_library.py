"""Two published collections whose chunks have fields of every type, and an oracle that filters every chunk."""

import random
from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elt_llm_core.collection.lifecycle import publish
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.records import NewDocument
from elt_llm_core.store.store import Store
from hypothesis import strategies as st
from stored.shelf import new_document, recipe_of

FISH = ["cod", "herring", "salmon", "pike", "perch", "eel", "trout", "carp"]
DATES = ["2023", "2023-12", "2023-12-31", "2024-01", "2024-01-01", "2024-01-15", "2024-02", "2024-02-29", "2024"]
MOMENTS = ["2023-12-31T23:59:59", "2024-01-01T00:00:00", "2024-01-15T12:30:00", "2024-02-29"]
SECTIONS = ["Rules", "Rules > Nets", "Rules > Nets > Mesh", "Rules, old", "Quotas"]
COLLECTIONS = ("harbour", "market")
SHARED = "Pike and perch are sold together."  # a sentence that many documents contain word for word
_TYPES = {
    "text": ["authors", "kind", "topics", "language", "source", "document"],
    "path": ["section"],
    "number": ["year", "page", "length"],
    "date": ["dates", "valid", "modified_at"],
}
_OTHER_NAMES = {"type": "kind", "topic": "topics", "doc": "document", "author": "authors", "date": "dates"}


@dataclass(frozen=True)
class Row:
    """One chunk with all its field values, as the oracle (the reference filter of the tests) reads it."""

    collection: str
    node_id: str
    document_id: str
    span: tuple[int, int]
    text: str
    values: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Condition:
    """One condition of a filter; `text` is its written form."""

    field: str
    operator: str
    operands: tuple[str, ...]

    @property
    def text(self) -> str:
        """The condition in the syntax of --where."""
        return f"{self.field} {self.operator} {','.join(self.operands)}"


def fill(store: Store, embedding: FakeEmbedding, seed: int = 0) -> list[Row]:
    """Publish both collections, reproducible by seed; return all their chunks."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    rows: list[Row] = []
    for name, count in zip(COLLECTIONS, (24, 8), strict=True):
        record = store.collections.create(name)
        versions = []
        for number in range(count):
            document = _document(chance, name, number)
            versions.append(store.documents.add(record.id, document))
            rows += _rows(name, document)
        wanted = store.nodes.to_embed(versions)
        store.vectors.add(embedding.fingerprint.key, list(wanted), embedding.embed_texts(list(wanted.values())))
        publish(store, name, versions, recipe_of(embedding), SilentListener())
    return rows


def _document(chance: random.Random, collection: str, number: int) -> NewDocument:
    texts = [f"Report {number}: {_words(chance)}."]
    texts += [f"Item {place}: {_words(chance)}." for place in range(chance.randint(0, 5))]
    texts += [SHARED] if chance.random() < 0.4 else []
    document = new_document(f"reports/{collection}-{number}.md", texts, collection)
    metadata = {
        "authors": chance.choice([None, ["Ann"], ["Ann", "Bo"], ["Cai"]]),
        "year": chance.choice([None, 1999, 2020, 2021]),
        "language": chance.choice([None, "en", "lt"]),
        "valid": chance.choice([None, "2024-01-15", "2024-02-29"]) if collection == COLLECTIONS[0] else None,
    }
    halfway = document.nodes[len(document.nodes) // 2].start
    nodes = tuple(
        replace(
            node,
            page=chance.choice([None, 1, 2, 3, 7]),
            section=chance.choice([None, *SECTIONS]),
            metadata=_given(_of_chunk(chance, (0, halfway) if node.start < halfway else (halfway, document.size))),
        )
        for node in document.nodes
    )
    return replace(document, metadata=_given(metadata), nodes=nodes, modified_at=chance.choice([None, *MOMENTS]))


def _of_chunk(chance: random.Random, parent: tuple[int, int]) -> dict[str, Any]:
    return {
        "kind": chance.choice([None, "table", "text", "list"]),
        "topics": chance.sample("abc", chance.randint(0, 3)) or None,
        "dates": chance.sample(DATES, chance.randint(0, 2)) or None,
        "length": chance.choice([None, 0.5, 2, 17, -3]),
        "parent_start": parent[0],
        "parent_end": parent[1],
    }


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _words(chance: random.Random) -> str:
    return " ".join(chance.choices(FISH, k=chance.randint(1, 9)))


def _rows(collection: str, document: NewDocument) -> list[Row]:
    of_document: dict[str, Any] = {
        **document.metadata,
        "source": document.path,
        "document": [document.document_id, document.path, document.path.split("/")[-1], document.title],
        "modified_at": document.modified_at,
        "collection": collection,
    }
    return [
        Row(
            collection,
            node.node_id,
            document.document_id,
            (node.start, node.end),
            node.text,
            _listed({**of_document, **node.metadata, "page": node.page, "section": node.section}),
        )
        for node in document.nodes
    ]


def _listed(values: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {
        name: value if isinstance(value, list) else [] if value is None else [value] for name, value in values.items()
    }


def fulfils(row: Row, conditions: Sequence[Condition]) -> bool:
    """Return whether the chunk fulfils the condition."""
    return all(_fulfils(row, condition) for condition in conditions)


def _fulfils(row: Row, condition: Condition) -> bool:
    name = _OTHER_NAMES.get(condition.field, condition.field)
    values = row.values.get(name, [])
    positive = {"!=": "=", "not in": "in"}.get(condition.operator, condition.operator)
    found = any(_holds(name, value, positive, operand) for value in values for operand in condition.operands)
    return found is (positive == condition.operator)


def _holds(name: str, value: Any, operator: str, operand: str) -> bool:
    first, between, last = operand.partition("..")
    last = last if between else first
    if name in _TYPES["number"]:
        return _compares((value, value), operator, (float(first), float(first)), (float(last), float(last)))
    if name in _TYPES["date"]:
        return _compares(_seconds(value), operator, _seconds(first), _seconds(last))
    return bool(value == operand or (name == "section" and value.startswith(f"{operand} > ")))


def _compares(value: tuple[Any, Any], operator: str, first: tuple[Any, Any], last: tuple[Any, Any]) -> bool:
    """Compare spans of time, or numbers, which are spans of length zero."""
    return bool(
        {
            "<": value[1] < first[0],
            "<=": value[1] <= last[1],
            ">": value[0] > last[1],
            ">=": value[0] >= first[0],
        }.get(operator, first[0] <= value[0] and value[1] <= last[1])
    )


def _seconds(date: str) -> tuple[str, str]:
    """Return the first and the last second of a year, month, day or time."""
    month_end = f"-{monthrange(int(date[:4]), int(date[5:7]))[1]}" if len(date) == 7 else ""
    last = date + month_end
    return date + "-01-01T00:00:00"[len(date) - 4 :], last + "-12-31T23:59:59"[len(last) - 4 :]


def conditions() -> st.SearchStrategy[list[Condition]]:
    """Generate up to three conditions with every operator and type of field, on existing and missing values."""
    texts = {
        "authors": ["Ann", "Bo", "Ann;Bo", "Zoe"],
        "kind": ["table", "text", "none"],
        "type": ["table", "list"],
        "topics": ["a", "b", "z"],
        "topic": ["c"],
        "language": ["en", "lt"],
        "source": ["reports/harbour-3.md", "reports/market-1.md"],
        "doc": ["harbour-4.md", "harbour-5", "reports/market-2.md"],
        "section": ["Rules", "Rules > Nets", "Quotas", "Rul"],
        "collection": [*COLLECTIONS, "fleet"],
    }
    numbers = {"year": ["1999", "2020", "2020.5", "3000"], "page": ["0", "1", "3", "7"], "length": ["-3", "0.5", "2"]}
    dates = {name: [*DATES, *MOMENTS] for name in ("dates", "date", "valid", "modified_at")}
    equal, ordered = ["=", "!=", "in", "not in"], ["<", "<=", ">", ">="]
    one = st.one_of(
        *(_one(field, equal, st.sampled_from(values)) for field, values in texts.items()),
        *(_one(field, equal, _or_range(values)) for field, values in {**numbers, **dates}.items()),
        *(_one(field, ordered, st.sampled_from(values)) for field, values in {**numbers, **dates}.items()),
    )
    return st.lists(one, min_size=1, max_size=3)


def _or_range(values: Sequence[str]) -> st.SearchStrategy[str]:
    plain = st.sampled_from(values)
    return st.one_of(plain, st.tuples(plain, plain).map("..".join))


def _one(field: str, operators: Sequence[str], operand: st.SearchStrategy[str]) -> st.SearchStrategy[Condition]:
    def with_operands(operator: str) -> st.SearchStrategy[Condition]:
        several = st.lists(operand, min_size=1, max_size=3 if "in" in operator else 1)
        return several.map(lambda operands: Condition(field, operator, tuple(operands)))

    return st.sampled_from(operators).flatmap(with_operands)
