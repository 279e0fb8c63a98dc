from elt_llm_core.models.completion import ThinkingFilter
from hypothesis import given
from hypothesis import strategies as st


def fed(pieces: list[str]) -> str:
    """Feed a text to a filter in pieces, and return the answer that it left."""
    sieve = ThinkingFilter()
    return "".join([*(sieve.feed(piece) for piece in pieces), sieve.finish()])


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@given(st.lists(st.integers(0, 60), max_size=12))
def test_the_thinking_of_a_model_is_removed_however_the_stream_is_split(places: list[int]) -> None:
    assert fed(cut("<think>so < it\nis</think>\n\nIt is <b>two</b>.", places)) == "It is <b>two</b>."


@given(st.text(alphabet="<think>/ \nab", max_size=40), st.lists(st.integers(0, 40), max_size=8))
def test_a_text_that_does_not_start_with_thinking_is_unchanged(text: str, places: list[int]) -> None:
    if not text.lstrip().startswith("<think>"):
        assert fed(cut(text, places)) == text


def test_thinking_without_a_closing_tag_gives_an_empty_answer() -> None:
    assert fed(["<think>and then", " and then"]) == ""


def test_a_thinking_tag_within_the_answer_is_part_of_the_answer() -> None:
    assert fed(["Write <think>x</think> so."]) == "Write <think>x</think> so."
