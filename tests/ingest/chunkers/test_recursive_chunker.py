"""The recursive chunker cuts at separators from coarse to fine."""

from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from retrieval.word_counter import cut_into_words, word_chunker


def _texts(text: str, **settings: object) -> list[str]:
    return [part for _, part in cut_into_words(ParsedDocument(text, "T"), "recursive", chunk_size=16, **settings)]


def test_paragraphs_that_fit_into_a_chunk_are_packed_together_and_never_cut() -> None:
    paragraphs = [f"Paragraph {number} has six words." for number in range(6)]
    assert _texts("\n\n".join(paragraphs)) == ["\n\n".join(paragraphs[at : at + 3]) for at in (0, 3)]


def test_a_paragraph_that_is_too_large_for_a_chunk_is_cut_at_the_next_finer_separator() -> None:
    lines = [f"line {number} " + "word " * 9 + "end" for number in range(3)]
    texts = _texts("Short one.\n\n" + "\n".join(lines) + "\n\nShort two.")
    assert texts == ["Short one.", *lines, "Short two."]


def test_a_line_is_cut_between_sentences_and_a_sentence_is_cut_between_words() -> None:
    sentences = ["One two three four five six seven eight nine ten.", "A b c d e f g h i j k l m n o p q r s."]
    texts = _texts(" ".join(sentences))
    assert texts[0] == sentences[0]
    assert " ".join(texts[1:]) == sentences[1]


def test_other_separators_change_the_chunk_boundaries_and_the_chunker_fingerprint() -> None:
    text = " ".join(f"w{number}{';' if number % 10 == 9 else ''}" for number in range(40))
    assert _texts(text, separators=[";"])[0].endswith("w9;")
    assert not _texts(text)[0].endswith("w9;")
    prints = {word_chunker("recursive", separators=given).fingerprint for given in ([";"], ["."], [";", "."])}
    assert len(prints) == 3


def test_an_empty_separator_in_the_settings_is_ignored() -> None:
    assert _texts("a " * 40, separators=["", " "]) == _texts("a " * 40, separators=[" "])
