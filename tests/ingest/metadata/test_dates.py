"""Dates written in digits or words are found; text that only looks like a date is ignored."""

import datetime as dt

import pytest
from elt_llm_ingest.metadata.dates import dates_in
from hypothesis import given
from hypothesis import strategies as st

ENGLISH = "January February March April May June July August September October November December".split()  # noqa: SIM905
GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()  # noqa: SIM905
LITHUANIAN = (
    "sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio".split()  # noqa: SIM905
)
STYLES = (
    *("{d:%Y-%m-%d}", "{d:%Y/%m/%d}", "{d:%d.%m.%Y}", "{d.day}.{d.month}.{d.year}", "{d:%Y-%m-%d}T10:30:00Z"),
    *("{d.day} {english} {d.year}", "{english} {d.day}, {d.year}", "the {d.day}th of {english} {d.year}"),
    *("{d.day}. {german} {d.year}", "{d.year} m. {lithuanian} {d.day} d.", "Saturday, {english} {d.day} {d.year}"),
)


@given(st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31)), st.sampled_from(STYLES))
def test_a_date_is_found_in_every_notation(day: dt.date, style: str) -> None:
    months = {"english": ENGLISH, "german": GERMAN, "lithuanian": LITHUANIAN}
    written = style.format(d=day, **{language: names[day.month - 1] for language, names in months.items()})
    assert dates_in(f"It started on {written}, as was agreed.") == [day.isoformat()]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("March 2nd, 2024", "2024-03-02"),
        ("5 de enero de 2024", "2024-01-05"),
        ("the 2nd day of March 2024", "2024-03-02"),
        ("Mar. 2024", "2024-03"),
        ("Released June, 2009.", "2009-06"),
        ("02-Mar-24", "2024-03-02"),
        ("le 1er janvier 2024", "2024-01-01"),
        ("am 5. und 12. Mai 2024", "2024-05-05 2024-05-12"),
        ("2024 m. kovo mėn.", "2024-03"),
        ("2024-03", "2024-03"),
        ("1-3 May 2024", "2024-05-01 2024-05-03"),
        ("February 23\u201324, 2016", "2016-02-23 2016-02-24"),
        ("1.-3.5.2024", "2024-05-01 2024-05-03"),
        ("28.02.-03.03.2024", "2024-02-28 2024-03-03"),
        ("01.02.2024-05.02.2024", "2024-02-01 2024-02-05"),
        ("from 1 July 2023 to 30 June 2024", "2023-07-01 2024-06-30"),
        ("from 1 July to 30 June 2024", "2023-07-01 2024-06-30"),
        ("1 March to 30 June 2024", "2024-03-01 2024-06-30"),
        ("between August and October 1944", "1944-08 1944-10"),
        ("2/3/2024", "2024-03-02"),
        ("12/31/2024 and 2/3/2024", "2024-02-03 2024-12-31"),
        ("27/01/22", "2022-01-27"),
        ("3.4.2012", "2012-04-03"),
        ("5 May 2024, 4 May 2024, again 5 May 2024", "2024-05-04 2024-05-05"),
    ],
)
def test_each_date_is_returned_once_in_ascending_order(text: str, dates: str) -> None:
    assert dates_in(text) == dates.split()


@pytest.mark.parametrize(
    "text",
    [
        *("31.02.2024", "2024-13-02", "2024-02-30", "30 February 2024", "0 May 2024", "32 May 2024"),
        *("10.12.2.1", "192.168.12.24", "kernel 2.2.10", "v3.4.2012", "Rule 3.4.2012", "/usr/lib/libz.so.1.2.3.4"),
        *("ISBN 978-3-16-148410-0", "+44 20 7946 0018", "£10.12", "1,234.56", "20240302", "2016/679", "EN 1993-1-1"),
        *(
            "in 2024",
            "2011-12",
            "the season 2025/26",
            "1623-25",
            "Spring 2024",
            "Q1 2024",
            "in the 1990s",
            "May 2024-25",
        ),
        *(
            "31 May",
            "by 10 June",
            "we may 2024",
            "to march 2024 miles",
            "the Mars 2020 rover",
            "three years ago, 2019",
            "POSIX.1-2017",
        ),
        *("4:51", "30/31", "4 x 10", "see http://lists.example.org/2009/03/msg00010.html", "", "report-2024-03-02.pdf"),
    ],
)
def test_text_that_only_looks_like_a_date_is_ignored(text: str) -> None:
    assert dates_in(text) == []


@given(st.text(alphabet="0123456789./- MayMarch,tho", max_size=200))
def test_every_extracted_date_is_an_existing_day_or_month(text: str) -> None:
    found = dates_in(text)
    assert found == sorted(set(found))
    for iso in found:
        dt.date.fromisoformat(iso if len(iso) == 10 else f"{iso}-01")
