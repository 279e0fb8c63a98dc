"""Tests of question parsing."""

import pytest
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.understanding.question import numbers_of, parse_question, question_language
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("question", "kind", "expects"),
    [
        ("Who approves a loan?", "who", "person"),
        ("When does the season end?", "when", "date"),
        ("In which year was the hall built?", "when", "date"),
        ("Which day of the week is the hall closed?", "when", "date"),
        ("What comes up when I press the bell?", "other", "any"),
        ("How many books may I borrow?", "how_many", "number"),
        ("How long does a loan last?", "how_many", "duration"),
        ("How much does a lost card cost?", "how_much", "money"),
        ("What is the fee for a lost card?", "how_much", "money"),
        ("What's the fee for a lost card?", "how_much", "money"),
        ("What percentage of readers return books late?", "how_much", "percentage"),
        ("What cut of the fee goes to the house?", "how_much", "percentage"),
        ("What fraction of the books is old?", "how_much", "percentage"),
        ("What part of the cost does the house bear?", "how_much", "percentage"),
        ("Into which part of the archive do old maps go?", "which", "any"),
        ("Where are the atlases kept?", "where", "place"),
        ("Why is the vault closed?", "why", "reason"),
        ("What is the name of our new librarian officer?", "who", "name"),
        ("What is the chair's name?", "who", "name"),
        ("Who is the Chief Executive of the Trust?", "who", "name"),
        ("Who is the last reader?", "who", "person"),
        ("Wie heißt die oder der Vorsitzende des Vereins?", "who", "name"),
        ("Wie lautet der Name unserer Datenschutzbeauftragten?", "who", "name"),
        ("Wie heißt die Yacht des Kaisers?", "how", "any"),
        ("What is the name of the man page?", "other", "any"),
        ("What is a folio?", "what_is", "definition"),
        ("What does ISBN stand for?", "what_is", "definition"),
        ('Who is a "reader"?', "what_is", "definition"),
        ("What counts as a folio?", "what_is", "definition"),
        ("Who is a member of the board of the library?", "who", "person"),
        ("What must I do when I lose a book?", "other", "any"),
        ("How much leave do I get each pay period?", "how_much", "number"),
        ("What do people call a folio?", "what_is", "definition"),
        ("wen does the season end", "when", "date"),
        ("were do the atlases go", "where", "place"),
        ("how offen is the hall swept", "when", "duration"),
        ("May I eat in the hall?", "yes_no", "any"),
        ("Which shelf holds the maps?", "which", "any"),
        ("How do I renew a loan?", "how", "any"),
        ("When a book is lost, who pays for it?", "who", "person"),
        ("I lost a card. How much is a new one?", "how_much", "number"),
        ("Wer genehmigt eine Ausleihe?", "who", "person"),
        ("Wie viele Bücher darf ich ausleihen?", "how_many", "number"),
        ("Wann schließt der Lesesaal?", "when", "date"),
        ("Warum ist der Saal kalt?", "why", "reason"),
        ("Was kostet eine neue Karte?", "how_much", "money"),
        ("Wie hoch ist die Leihgebühr?", "how_much", "money"),
        ("Wie hoch ist der Turm?", "how_many", "number"),
        ("Welche Frist gilt für die Rückgabe?", "how_many", "duration"),
        ("Um wie viel Uhr öffnet der Saal?", "when", "date"),
        ("Aus welchem Grund ist der Saal kalt?", "why", "reason"),
        ("Welche Behörde genehmigt den Umbau?", "who", "person"),
        ("Combien coûte une nouvelle carte ?", "how_much", "money"),
        ("Combien de temps dure un prêt ?", "how_much", "duration"),
        ("Quand ferme la salle ?", "when", "date"),
        ("Où se trouve l'atlas ?", "where", "place"),
        ("¿Cuánto cuesta una tarjeta nueva?", "how_much", "money"),
        ("¿Quién aprueba un préstamo?", "who", "person"),
        ("¿Cuándo cierra la sala?", "when", "date"),
        ("Quel est le montant de la caution ?", "how_much", "money"),
        ("Quelle est la durée du prêt ?", "how_much", "duration"),
        ("Qu'est-ce qu'un usager ?", "what_is", "definition"),
        ("Quels sont les horaires ?", "list", "any"),
        ("¿A qué hora abre la sala?", "when", "date"),
        ("¿Cuál es la cuota?", "how_much", "money"),
        ("¿Desde qué versión está disponible?", "how_many", "number"),
        ("Ab welcher Version geht das?", "how_many", "number"),
        ("¿Qué es un socio?", "what_is", "definition"),
        ("¿Qué se entiende por socio?", "what_is", "definition"),
    ],
)
def test_the_kind_of_a_question_and_its_expected_value_are_detected(question: str, kind: str, expects: str) -> None:
    understood = parse_question(question)
    assert (understood.kind, understood.expects) == (kind, expects)


@pytest.mark.parametrize(
    "question",
    ["Where do the two routes differ?", "Bus versus tram, what's it?", "When do I take the bus rather than the tram?"],
)
def test_a_question_for_a_difference_expects_no_date_place_or_definition(question: str) -> None:
    assert parse_question(question).expects == "any"


def test_capitalised_words_codes_and_quotations_in_a_question_are_read_as_names() -> None:
    names = parse_question('Does the Harbour Library lend the "Blue Atlas" to U-14 readers in May?').names
    assert set(names) == {"Harbour Library", "Blue Atlas", "U-14"}


def test_the_first_word_of_a_sentence_is_not_read_as_a_name() -> None:
    assert parse_question("I lost it. Can I borrow another?").names == ()
    assert parse_question("¿Cuánto cuesta la tarjeta?").names == ()
    assert parse_question("Is it Harbourside's, or the Rangers' own?").names == ("Harbourside", "Rangers")


def test_each_term_of_a_question_keeps_the_word_as_the_question_spells_it() -> None:
    question = parse_question("How many readers borrowed books?", KeywordTokeniser())
    assert dict(zip(question.terms, question.surfaces, strict=True))["borrow"] == "borrowed"


def test_words_that_ask_for_a_meaning_are_not_terms_of_the_question() -> None:
    assert parse_question("What do people mean by folio?").surfaces == ("folio",)


@pytest.mark.parametrize("modal", ["müssen", "können", "dürfen", "sollen", "sollten"])
def test_german_modal_verbs_in_the_plural_are_no_content_words(modal: str) -> None:
    assert parse_question(f"Wie schnell {modal} wir Bücher binden?").surfaces == ("schnell", "Bücher", "binden")
    assert parse_question(f"{modal.title()} wir Bücher binden?").surfaces == ("Bücher", "binden")


def test_the_noun_that_a_how_many_question_counts_is_detected() -> None:
    assert parse_question("How many books may I borrow?").counted == "books"


def test_thousands_separators_are_removed_from_numbers() -> None:
    assert numbers_of("1,500 of 1500 on 3.2 and 12:30") == ("1500", "3.2", "12:30")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wie hoch ist die Gebühr?", "de"),
        ("What was the fee?", "en"),
        ("In which year was the hall built?", "en"),
        ("Was the ship built in Bremen?", "en"),
        ("Who is the man in the hat?", "en"),
        ("Was kostet die Karte?", "de"),
        ("In welchem Jahr war das?", "de"),
    ],
)
def test_the_language_of_a_question_is_detected_by_function_words(text: str, language: str) -> None:
    assert question_language(text) == language


@given(st.text(max_size=200))
def test_any_text_can_be_parsed_as_a_question(text: str) -> None:
    understood = parse_question(text)
    assert len(understood.terms) == len(understood.surfaces)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I lost a card. May I have another?", ("May I have another?",)),
        ("What is the fee, and when is it due?", ("What is the fee?", "when is it due?")),
        ("Can the fine be raised, and will they warn me?", ("Can the fine be raised?", "will they warn me?")),
        ("How long do loans last?", ()),
        ("Who reads and writes here?", ()),
    ],
)
def test_several_questions_in_one_text_are_split(text: str, parts: tuple[str, ...]) -> None:
    assert parse_question(text).parts == parts


def test_questions_with_two_parts_are_detected() -> None:
    assert parse_question("How long are loans to adults and to children?").twofold
    assert not parse_question("I am old and grey. How long do loans last?").twofold
