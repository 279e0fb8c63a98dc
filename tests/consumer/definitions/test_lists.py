"""Glossaries written as lists are read under a heading, after an announcing line, and without either."""

import pytest
from row_jobs.definitions import defined, terms_in

TWO = [("Asset", "a thing that is owned."), ("Audit", "a check of the books.")]


@pytest.mark.parametrize(
    "entries",
    [
        "Asset: a thing that is owned.\nAudit: a check of the books.\n",
        "- Asset - a thing that is owned.\n- Audit - a check of the books.\n",
        "- **Asset**: a thing that is owned.\n- **Audit** – a check of the books.\n",  # noqa: RUF001
        "**Asset**\n: a thing that is\n  owned.\n\n**Audit**\n: a check of the books.\n",
        "Asset\n   a thing that is\n   owned.\n\nAudit\n   a check of the books.\n",
        "**Asset.** a thing that is owned.\n\n**Audit.** a check of the books.\n",
    ],
)
@pytest.mark.parametrize("heading", ["# Glossary", "# 1.5. Definitions", "# Part C: Definitions and interpretation"])
def test_entries_under_a_heading_of_definitions_are_found(heading: str, entries: str) -> None:
    assert defined(f"{heading}\n\n{entries}\n# Fees\n\n- Fee: ten pounds\n") == TWO


def test_terms_on_separate_lines_and_in_headings_are_found() -> None:
    lines = "# Glossary\n\nWorking Day\nA day other than Sunday.\nBoard\nThe directors:\n\n• elected\n• co-opted\n\n"
    lines += "Case\nA matter before the board.\n"
    assert terms_in(lines) == ["Working Day", "Board", "Case"]
    assert dict(defined(lines))["Board"] == "The directors: • elected • co-opted"
    headings = "# Glossary\n\n## A\n\n### Asset\n\nA thing that is owned.\n\nIt may be sold.\n\n### Audit\n\nA check.\n"
    assert defined(headings) == [("Asset", "A thing that is owned. It may be sold."), ("Audit", "A check.")]


def test_abbreviations_under_their_heading_are_found() -> None:
    assert defined("# Abbreviations\n\nYGM    Yearly General Meeting\nCEO – Chief Executive Officer\n") == [  # noqa: RUF001
        ("YGM", "Yearly General Meeting"),
        ("CEO", "Chief Executive Officer"),
    ]


def test_a_list_that_looks_like_a_glossary_counts_under_any_heading() -> None:
    text = (
        "# The trade\n\nDivot: a piece of turf cut out of the pitch.\nScarifying: raking dead grass out of the turf.\n"
    )
    text += "Run-off: the strip between the line and the\nnearest hard object.\n\nTelephone: 0555 010 0177\n"
    assert terms_in(text) == ["Divot", "Scarifying", "Run-off"]


def test_a_line_may_announce_a_list_of_definitions() -> None:
    text = (
        "# Gates\n\nWords used by our stewards:\n\n- **Late Gate** - the small gate beside the club shop.\n\nThe end.\n"
    )
    assert defined(text) == [("Late Gate", "the small gate beside the club shop.")]
