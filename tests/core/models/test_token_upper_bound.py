"""The upper bound of a text's tokens is valid, and long prompts are split into short pieces."""

import pytest
from elt_llm_core.models.token_counts import TokenEstimate, TokenUpperBound, min_tokens, split_prompt
from hypothesis import given
from hypothesis import strategies as st
from model_servers.smollm import SmolLmBackend

pytestmark = pytest.mark.halved


BOUND, ESTIMATE = TokenUpperBound(), TokenEstimate()
ODD = {
    "English": "A club may change its name once a season, if it asks the General Secretary before July. " * 4,
    "German": "Ein Verein darf seinen Namen nur einmal je Spielzeit ändern, wenn er es vorher beantragt hat. " * 4,
    "Lithuanian": "Klubas gali pakeisti savo pavadinimą ne dažniau kaip kartą per sezoną, jei apie tai praneša. " * 4,
    "Hindi": "ये नियम प्रतियोगिताओं की प्रक्रिया और क्लबों के दायित्व निर्धारित करते हैं। " * 2,
    "Japanese": "東京都に住んでいます。この規則は競技の手続きと各クラブの義務を定める。" * 2,
    "pictures": "😀🚀🎉 ok 👍🏽 " * 10,
    "numbers": "\n".join(f"{17.031 * number:.3f} {9001 * number} {number}" for number in range(30)),
    "a table": "\n".join(f"| {number} | U{number} | yes |  |" for number in range(40)),
    "code": "def f(x: int) -> int:\n    if x > 3:\n        return x * f(x - 1)\n\n    return 1\n" * 4,
    "capitals": "THE CLUB SHALL NOT CHANGE ITS NAME MORE THAN ONCE PER SEASON AND REGISTRATION APPLIES. " * 3,
    "hexadecimal": " ".join(f"{2654435761 * number % 2**32:08x}" for number in range(1, 80)),
}


@pytest.fixture(scope="module")
def smollm() -> SmolLmBackend:
    return SmolLmBackend()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ODD)
def test_the_upper_bound_on_tokens_is_at_least_the_token_count_of_any_text(kind: str, smollm: SmolLmBackend) -> None:
    _, tokens = smollm.embed([ODD[kind]])
    assert tokens <= BOUND.most(ODD[kind])


def test_the_upper_bound_on_tokens_of_prose_is_near_its_token_count(smollm: SmolLmBackend) -> None:
    _, tokens = smollm.embed([ODD["English"]])
    assert BOUND.most(ODD["English"]) < 1.3 * tokens


@given(st.text(max_size=200))
def test_the_token_estimate_lies_between_the_lower_and_the_upper_bound(text: str) -> None:
    assert min_tokens(text) <= max(len(ESTIMATE.spans(text)), BOUND.most(text))
    assert len(ESTIMATE.spans(text)) <= BOUND.most(text)


@given(st.text(st.characters(codec="utf-8"), max_size=400), st.integers(20, 80))
def test_the_pieces_of_a_split_prompt_are_short_and_together_form_the_prompt(text: str, most: int) -> None:
    pieces = split_prompt(text, most, len)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= max(most, 64) for piece in pieces)
