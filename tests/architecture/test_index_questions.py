"""Search code uses only the `Searchable` interface of an index and no arrays, so that a database can implement it."""

import ast
from dataclasses import fields
from pathlib import Path

from elt_llm_core.collection.generation import Generation
from elt_llm_core.index.local_index import LocalIndex
from elt_llm_core.index.searchable import Searchable

SEARCHING = ("elt_llm_query", "elt_llm_consumer", "elt_llm_api")
OF_THE_ENGINE = {"close"}
# Other classes have attributes with these names too, so only the attributes of a generation count.
COMMON_NAMES = {"ids", "keyword", "positions"}


def public(names: list[str]) -> set[str]:
    """The names that do not start with an underscore."""
    return {name for name in names if not name.startswith("_")}


def hidden_names() -> set[str]:
    """The public attributes of an index in files (generation) that are not part of the `Searchable` interface."""
    own = public([*dir(Generation), *(field.name for field in fields(LocalIndex))])
    return own - public(dir(Searchable)) - OF_THE_ENGINE


def test_the_arrays_of_the_index_in_files_are_not_part_of_the_searchable_interface() -> None:
    assert {"arrays", "filter_fields", "ids", "keyword", "vector_store"} <= hidden_names()


def test_the_index_in_files_implements_the_whole_searchable_interface() -> None:
    attributes = {"collection", "number", "passport"}  # these are set when a generation is opened
    assert public(dir(Searchable)) - attributes <= public(dir(Generation))


def test_search_code_reads_only_index_attributes_of_the_searchable_interface(sources: list[Path]) -> None:
    hidden = {*hidden_names(), "bm25", "mask", "masks", "positions"}
    found = [
        f"{path.name}:{node.lineno}: {ast.unparse(node)}"
        for path in sources
        if set(SEARCHING) & set(path.parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in hidden
        if node.attr not in COMMON_NAMES or "generation" in ast.unparse(node.value)
    ]
    assert found == []
