"""Whole lists as answers, and quotes without markup."""

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.outline import Outline, Section
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.extractive.answerer import Answer, ExtractiveAnswerer
from elt_llm_query.extractive.confidence import OutcomeThresholds
from elt_llm_query.extractive.lists import lists_of
from elt_llm_query.grounding.citations import cited_chunks
from elt_llm_query.grounding.sentences import sentence_candidates, strip_syntax
from elt_llm_query.understanding.question import parse_question
from retrieval.chunks import make_answerer, make_chunk

OVEN = "# The oven\n\nThis page outlines how to use the oven and the hob.\n\n## Use the oven\n\n"
STEPS = "1. Open the valve.\n2. Press the knob.\n3. Wait for the lamp.\n4. Close the door.\n"
DOCUMENT = OVEN + STEPS + "\n## Cleaning\n\n- a sponge\n- vinegar\n"
OUTLINE = Outline((), [Section(0, 1, "The oven"), Section(DOCUMENT.index("## Use"), 2, "Use the oven")])


def ask(
    question: str,
    *chunks: RetrievedChunk,
    document: str = DOCUMENT,
    outline: Outline = OUTLINE,
    least_certainty: float = 0.0,
) -> Answer:
    answerer = ExtractiveAnswerer(
        FakeEmbedding(256),
        KeywordTokeniser(),
        thresholds=OutcomeThresholds(0.0, 0.0, least_certainty),
        read_document=lambda _: (document, outline),
    )
    return answerer.answer(question, chunks)


def part(text: str, document: str = DOCUMENT) -> RetrievedChunk:
    return make_chunk(text, start=document.index(text), context="The oven > Use the oven")


def test_a_question_for_a_procedure_is_answered_by_all_steps() -> None:
    answer = ask("How do I use the oven?", part(STEPS.strip()))
    assert [citation.excerpt for citation in answer.citations] == [STEPS.strip()]
    assert answer.text == STEPS.strip() + " [1]"


def test_a_list_is_certain_unlike_the_sentences_of_its_chunk() -> None:
    assert ask("How do I use the oven?", part(STEPS.strip()), least_certainty=1.0).outcome == "answered"
    assert ask("When is the lamp on?", part(STEPS.strip()), least_certainty=1.0).outcome == "uncertain"


def test_a_list_is_quoted_completely_even_if_its_chunk_ends_within_the_list() -> None:
    chunk = part(STEPS[: STEPS.index("3.")].rstrip())
    answer = ask("How do I use the oven?", chunk)
    [citation] = answer.citations
    assert citation.excerpt == STEPS.strip() == DOCUMENT[slice(*citation.span)]
    assert cited_chunks(answer.citations, [make_chunk("Elsewhere.", document="other"), chunk]) == (chunk,)


def test_a_question_for_a_single_fact_is_not_answered_by_a_list() -> None:
    answer = ask("When is the lamp on?", make_chunk(DOCUMENT))
    assert STEPS.strip() not in answer.text


def test_an_answerer_that_cannot_read_whole_documents_quotes_single_sentences_only() -> None:
    answer = make_answerer(abstain=False).answer("How do I use the oven?", [make_chunk(DOCUMENT)])
    assert answer.text != STEPS.strip() + " [1]"


def test_a_nested_list_is_found_as_a_list_of_its_own() -> None:
    text = "Importers verify that:\n\n1. These hold:\n(a) a mark;\n(b) a name;\n2. A date\n3. A seal\n"
    found = [text[start:end] for start, end, _ in lists_of(text, ())]
    assert "1. These hold:\n(a) a mark;\n(b) a name;" in found
    assert text.strip() in found


def test_a_numbered_list_continues_after_paragraphs_between_its_items() -> None:
    text = "1. Open the valve.\n\nIf this fails, call the caretaker.\n\n- early\n- late\n\n2. Wait.\n\nThe end is near."
    assert next(text[start:end] for start, end, _ in lists_of(text, ())) == text[: text.index("\n\nThe end")]


def test_a_numbered_list_does_not_continue_under_another_heading() -> None:
    text = "1. Open the valve.\n2. Wait.\n\n# Cleaning\n\n3. Take a sponge.\n4. Dry it.\n"
    found = [text[start:end] for start, end, _ in lists_of(text, ())]
    assert found == ["1. Open the valve.\n2. Wait."]


def test_a_list_whose_first_item_is_missing_is_not_read_as_a_list() -> None:
    assert list(lists_of("3. Take a sponge.\n4. Dry it.\n", ())) == []


def test_numbered_paragraphs_of_a_law_are_not_read_as_a_list() -> None:
    paragraph = "shall keep the records " * 15
    assert list(lists_of(f"1. One {paragraph}.\n2. Two {paragraph}.\n", ())) == []


@pytest.mark.parametrize(
    "question",
    [
        "How do I cancel my card?",
        "Which sorts of hours can I pick from?",
        "Which version control systems can I name?",
        "What do I need to hand in?",
        "What are the opening hours?",
        "What happens step by step when a member leaves?",
        "Welche Unterlagen brauche ich?",
        "Quels documents faut-il apporter ?",
        "¿Qué documentos hay que presentar?",
    ],
)
def test_questions_for_steps_or_for_several_items_expect_a_list(question: str) -> None:
    assert parse_question(question).wants_list


@pytest.mark.parametrize(
    "question",
    ["How many cards are there?", "Who signs?", "What is the status?", "What's the difference between A and B?"],
)
def test_questions_for_a_single_fact_do_not_expect_a_list(question: str) -> None:
    assert not parse_question(question).wants_list


GROUPS = "Major:\n\n- the rent. It is due in May.\n- the chairs\n\nMinor:\n\n- the curtains"
COMMAND = "make  menuconfig\n  make all"


@pytest.mark.parametrize(
    ("announced", "shown"),
    [
        (GROUPS, "Major:\n- the rent. It is due in May.\n- the chairs\nMinor:\n- the curtains"),
        (COMMAND, "make menuconfig\nmake all"),
        ("543\n\nmake all", "543\nmake all"),
        ("Nobody but the warden decides.", "Nobody but the warden decides."),
        ("- the rent\n\nOther matters depend on the day:", "- the rent"),
    ],
)
def test_a_sentence_that_ends_with_a_colon_is_quoted_with_what_it_announces(announced: str, shown: str) -> None:
    opening = "The following matters depend on the room:"
    document = f"{opening}\n\n{announced}\n\nThe hall opens at nine.\n"
    answer = ask("When do matters depend on the room?", part(opening, document), document=document, outline=Outline())
    assert answer.text == f"{opening}\n{shown} [1]"


def test_a_sentence_without_a_colon_that_goes_on_in_a_numbered_list_is_quoted_with_the_list() -> None:
    document = (
        "(2) The rent of the hall is not paid\n\n1.  by pupils,\n\n2.  by the warden.\n\nThe hall opens at nine.\n"
    )
    answer = ask(
        "When is the rent of the hall not paid?",
        part("(2) The rent of the hall is not paid", document),
        document=document,
        outline=Outline(),
    )
    assert answer.text == "(2) The rent of the hall is not paid\n1. by pupils,\n2. by the warden. [1]"


def test_a_sentence_that_ends_with_a_colon_is_not_quoted_with_the_next_section() -> None:
    opening, document = "The matters that depend on the room:", "The matters that depend on the room:\n\nThe hall\n"
    outline = Outline((), [Section(document.index("The hall"), 1, "The hall")])
    assert ask("When do matters depend?", part(opening, document), document=document, outline=outline).text == (
        f"{opening} [1]"
    )


def test_a_list_is_quoted_whole_if_one_of_its_items_is_the_best_sentence_by_far() -> None:
    document = "The steps are:\n\n- How do I add my own lesson file here: copy it\n- Press\n- Wait\n"
    chunk = part("- How do I add my own lesson file here: copy it", document)
    answer = ask("How do I add my own lesson file here?", chunk, document=document, outline=Outline())
    assert answer.text == document.replace("\n\n", "\n").strip() + " [1]"


def test_a_single_item_of_a_list_is_shown_below_the_sentence_that_introduces_the_list() -> None:
    text = (
        "The hall may not be let to:\n\n- minors without a guarantor, or\n- clubs that owe rent. They may pay first.\n"
    )
    answer = make_answerer(abstain=False).answer("What about a guarantor?", [make_chunk(text)], max_sentences=1)
    assert answer.text == "The hall may not be let to:\n- minors without a guarantor [1]"
    assert answer.citations[0].excerpt == "- minors without a guarantor, or"


@pytest.mark.parametrize(
    ("document", "opening", "quoted"),
    [
        ("1. Bring:\n   - paper\n   - a pen\n2. Write\n", "1. Bring:", "1. Bring:\n- paper\n- a pen"),
        (
            "• Pay, unless:\n\n• one,\n• two, or\n• three.\n• Go.\n",
            "• Pay, unless:",
            "• Pay, unless:\n• one,\n• two, or\n• three.",
        ),
        (
            "Bring all of these:\n\n• paper and\n• a pen.\n• a ruler\n",
            "Bring all of these:",
            "Bring all of these:\n• paper and\n• a pen.\n• a ruler",
        ),
        ("3. Bring:\n\n1. paper\n2. a pen\n4. Write.\n", "3. Bring:", "3. Bring:\n1. paper\n2. a pen"),
        ("3. Bring:\n\n3. paper\n4. a pen\n", "3. Bring:", "3. Bring:\n3. paper\n4. a pen"),
    ],
)
def test_a_list_within_an_item_ends_before_the_next_item_of_the_outer_list(
    document: str, opening: str, quoted: str
) -> None:
    question = f"When {opening.strip('1.• :')}?"
    answer = ask(question, part(opening, document), document=document, outline=Outline())
    assert answer.text == f"{quoted} [1]"


def test_an_announced_list_that_is_too_long_to_be_shown_whole_ends_with_an_ellipsis() -> None:
    opening = "The following matters depend on the room:"
    document = f"{opening}\n\n" + "".join(f"- matter {number}, {'x' * 90}\n" for number in range(20))
    text = ask("When do matters depend?", part(opening, document), document=document, outline=Outline()).text
    assert text.endswith("\n… [1]")
    assert "matter 7" in text


def test_a_short_opening_of_a_list_is_quoted_with_the_sentence_before_it() -> None:
    text = "The lamp is old. Clean it with care. In particular:\n\n- Pull the plug.\n- Wait.\n\nRest:\n\n- one\n- two\n"
    starts = [text[start:end].partition(":")[0] for start, end, _ in lists_of(text, ())]
    assert starts == ["Clean it with care. In particular", "Rest"]


def test_a_quote_that_starts_with_a_term_above_its_indented_definition_contains_the_whole_definition() -> None:
    document = (
        "Strength\n  Abbreviated to Str. Increases the load of the lift\n  and of the stage.\n\nDexterity\n  Speed.\n"
    )
    chunk = part("Strength\n  Abbreviated to Str.", document)
    answer = ask("What does Strength do?", chunk, document=document, outline=Outline())
    assert answer.text == "Strength: Abbreviated to Str. Increases the load of the lift and of the stage. [1]"
    assert answer.citations[0].excerpt == document[: document.index("\n\n")]


@pytest.mark.parametrize("text", ["- Bring a towel\n  Ask for soap.", "Members can lift\n  the bell with a rope."])
def test_an_indented_line_of_a_list_item_or_of_a_sentence_is_not_read_as_a_definition(text: str) -> None:
    answer = ask("Who can lift or bring?", part(text, text), document=text, outline=Outline())
    assert answer.text == f"{' '.join(text.split())} [1]"


def test_a_block_with_aligned_columns_keeps_its_lines() -> None:
    block = "35 b  Acoustic Room     59 c  Ride Room\n36 d  Bass Room         60 e  High Room"
    answer = ask("Which room has number 36?", part(block, block), document=block, outline=Outline())
    assert answer.text == "35 b Acoustic Room 59 c Ride Room\n36 d Bass Room 60 e High Room [1]"


def test_a_wrapped_line_that_starts_with_a_word_in_brackets_is_not_read_as_a_list_item() -> None:
    document = "Visitors can lift the small bell with the rope or\n(get) the big bell with the winch.\n"
    answer = ask("Who can lift the bell?", part(document.strip(), document), document=document, outline=Outline())
    assert answer.text == f"{' '.join(document.split())} [1]"


def test_a_quote_starts_at_the_start_of_its_sentence_even_if_its_chunk_starts_within_the_sentence() -> None:
    document = "Scripts are kept in the folder of the system and are run when the machine starts.\n"
    chunk = make_chunk(document[document.index("folder") :].strip(), start=document.index("folder"))
    answer = ask("When are scripts run?", chunk, document=document, outline=Outline())
    assert answer.citations[0].excerpt == document.strip()


def test_a_quote_of_a_sentence_that_is_too_long_starts_at_a_part_of_it() -> None:
    parts = [f"'thing {number}' means a tool that is kept in shed {number} of the yard" for number in range(40)]
    document = "Intro.\n\nIn this law: " + "; ".join(parts) + ".\n"
    start = document.index("kept in shed 30")
    answer = ask("What is kept in shed 30?", make_chunk(document[start:].strip(), start=start), document=document)
    assert answer.citations[0].excerpt.startswith("'thing 30' means a tool that is kept in shed 30")


def test_a_numbered_heading_above_numbered_steps_is_not_their_first_step() -> None:
    document = "5. Buying\n\nAsk the clerk.\n\n6. Disposing of records\n\n" + STEPS
    titles = ["5. Buying", "6. Disposing of records"]
    assert [document[start:end] for start, end, _ in lists_of(document, titles)] == [STEPS.strip()]
    outline = Outline((), [Section(document.index(title), 1, title) for title in titles])
    chunk = make_chunk(document[document.index("6.") :].strip(), start=document.index("6."), context=titles[1])
    assert ask("How do I dispose of records?", chunk, document=document, outline=outline).text == f"{STEPS.strip()} [1]"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Write to [the desk](mailto:desk@example.org).", "Write to the desk."),
        ('See [leave]({% page "/leave/#(old)" %}) first.', "See leave first."),
        ("Ask [the\ndesk](https://example.org) first.", "Ask the\ndesk first."),
        ("**Press** the __knob__.", "Press the knob."),
        ("***Press*** it.", "Press it."),
        ("It opened in 1971.[4] It closed.", "It opened in 1971. It closed."),
        ("[4] It closed.", "It closed."),
        ("Even a small system [6] may grow, and a large one [7].", "Even a small system may grow, and a large one."),
        ("The rules of [6] apply; see [7].", "The rules of [6] apply; see [7]."),
        ("Go to <https://example.org/a>.", "Go to https://example.org/a."),
        ("The array a[1] and `__init__` stay.", "The array a and `__init__` stay."),
        ("Sam Paice<br/>sam@example.org", "Sam Paice sam@example.org"),
        ('Use the <u>old</u> <a href="https://example.org">form</a>.', "Use the old form."),
        ("Write `<br>` in --file=<a config file>.", "Write `<br>` in --file=<a config file>."),
        ("- [ ] Lock the door\n- [x] Ring", "- Lock the door\n- Ring"),
    ],
)
def test_the_answer_contains_no_markup_of_its_source(written: str, read: str) -> None:
    assert strip_syntax(written) == read


def test_an_image_without_alternative_text_is_not_quoted_as_a_sentence() -> None:
    chunk = make_chunk("![](./assets/a-long-name-of-an-image-1.png)\n\nThe library opens at nine o'clock.")
    assert [candidate.text for candidate in sentence_candidates([chunk])] == ["The library opens at nine o'clock."]
