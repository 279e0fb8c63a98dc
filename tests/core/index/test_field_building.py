"""The fields of a published generation come from the metadata of its documents and chunks."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation, publish
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.store import Store, open_store
from stored.shelf import COLLECTION, new_document, recipe_of, writing

Values = dict[str, set[Any]]
DOCUMENTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "deep/a.md": ("alpha", {"authors": "Ann; Bo", "year": 2020, "language": "en"}, {"kind": "table", "topics": ["x"]}),
    "b.md": (
        "beta",
        {"year": "1999", "edition": 2, "public": True, "kind": "from its document"},
        {"topics": ["x", "y"]},
    ),
    "c.md": ("gamma", {"edition": "2nd", "valid": "2024-05-01"}, {"dates": ["2024-03", "2024-03-05", "soon"]}),
    "copy of c.md": ("gamma", {}, {}),
}


def _publish(store: Store, embedding: FakeEmbedding) -> None:
    record = store.collections.create(COLLECTION)
    versions = []
    for path, (text, of_document, of_chunk) in DOCUMENTS.items():
        document = new_document(path, [text])
        nodes = tuple(replace(node, metadata=of_chunk, section=f"{text} > one") for node in document.nodes)
        moment = "2024-06-01T12:00:00.5+02:00" if path == "b.md" else None
        document = replace(document, metadata=of_document, nodes=nodes, modified_at=moment)
        versions.append(store.documents.add(record.id, document))
    wanted = store.nodes.to_embed(versions)
    vectors = embedding.embed_texts(list(wanted.values()))
    store.vectors.add(embedding.fingerprint.key, list(wanted), vectors)
    publish(store, COLLECTION, versions, recipe_of(embedding), SilentListener())


def _values(generation: Generation, name: str) -> dict[str, set[Any]]:
    """Return the field's values of each node, by the node's text, found by filtering on one value after another."""
    field = generation.filter_fields.get(name)
    assert field is not None
    texts = [node.text for node in generation.nodes(generation.ids)]
    found: dict[str, set[Any]] = {text: set() for text in texts}
    for place, value in enumerate(field.values):
        mask = field.having(_only(place, len(field.values)))
        for text, has in zip(texts, mask.tolist(), strict=True):
            found[text] |= {value} if has else set()
    return found


def _only(place: int, count: int) -> Any:
    return np.arange(count) == place


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[str, Values]]:
    """Return {field name: (type, values by node text)} of a published generation."""
    data_dir: Path = tmp_path_factory.mktemp("fields")
    embedding = FakeEmbedding()
    with writing(data_dir) as store:
        _publish(store, embedding)
    with open_store(data_dir) as store, open_generation(store, COLLECTION, embedding.fingerprint) as generation:
        names = generation.filter_fields.names
        types = {name: field.type for name in names if (field := generation.filter_fields.get(name))}
        return {name: (types[name], _values(generation, name)) for name in names}


def test_every_generation_has_the_standard_filter_fields(fields: Mapping[str, Any]) -> None:
    always = "authors dates document id kind language modified_at organisations page section source title topics year"
    assert set(always.split()) <= fields.keys()


@pytest.mark.parametrize(
    ("name", "kind", "alpha", "beta", "gamma"),
    [
        ("authors", "text", {"Ann", "Bo"}, set(), set()),
        ("year", "number", {2020}, {1999}, set()),
        ("edition", "text", set(), {"2"}, {"2nd"}),
        ("public", "text", set(), {"true"}, set()),
        ("valid", "date", set(), set(), {"2024-05-01"}),
        ("kind", "text", {"table"}, {"from its document"}, set()),
        ("topics", "text", {"x"}, {"x", "y"}, set()),
        ("dates", "date", set(), set(), {"2024-03", "2024-03-05"}),
        ("section", "path", {"alpha > one"}, {"beta > one"}, {"gamma > one"}),
        ("modified_at", "date", set(), {"2024-06-01T10:00:00"}, set()),
        ("source", "text", {"deep/a.md"}, {"b.md"}, {"c.md", "copy of c.md"}),
    ],
)
def test_a_filter_field_has_the_values_of_the_stored_metadata(
    fields: Mapping[str, tuple[str, Values]], name: str, kind: str, alpha: set[Any], beta: set[Any], gamma: set[Any]
) -> None:
    assert fields[name] == (kind, {"alpha": alpha, "beta": beta, "gamma": gamma})


def test_a_filter_on_the_field_document_matches_its_id_path_file_name_or_title(
    fields: Mapping[str, tuple[str, Values]],
) -> None:
    of_alpha = fields["document"][1]["alpha"]
    assert of_alpha == fields["id"][1]["alpha"] | {"deep/a.md", "a.md", "a"}
