"""The result of a worker is decoded to a valid document, or is refused."""

import json
from typing import Any

import pytest
from elt_llm_core.text.outline import Section
from elt_llm_ingest.parsing.parsed_document import Block, ParsedDocument, Part
from elt_llm_ingest.sandbox.messages import (
    MalformedAnswer,
    decode_document,
    encode_document,
    encode_json,
    parse_json,
    printable_reason,
)
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
SCALARS = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False)
)
METADATA = st.dictionaries(TEXTS, st.one_of(SCALARS, st.lists(TEXTS, max_size=3)), max_size=4)
JSON = st.recursive(st.one_of(st.none(), SCALARS), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner))


@st.composite
def documents(draw: st.DrawFn, *, parts: bool = True) -> ParsedDocument:
    """Generate any document that a reader can return."""
    text = draw(TEXTS)
    offsets = st.lists(st.integers(0, len(text)), max_size=6).map(sorted)
    edges = draw(offsets)
    blocks = [
        Block(start, end, draw(st.sampled_from(("prose", "table"))), draw(st.sampled_from(("", "a | b"))))
        for start, end in zip(edges[::2], edges[1::2], strict=False)
    ]
    held = draw(st.lists(documents(parts=False), max_size=2)) if parts else []
    return ParsedDocument(
        text=text,
        title=draw(TEXTS),
        pages=tuple(draw(offsets)),
        sections=tuple(Section(start, draw(st.integers(1, 9)), draw(TEXTS)) for start in draw(offsets)),
        blocks=tuple(blocks),
        metadata=draw(METADATA),
        notes=tuple(draw(st.lists(st.sampled_from(("page 1 is damaged", "a note")), max_size=3))),
        parts=tuple(Part(f"part {number}", draw(TEXTS), document) for number, document in enumerate(held)),
        artefacts=draw(st.dictionaries(st.sampled_from(("model", "gaps_2")), JSON, max_size=2)) if parts else {},
    )


def decoded(value: Any) -> ParsedDocument:
    return decode_document(parse_json(encode_json(value)), 1000)


@given(documents())
def test_a_document_sent_by_a_worker_is_decoded_unchanged(document: ParsedDocument) -> None:
    assert decoded(encode_document(document)) == document


def test_nul_characters_are_replaced_because_postgresql_stores_none() -> None:
    document = ParsedDocument("a\0b", title="\0", metadata={"owner": "x\0", "all": ["\0y"]}, pages=(3,))
    arrived = decoded(encode_document(document))
    assert (arrived.text, arrived.title, arrived.pages) == ("a\ufffdb", "\ufffd", (3,))
    assert arrived.metadata == {"owner": "x\ufffd", "all": ["\ufffdy"]}


@given(documents(), st.data())
def test_an_altered_worker_message_is_refused_or_gives_a_document_with_valid_offsets(
    document: ParsedDocument, data: st.DataObject
) -> None:
    value = encode_document(document)
    value[data.draw(st.sampled_from(sorted(value)))] = data.draw(JSON)
    try:
        arrived = decoded(value)
    except MalformedAnswer:
        return
    assert all(0 <= block.start <= block.end <= len(arrived.text) for block in arrived.blocks)
    assert all(0 <= page <= len(arrived.text) for page in arrived.pages)


@given(st.binary(max_size=200))
def test_a_worker_message_that_is_not_a_json_object_is_refused(data: bytes) -> None:
    try:
        assert isinstance(parse_json(data), dict)
    except MalformedAnswer:
        return


@pytest.mark.parametrize(
    "payload",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": [' + b"[]," * 12_000_000 + b"0]}",
        b'"' + b'\\"' * 10_000_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
        b'{"a": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'{"a": "\xff"}',
        b"[]",
        b"",
    ],
)
def test_a_worker_message_with_hostile_json_is_refused(payload: bytes) -> None:
    with pytest.raises(MalformedAnswer):
        parse_json(payload)


def test_a_backslash_before_the_letter_u_is_decoded_unchanged() -> None:
    assert parse_json(encode_json({"a": "\\ud800"})) == {"a": "\\ud800"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pages", [3, 2]),
        ("pages", [True]),
        ("pages", [6]),
        ("sections", [[0, 0, "A"]]),
        ("sections", [[0, 1]]),
        ("blocks", [[0, 3, "prose", 0], [2, 4, "prose", 0]]),
        ("blocks", [[0, 3, "poem", 0]]),
        ("blocks", [[0, 3, "prose", 1]]),
        ("blocks", [[0, 3, ["prose"], 0]]),
        ("metadata", {"a": 2**64}),
        ("metadata", {"a": {"b": "c"}}),
        ("metadata", {"a" * 2000: "b"}),
        ("metadata", {str(number): "b" for number in range(2000)}),
        ("artefacts", {"../../../../etc/cron.d/a": {}}),
        ("artefacts", {"/tmp/a": {}}),  # noqa: S108 - a name, not a place to write to
        ("artefacts", {"a\n": {}}),
        ("artefacts", {"a": json.loads("[" * 200 + "]" * 200)}),
        ("parts", [{"name": "a" * 2000, "group": "", "document": {"text": "", "title": ""}}]),
        ("notes", [1]),
        ("text", None),
    ],
)
def test_a_worker_message_with_invalid_values_is_refused(key: str, value: Any) -> None:
    whole = encode_document(ParsedDocument("words", "T", blocks=(Block(0, 5, "prose"),)))
    assert decoded(whole).text == "words"
    with pytest.raises(MalformedAnswer):
        decoded(whole | {key: value})


def test_titles_and_metadata_in_a_worker_message_are_shortened_to_their_limits() -> None:
    document = ParsedDocument("words", "T" * 5000, sections=(Section(0, 1, "S" * 5000),), metadata={"a": "M" * 50_000})
    arrived = decoded(encode_document(document))
    assert (len(arrived.title), len(arrived.sections[0].title), len(str(arrived.metadata["a"]))) == (1000, 1000, 20_000)


def test_documents_within_a_file_with_equal_names_or_with_further_documents_inside_are_refused() -> None:
    part = Part("a", "", ParsedDocument("words", "T"))
    with pytest.raises(MalformedAnswer):
        decoded(encode_document(ParsedDocument("", "T", parts=(part, part))))
    nested = ParsedDocument("", "T", parts=(Part("a", "", ParsedDocument("", "T", parts=(part,))),))
    with pytest.raises(MalformedAnswer):
        decoded(encode_document(nested))


def test_the_texts_of_a_file_and_of_its_inner_documents_share_one_character_limit() -> None:
    half = ParsedDocument("x" * 600, "T")
    document = ParsedDocument(half.text, "T", parts=(Part("a", "", half),))
    with pytest.raises(MalformedAnswer):
        decoded(json.loads(encode_json(encode_document(document))))


@given(st.text(max_size=600))
def test_the_reason_of_a_failure_is_one_line_without_control_characters(reason: str) -> None:
    assert printable_reason(reason).isprintable()
    assert len(printable_reason(reason)) <= 400
    assert printable_reason("a \x1b[2J\n b") == "a \ufffd[2J b"
