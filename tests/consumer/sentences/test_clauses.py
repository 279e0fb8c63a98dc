"""The clauses of rules are read with subject, verb, modality and targets."""

from itertools import pairwise

import pytest
from elt_llm_consumer.sentences.reader import SentenceReader
from elt_llm_consumer.sentences.words import VerbLexicon, sentence_words
from hypothesis import given
from hypothesis import strategies as st


def read(sentence: str) -> list[tuple[str, str, str, str]]:
    """Return the subjects, modality, verb and targets of each clause as text."""
    return [
        (
            ", ".join(one.written for one in clause.subjects),
            clause.modality,
            ("be " if clause.passive else "") + clause.verb,
            ", ".join(f"{it.by} {it.phrase.written}".strip() for it in clause.targets),
        )
        for clause in SentenceReader(VerbLexicon()).clauses(sentence_words(sentence))
    ]


@pytest.mark.parametrize(
    ("sentence", "subject", "modality", "verb", "targets"),
    [
        ("A Member Club shall send the form to the Clerk.", "Member Club", "must", "send", "form, to Clerk"),
        ("The Clerk must not disclose a record.", "Clerk", "must not", "disclose", "record"),
        ("The Board may at any time appoint an auditor.", "Board", "may", "appoint", "auditor"),
        ("No invoice may be paid by the Clerk.", "invoice", "may", "be pay", "by Clerk"),
        ("The register is kept by the Clerk.", "register", "does", "be keep", "by Clerk"),
        ("The Clerk keeps the register.", "Clerk", "does", "keep", "register"),
        ("A clerk should not sign a contract.", "clerk", "should not", "sign", "contract"),
        ("The Board cannot delegate this power.", "Board", "may not", "delegate", "power"),
        ("If a member leaves, the Clerk must inform the Board.", "Clerk", "must", "inform", "Board"),
        ("A member of the Board must sign the register.", "member", "must", "sign", "register"),
        ("A member who owes a fee must not attend a meeting.", "member", "must not", "attend", "meeting"),
        ("An invoice received after that date may not be paid.", "invoice", "may not", "be pay", ""),
        ("The Clerk and the Treasurer must sign the report.", "Clerk, Treasurer", "must", "sign", "report"),
        ("The report must be sent to the members' agent.", "report", "must", "be send", "to agent"),
    ],
)
def test_a_clause_is_parsed_into_subject_verb_and_objects(
    sentence: str, subject: str, modality: str, verb: str, targets: str
) -> None:
    assert read(sentence)[-1] == (subject, modality, verb, targets)


def test_two_verbs_joined_by_and_have_the_same_subject() -> None:
    assert read("The Treasurer keeps the accounts, collects fees and fines, and reports to the Board.") == [
        ("Treasurer", "does", "keep", "accounts"),
        ("Treasurer", "does", "collect", "fees, fines"),
        ("Treasurer", "does", "report", "to Board"),
    ]


@pytest.mark.parametrize(
    ("sentence", "subject", "modality", "verb", "targets"),
    [
        ("Das Mitglied muss dem Vorstand den Beitrag zahlen.", "Mitglied", "must", "zahlen", "Vorstand, Beitrag"),
        ("Der Kassenwart darf die Liste nicht ändern.", "Kassenwart", "may not", "ändern", "Liste"),
        (
            "Der Vorstand soll Berichte an Mitglieder senden.",
            "Vorstand",
            "should",
            "senden",
            "Berichte, an Mitglieder",
        ),
    ],
)
def test_a_german_rule_is_parsed_with_the_infinitive_at_its_end(
    sentence: str, subject: str, modality: str, verb: str, targets: str
) -> None:
    assert read(sentence) == [(subject, modality, verb, targets)]


@pytest.mark.parametrize("text", ["muss den Beitrag nicht zahlen", "muss keinen Beitrag zahlen"])
def test_a_negated_german_obligation_is_not_read_as_a_clause(text: str) -> None:
    assert read(f"Das Mitglied {text}.") == []


@pytest.mark.parametrize(
    ("predicate", "modality", "verb", "targets"),
    [
        ("bestellt auf Vorschlag des Beirats einen Prüfer", "does", "bestellen", "auf Vorschlag, Prüfer"),
        ("wählt den Kassenwart für zwei Jahre", "does", "wählen", "Kassenwart, für zwei Jahre"),
        ("ernennt keinen Prüfer", "does not", "ernennen", "Prüfer"),
        ("darf ohne Zustimmung einen Prüfer bestellen", "may", "bestellen", "ohne Zustimmung, Prüfer"),
    ],
)
def test_a_german_appointment_is_parsed_with_its_objects(
    predicate: str, modality: str, verb: str, targets: str
) -> None:
    assert read(f"Der Vorstand {predicate}.") == [("Vorstand", modality, verb, targets)]


@pytest.mark.parametrize("predicate", ["wählt den Kassenwart ab", "wählt den Kassenwart und ernennt den Prüfer"])
def test_a_german_verb_with_a_second_part_or_beside_another_verb_is_not_read(predicate: str) -> None:
    assert read(f"Der Vorstand {predicate}.") == []


def test_a_quantity_is_read_with_its_noun() -> None:
    clause = SentenceReader(VerbLexicon()).clauses(sentence_words("A team must have one or more trained helpers."))[0]
    assert (clause.verb, clause.targets[0].phrase.count, clause.targets[0].phrase.written) == (
        "have",
        "one or more",
        "trained helpers",
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Automatic handling of configuration files by the installer",
        "There are several legal issues that make it hard.",
        "See the documents listed in Part B.",
        "The club has failed to appear.",
        "What would happen next?",
        "",
    ],
)
def test_words_without_an_unambiguous_subject_and_verb_are_not_parsed_as_a_clause(sentence: str) -> None:
    assert read(sentence) == []


_WORDS = st.sampled_from(
    [
        "the",
        "a",
        "Clerk",
        "Board",
        "register",
        "must",
        "may",
        "not",
        "send",
        "keeps",
        "kept",
        "is",
        "by",
        "to",
        "of",
        "and",
        "or",
        ",",
        ".",
        "who",
        "that",
        "one",
        "or",
        "more",
        "it",
        "has",
        "up",
        "at",
        "least",
        "club's",
        "only",
    ]
)


@given(st.lists(_WORDS, max_size=40))
def test_every_noun_phrase_consists_of_words_of_its_sentence(written: list[str]) -> None:
    sentence = " ".join(written)
    reader = SentenceReader(VerbLexicon())
    words = sentence_words(sentence)
    phrases = [*reader.phrases(words), *(it for clause in reader.clauses(words) for it in clause.subjects)]
    assert all(one.words for one in phrases)
    for one in phrases:
        assert [sentence[word.start : word.end] for word in one.words] == [word.written for word in one.words]
        assert one.first < one.last <= len(words)


@given(st.text(max_size=200))
def test_the_words_read_from_any_text_match_their_spans(text: str) -> None:
    words = sentence_words(text)
    assert [text[word.start : word.end] for word in words] == [word.written for word in words]
    assert all(left.end <= right.start for left, right in pairwise(words))
    SentenceReader(VerbLexicon()).clauses(words)
