"""The section-aware chunker keeps sections and numbered rules (such as 12.3) whole."""

from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from hypothesis import given
from hypothesis import strategies as st
from retrieval.word_counter import cut_into_words

WORDS = "of the players who stand on the field and hold the ball " * 20


def _words(count: int) -> str:
    return " ".join(WORDS.split()[:count]) + "."


def _texts(rules: list[tuple[str, int]], **settings: int) -> list[str]:
    """Return the chunks of a section. `rules` has the number, such as "3.1", and the length of each numbered rule."""
    builder = DocumentBuilder()
    builder.add_heading("3 Matches", 1)
    for number, length in rules:
        builder.add(f"{number} {_words(length)}", "rule")
    return [text for _, text in cut_into_words(builder.build("Book"), "section_aware", **settings)]


def test_a_section_that_fits_is_one_chunk() -> None:
    assert len(_texts([("3.1", 20), ("3.2", 20), ("3.3", 20)], chunk_size=80)) == 1


def test_small_numbered_rules_at_the_same_level_share_a_chunk_and_no_rule_is_cut() -> None:
    texts = _texts([(f"3.{number}", 14) for number in range(1, 9)], chunk_size=40)
    assert [text.count("\n\n3.") for text in texts] == [1 if at else 2 for at in range(len(texts))]
    assert all(text.endswith(".") for text in texts)


def test_numbered_sub_rules_stay_with_their_rule() -> None:
    rules = [("3.1", 10), ("3.1.1", 10), ("3.1.2", 10), ("3.2", 10), ("3.2.1", 10), ("3.2.2", 10)]
    first, second = _texts(rules, chunk_size=50)
    assert "3.1.2" in first
    assert "3.2 " not in first
    assert second.startswith("3.2 ")


def test_text_after_a_numbered_rule_is_in_the_chunk_of_the_rule() -> None:
    builder = DocumentBuilder()
    builder.add_heading("3 Matches", 1)
    for rule in ("3.1", "3.2", "3.3"):
        builder.add(f"{rule} The team may {_words(8)}", "rule")
        builder.add(f"(a) pay {_words(6)}", "list")
        builder.add(f"(b) play {_words(6)}", "list")
    texts = [text for _, text in cut_into_words(builder.build("Book"), "section_aware", chunk_size=40)]
    assert len(texts) == 3
    assert all("(a)" in text and "(b)" in text for text in texts)


def test_headings_without_text_are_in_the_chunk_of_the_next_section_or_numbered_rule() -> None:
    builder = DocumentBuilder()
    for chapter in (1, 2):
        builder.add_heading(f"Chapter {chapter}", 1)
        for section in (1, 2):
            builder.add_heading(f"Section {chapter}.{section}", 2)
            builder.add(_words(25))
    texts = [text for _, text in cut_into_words(builder.build("Book"), "section_aware", chunk_size=40)]
    assert [text.split("\n")[0] for text in texts] == ["Chapter 1", "Section 1.2", "Chapter 2", "Section 2.2"]


@given(lengths=st.lists(st.integers(3, 60), min_size=1, max_size=12), size=st.integers(30, 90))
def test_no_numbered_rule_that_fits_into_a_chunk_is_cut(lengths: list[int], size: int) -> None:
    rules = [(f"3.{number}", length) for number, length in enumerate(lengths, start=1)]
    texts = _texts(rules, chunk_size=size)
    for number, length in rules:
        if length + 1 <= size:
            assert sum(f"{number} {_words(length)}" in text for text in texts) == 1
