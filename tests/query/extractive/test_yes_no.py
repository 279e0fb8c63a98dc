"""An answer to a yes-or-no question begins with Yes or No only if a sentence decides this question."""

import pytest
from retrieval.chunks import make_answerer, make_chunk

_OPENINGS = ("Yes. ", "No. ", "Ja. ", "Nein. ")


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
        ("May I feed the lions?", "You may not feed the lions.", "No. "),
        ("May I feed the lions?", "Please do not feed the lions.", "No. "),
        ("May I smoke in the building?", "Smoking is prohibited in the whole building.", "No. "),
        ("Can I photograph the parrots with a flash?", "You cannot photograph the parrots with a flash.", "No. "),
        ("Can draconians wear armour?", "Draconians cannot wear any armour.", "No. "),
        ("Must guests pay for the first lesson?", "Guests need not pay for the first lesson.", "No. "),
        ("Must beginners own an instrument?", "Beginners are not required to own an instrument.", "No. "),
        ("Can I post to the list without an account?", "You can post to the list without an account.", "Yes. "),
        ("Are candles allowed?", "Candles are allowed on the terrace.", "Yes. "),
        ("Darf man im Becken essen?", "Im Becken darf man nicht essen.", "Nein. "),
        ("Sind Haustiere im Gebäude erlaubt?", "Haustiere sind im Gebäude verboten.", "Nein. "),
        ("Müssen Schüler ein Lehrbuch kaufen?", "Schüler brauchen kein Lehrbuch zu kaufen.", "Nein. "),
        (
            "Müssen Anfänger ein Instrument besitzen?",
            "Anfänger sind nicht verpflichtet, ein Instrument zu besitzen.",
            "Nein. ",
        ),
        ("Müssen Helfer den Schuppen abschließen?", "Helfer müssen den Schuppen jeden Abend abschließen.", "Ja. "),
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
    assert not answer.text.startswith(_OPENINGS)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Can beavers eat fish?", "Otters can eat all kinds of fish."),
        ("Must seniors wear a life jacket?", "Juniors must wear a life jacket."),
        ("Can donkeys carry children?", "The ponies of the farm can carry children."),
        ("Must the coach return the boathouse key?", "The treasurer must return the boathouse key within two days."),
        ("Are cats allowed in the boats?", "Dogs are not allowed in the boats."),
        ("Can trolls wear armour?", "The tengu can wear all types of armour."),
        ("Can dogs bite cats?", "Cats can bite dogs."),
        ("Must the coach give the key to the treasurer?", "The treasurer must give the key to the coach."),
        ("Can parties rent the hall?", "Wedding parties can rent the hall."),
        ("Must the child sign?", "The parent of the child must sign."),
        ("Must the child sign?", "The parents must sign if the child is ill."),
        ("Dürfen Köche die Küche benutzen?", "Mieter dürfen die Küche benutzen."),
        ("Muss der Schüler die Liste unterschreiben?", "Die Lehrerin muss die Liste unterschreiben."),
    ],
)
def test_a_rule_for_somebody_else_gives_no_opening_word(question: str, text: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert not answer.text.startswith(_OPENINGS)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("May I watch the lions?", "You may not feed the lions."),
        ("Can parrots speak?", "You cannot photograph the parrots with a flash."),
        ("Must juniors wear shoes?", "Juniors must wear a life jacket."),
        ("Must beginners rent an instrument?", "Beginners are not required to own an instrument."),
        ("May visitors park on the grass?", "Visitors may park on the gravel."),
        ("Must refunds be requested by post?", "Refunds must be requested in writing."),
        ("Are dogs allowed at the jetty?", "Dogs are not allowed in the boats."),
        ("Dürfen Mieter die Küche umbauen?", "Mieter dürfen die Küche benutzen."),
        ("Darf man im Café essen?", "Im Becken darf man nicht essen."),
        ("Müssen Schüler ein Instrument kaufen?", "Schüler brauchen kein Lehrbuch zu kaufen."),
    ],
)
def test_a_rule_about_another_act_thing_or_place_gives_no_opening_word(question: str, text: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert not answer.text.startswith(_OPENINGS)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Can I photograph the parrots?", "You cannot photograph the parrots with a flash."),
        ("Must members wear boots?", "Members must not wear boots in the boat."),
        ("May children operate the lathe?", "Children under 12 must not operate the lathe."),
        ("May readers copy maps?", "If they are wet, readers must not copy maps."),
        ("May members vote?", "Not all members may vote."),
        ("Can members ride a camel?", "Members who cannot swim may ride a camel."),
        ("Must guests pay?", "Guests need not pay for the first lesson."),
        ("Darf man essen?", "Im Becken darf man nicht essen."),
    ],
)
def test_a_denial_of_a_part_gives_no_opening_word(question: str, text: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert not answer.text.startswith(_OPENINGS)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Can otters eat eels?", "Otters can eat all kinds of fish except eels."),
        ("May readers borrow atlases?", "Readers may borrow any book apart from the atlases."),
        ("May visitors enter with a dog?", "Visitors may enter without a dog."),
        ("May visitors enter without a dog?", "Visitors may enter with a dog."),
        (
            "Dürfen Jugendliche die Turborutsche benutzen?",
            "Jugendliche dürfen alle Rutschen außer der Turborutsche benutzen.",
        ),
        ("Darf das Kräuterbeet gegossen werden?", "Alle Beete mit Ausnahme des Kräuterbeets dürfen gegossen werden."),
        ("Darf man ohne Helm fahren?", "Mit Helm darf man fahren."),
    ],
)
def test_an_exception_gives_no_opening_word(question: str, text: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert not answer.text.startswith(_OPENINGS)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Must the trailer be insured?", "The trailer is not insured."),
        ("Can penguins climb?", "Penguins aren't as clumsy on land as people believe."),
        ("Can members ride a camel?", "The camel ride does not cost anything for members."),
        ("Can the band saw be serviced?", "The band saw has not been serviced since May."),
        ("Darf ich in die Sauna?", "Die Sauna ist nicht beheizt."),
        ("Muss die Säge gewartet werden?", "Die Säge ist nicht gewartet."),
    ],
)
def test_a_denied_fact_gives_no_opening_word(question: str, text: str) -> None:
    answer = make_answerer(abstain=False).answer(question, [make_chunk(text)])
    assert not answer.text.startswith(_OPENINGS)


def test_a_reply_to_a_question_in_the_document_is_quoted_together_with_that_question() -> None:
    text = "Can girls play in mixed teams?\n\nYes, up to the Under 16s."
    answer = make_answerer(abstain=False).answer("Can a 15 year old girl play in a senior match?", [make_chunk(text)])
    assert answer.text == "Can girls play in mixed teams? Yes, up to the Under 16s. [1]"
    assert answer.citations[0].excerpt == "Yes, up to the Under 16s."
