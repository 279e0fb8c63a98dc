# ruff: noqa: RUF001 - the look-alike quotes and stops are what this file is about.
from itertools import pairwise

import pytest
from elt_llm_core.text.sentences import sentence_spans
from hypothesis import example, given
from hypothesis import strategies as st


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Rule 12.3.1 applies to every club.",
        "See No. 5 and Fig. 3 for the fees.",
        "Call the desk (tel. 555 0100, ext. 42) or fax. 555 0101 before noon.",
        "Rufen Sie Tel. 555 an, bspw. Herrn Ott, ca. 10 Tage vorher.",
        "Use one kit, e.g. Dr. Smith's red one, i.e. the usual.",
        "Mr. J. R. Smith of the U.S. Federation was there.",
        "The fee is 3.50 per player and v1.2.3 is out.",
        "It starts on 1 July 2026 at 3 p.m. and ends late.",
        "He left... and came back.",
        'He asked "Why?" and left.',
        "12.3 A club must register.",
        "1. The first rule is this.",
        "Am 1. Juli 2026 beginnt die Saison.",
        "Das gilt z.B. für Spieler nach Abs. 3 der Satzung.",
        "Das gilt z. B. Berlin und Wien, d. h. Kunden zahlen i. d. R. Gebühren u. a. Kosten nach § 5 i. V. m. § 7.",
        "Meals are free, e. g. Breakfast, i.\u00a0e. Toast, at 3 p. m. Sharp.",
        "Nach Art. 6 Abs. 1 lit. a DSGVO, S. 12, zahlt der TSV e. V. Gebühren nach Nr. 5.",
        "Er darf Darlehen bis 1,5 Mio. EUR, 2 Mrd. Euro oder 3 Tsd. Euro aufnehmen und hat 8 Std. Zeit.",
        "Hr. Müller, Vertr. Frau Schmidt, wohnt in der Bahnhofstr. 12, Fr. Ott bei der Fa. Bauer.",
        "Nach Pkt. 5 und UAbs. 2 der Satzung i. d. F. v. 12. Mai gelten ggfs. Az. VII ZR 5 und lfd. Nr. 3.",
        "Im 4. Quartal, zum 1. Halbjahr und bis 3. Werktag gilt der 2. Absatz, den die 87. Sitzung beschloss.",
        "Die Siedlung entstand im Jahr 44 v. Chr. Geburt nach dem Fall Brown v. Board.",
        "Acme Inc. United won.",
        "Schedule A. Smith wrote it.",
    ],
)
def test_a_full_stop_within_a_sentence_does_not_end_the_sentence(sentence: str) -> None:
    assert sentences(sentence) == [sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It starts on 1 July 2026. Then it ends.", ["It starts on 1 July 2026.", "Then it ends."]),
        ("It applies to rule 12. The club pays.", ["It applies to rule 12.", "The club pays."]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        ("Is it so? Yes! Good (really.) So be it.", ["Is it so?", "Yes!", "Good (really.)", "So be it."]),
        ("The answer is no. A player may play.", ["The answer is no.", "A player may play."]),
        ("Wait… Then go.", ["Wait…", "Then go."]),
        ("It ends at 5 p.m. The club pays etc. It is due.", ["It ends at 5 p.m.", "The club pays etc.", "It is due."]),
        ("Obst, Säfte o. Ä. Die Kasse zahlt.", ["Obst, Säfte o. Ä.", "Die Kasse zahlt."]),
        ("Es galt bis 2020. Danach nicht.", ["Es galt bis 2020.", "Danach nicht."]),
        ("Die Frist endet am 4. Sitzungen folgen.", ["Die Frist endet am 4.", "Sitzungen folgen."]),
        ("Wir wählen die 4. Danach ist Schluss.", ["Wir wählen die 4.", "Danach ist Schluss."]),
        ("Siehe Abschnitt 3. Sitzungen sind offen.", ["Siehe Abschnitt 3.", "Sitzungen sind offen."]),
        ("Siehe Abschnitt 3. Sitzung heißt Treffen.", ["Siehe Abschnitt 3.", "Sitzung heißt Treffen."]),
        ("Es kostet 2 Mio. Danach prüft HR. Clubs zahlen.", ["Es kostet 2 Mio.", "Danach prüft HR.", "Clubs zahlen."]),
        ("Er wohnt in der Bahnhofstr. Der Bus hält.", ["Er wohnt in der Bahnhofstr.", "Der Bus hält."]),
        ("Wir wählen Plan B. Der Rest folgt.", ["Wir wählen Plan B.", "Der Rest folgt."]),
        ("See Appendix A. The rest follows.", ["See Appendix A.", "The rest follows."]),
        ("我们去。好吗？是！", ["我们去。", "好吗？", "是！"]),
        ("1. First. 2. Second.", ["1. First.", "2. Second."]),
    ],
)
def test_a_full_stop_between_two_sentences_ends_the_first(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_line_break_does_not_end_a_sentence() -> None:
    assert sentences("A club must\nregister its players\r\nin time.") == [
        "A club must\nregister its players\r\nin time."
    ]


def test_a_blank_line_ends_a_sentence() -> None:
    assert sentences("Registration of players\n \nA club must register.") == [
        "Registration of players",
        "A club must register.",
    ]


def test_list_items_and_numbered_rules_start_new_sentences() -> None:
    text = "12.3 A club must:\n(a) register;\n(b) pay; and\n(c) play.\n12.4 It may:\n- rest\n  at home\n• travel\n2) go"
    assert sentences(text) == [
        "12.3 A club must:", "(a) register;", "(b) pay; and", "(c) play.",
        "12.4 It may:", "- rest\n  at home", "• travel", "2) go",
    ]  # fmt: skip


def test_list_items_that_end_with_commas_are_separate_sentences() -> None:
    assert sentences("It must:\n(a) register,\n(b) pay, or\n(c) go.") == [
        "It must:",
        "(a) register,",
        "(b) pay, or",
        "(c) go.",
    ]


def test_a_number_at_the_start_of_a_line_that_continues_a_sentence_does_not_start_a_new_sentence() -> None:
    text = "A player named in Rule\n12.4 Part B may play under\n(b) of the same."
    assert sentences(text) == [text]


def test_headings_and_table_rows_are_separate_sentences() -> None:
    text = "# Fees\nA club pays\nin time.\nGENERAL RULES\nThey hold.\n| Fee | Due. Now |\n| 5 | May |\nAfter the table"
    assert sentences(text) == [
        "# Fees", "A club pays\nin time.", "GENERAL RULES", "They hold.",
        "| Fee | Due. Now |", "| 5 | May |", "After the table",
    ]  # fmt: skip


def test_a_full_stop_in_a_cell_does_not_split_its_table_row() -> None:
    rows = ["Vehicle | Use | Driver", "Tanker | Carries sludge. Never milk. | O. Diaz", "Van | Rounds | Ina Wolf"]
    assert sentences("\n".join(rows) + "\n\nNo one else drives. Ask first.") == [
        *rows, "No one else drives.", "Ask first."
    ]  # fmt: skip


def test_text_without_visible_characters_has_no_sentences() -> None:
    assert sentence_spans("") == []
    assert sentence_spans(" \n\t\n") == []


MARKS = st.text(alphabet="aB1 .!?…\n\r\t\x0c\x1c\u2028\"')(-|#*。é𝒳:;Dr", max_size=120)


@given(text=st.one_of(MARKS, st.text(max_size=80)))
@example("... ... .\n.")
@example("a.\x1cB.\u2028c")
def test_every_visible_character_lies_in_exactly_one_sentence(text: str) -> None:
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(before <= after for (_, before), (after, _) in pairwise(spans))
    assert all(piece == piece.strip() for piece in sentences(text))
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize("pattern", ["...", "!?'", "a. ", "\n1. A", "(((", "* ", " ", "ﷺ. "])
def test_text_with_long_runs_of_punctuation_is_split_into_sentences_in_linear_time(pattern: str) -> None:
    # Quadratic time would take minutes here and meet the time limit of the job.
    assert "".join("".join(sentences(pattern * 50_000)).split()) == "".join((pattern * 50_000).split())
