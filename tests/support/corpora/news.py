"""A reproducible corpus of news: three desks, towns and years; each report has a unique number."""

import random
from dataclasses import dataclass
from pathlib import Path

DESKS = {
    "weather": "The river rose overnight in {town}, and {figure} houses were flooded before the pumps arrived.",
    "sport": "The lantern run in {town} was finished by {figure} runners, the last of them after dark.",
    "council": "The council of {town} voted to plant {figure} lime trees along the road to the station.",
}
TOWNS = ("Millbrook", "Quillhaven", "Ashford Lock", "Nether Wold", "Saltmarsh", "Harrow Green", "Pebble Cross")
YEARS = (2019, 2021, 2023)
_FILLERS = (
    "Neighbours brought soup and dry blankets to the school hall.",
    "A brass band played until the rain began again.",
    "The mayor thanked everybody who had carried chairs.",
    "Trains were late by half an hour for the rest of the day.",
    "Nobody could say where the donkey had been in the meantime.",
)


@dataclass(frozen=True)
class Report:
    """One article."""

    desk: str
    town: str
    year: int
    figure: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.year}-{self.town.lower().replace(' ', '-')}.md"


def write_news(folder: Path, seed: int = 3) -> list[Report]:
    """Write every report below `folder`/DESK, with front matter; returns them in order."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    figures = iter(chance.sample(range(20, 900), len(DESKS) * len(TOWNS) * len(YEARS)))
    reports = [Report(desk, town, year, next(figures)) for desk in DESKS for town in TOWNS for year in YEARS]
    for report in reports:
        told = DESKS[report.desk].format(town=report.town, figure=report.figure)
        rest = " ".join(chance.sample(_FILLERS, 2))
        path = folder / report.desk / report.name
        path.parent.mkdir(parents=True, exist_ok=True)
        day = chance.randint(1, 9)
        head = f"---\ntitle: {report.town}, {report.desk} of {report.year}\ndate: {report.year}-05-0{day}\n---\n"
        path.write_text(f"{head}\n{told} {rest}\n", encoding="utf-8")
    return reports
