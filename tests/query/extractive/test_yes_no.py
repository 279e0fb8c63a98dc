"""An answer to a yes-or-no question begins with Yes or No only if a sentence decides this question."""

import pytest
from retrieval.chunks import make_answerer, make_chunk


@pytest.mark.parametrize(
    ("question", "text", "opening"),
    [
        ("Can readers copy maps?", "Readers may copy maps at the desk.", "Yes. "),
        ("Can readers copy maps?", "Readers must not copy maps.", "No. "),
        ("Are readers allowed to copy maps?", "Readers are forbidden to copy maps.", "No. "),
        ("Do readers have to register maps?", "Readers must register maps.", "Yes. "),
        ("Do readers have to register maps?", "Readers do not need to register maps.", "No. "),
        ("Should readers register maps?", "If they leave, readers should register maps.", "Yes. "),
        ("Dürfen Leser Karten kopieren?", "Leser dürfen Karten nicht kopieren.", "Nein. "),
        ("Can readers copy maps?", "Readers must not copy sheets like maps which fade in the sun.", "No. "),
        (
            "Can readers copy maps?",
            "Readers must not come in at noon and copy maps on the weak excuse that nobody needs them.",
            "No. ",
        ),
    ],
)
def test_an_answer_starts_with_yes_or_no_if_a_sentence_decides_the_question(
    question: str, text: str, opening: str
) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert answer.text == f"{opening}{text} [1]"


@pytest.mark.parametrize(
    ("question", "text", "opening"),
    [
        ("May readers keep maps for longer than 72 hours?", "Readers may keep maps for at most 72 hours.", "No. "),
        ("May readers keep maps for up to 72 hours?", "Readers may keep maps for at most 72 hours.", "Yes. "),
        ("May readers copy more than 5 maps?", "Readers may copy up to 5 maps.", "No. "),
        ("May readers under 12 copy maps?", "Readers under 12 must not copy maps.", "No. "),
        ("Must readers be at least 18?", "Readers must be at least 18.", "Yes. "),
        (
            "Dürfen Leser Karten länger als 72 Stunden behalten?",
            "Leser dürfen Karten höchstens 72 Stunden behalten.",
            "Nein. ",
        ),
        ("Darf der Leser Karten über 500 Euro kopieren?", "Der Leser darf Karten bis zu 500 Euro kopieren.", "Nein. "),
        ("Darf der Leser Karten bis zu 500 Euro kopieren?", "Der Leser darf Karten bis zu 500 Euro kopieren.", "Ja. "),
        (
            "Muss der Schaden innerhalb von 24 Stunden gemeldet werden?",
            "Jeder Schaden muss unverzüglich, spätestens innerhalb von 24 Stunden, gemeldet werden.",
            "Ja. ",
        ),
        (
            "Must a loss be reported within 24 hours?",
            "A loss must be reported without delay, within 24 hours of its discovery at the latest, to the desk.",
            "Yes. ",
        ),
    ],
)
def test_an_asked_limit_is_compared_with_the_limit_in_the_text(question: str, text: str, opening: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert answer.text == f"{opening}{text} [1]"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Can readers copy maps?", "Readers must register maps."),
        ("Can readers copy maps?", "Readers may copy maps only if the librarian agrees."),
        ("Can readers copy maps?", "Readers must not copy maps without consent."),
        ("Can 12 readers copy maps?", "Readers may copy maps in groups of 8."),
        ("Can readers from Bergen copy maps?", "Readers may copy maps."),
        ("Must readers copy maps?", "Readers may copy maps."),
        ("Must readers register maps?", "Readers should usually register maps."),
        ("Is the reading room heated?", "The reading room is heated."),
        ("How can readers copy maps?", "Readers may copy maps."),
        ("Can readers copy maps?", "Readers that do not copy maps get a ticket."),
        ("Can readers copy maps?", "Maps count for readers and not for copies."),
        ("Can readers copy maps?", "The hall is old."),
        ("May readers keep maps indefinitely?", "Readers may keep maps for at most 72 hours."),
        ("May readers keep maps for up to 72 hours?", "Readers must not keep maps for longer than 72 hours."),
        ("May readers keep maps?", "Readers must not keep maps for longer than 72 hours."),
        ("May readers keep maps for over 72 hours?", "Readers may keep maps for up to 72 hours unless told otherwise."),
        ("May readers over 16 copy maps?", "Up to 16 readers may copy maps."),
        ("May maps under 50 euros be copied?", "Maps over 50 euros may be copied."),
        ("Must readers be over 18?", "Readers must be at least 18."),
        ("Must losses be reported within a day?", "Losses need not be reported at once, within a day at the latest."),
        ("Must losses be reported within a day?", "Losses need not be reported immediately, but within a day."),
        ("Dürfen Leser nach dem 15. März Karten kopieren?", "Leser dürfen Karten bis zum 15. März kopieren."),
        ("May readers copy maps before a course?", "Readers may copy maps after a course."),
        ("May readers copy maps?", "Readers must not copy maps that belong to others."),
        ("Dürfen Leser Karten unbegrenzt behalten?", "Leser dürfen Karten höchstens 72 Stunden behalten."),
        ("Dürfen Leser vor dem Kurs Karten kopieren?", "Leser dürfen Karten erst nach dem Kurs kopieren."),
        ("Darf der Leser auch Karten kopieren?", "Der Leser darf keine Karten kopieren, die anderen gehören."),
    ],
)
def test_an_answer_does_not_start_with_yes_or_no_if_no_sentence_decides_the_question(question: str, text: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert not answer.text.startswith(("Yes", "No"))


def test_a_reply_to_a_question_in_the_document_is_quoted_together_with_that_question() -> None:
    text = "Can girls play in mixed teams?\n\nYes, up to the Under 16s."
    answer = make_answerer(abstain=False).answer("Can a 15 year old girl play in a senior match?", [make_chunk(text)])
    assert answer.text == "Can girls play in mixed teams? Yes, up to the Under 16s. [1]"
    assert answer.citations[0].excerpt == "Yes, up to the Under 16s."
