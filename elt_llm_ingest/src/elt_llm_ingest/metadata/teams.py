"""Names of teams such as "the Springfield Foxes", where the text is about matches."""

import re
from collections.abc import Iterator, Sequence

from elt_llm_ingest.metadata.name_runs import Run, Word

_ABOUT = re.compile(
    r"\b(?:seasons?|playoffs?|touchdowns?|quarterback|halftime|coach(?:ed|es)?"
    r"|NFL|NBA|NHL|MLB|NCAA|Super Bowl|draft|overtime"
    r"|inning|games?|teams?|Spielzug|Saison|Spielzeit|Quarterback|Yards?|Touchdown|Spieler|Trainer|Playoffs?|saison)\b"
)
_SURELY = (
    *("layoff", "baseball", "basketball", "hockey", "touchdown", "uarterback", "halftime", "head coach", "Super Bowl"),
    *("NFL", "NBA", "NHL", "MLB", "NCAA", "Spielzug", "-Yard"),
)
_LEAST_HINTS = 2  # different words of this kind
_NO_TEAMS = frozenset(
    {
        *(
            "States",
            "Islands",
            "Games",
            "Playoffs",
            "Finals",
            "Championships",
            "Awards",
            "Series",
            "Olympics",
            "Rules",
            "Wars",
        ),
        *(
            "Mountains",
            "Hills",
            "Heights",
            "Falls",
            "Springs",
            "Rapids",
            "Players",
            "Officials",
            "Captains",
            "Clubs",
            "Teams",
        ),
        *(
            "Plains",
            "Lakes",
            "Yards",
            "Minutes",
            "Minuten",
            "Nations",
            "Netherlands",
            "Philippines",
            "Us",
            "Championship",
        ),
        *(
            "Americans",
            "Germans",
            "Europeans",
            "Divisions",
            "Seasons",
            "Articles",
            "Regulations",
            "Laws",
            "Cups",
            "Trophies",
        ),
    }
)
_BEFORE = re.compile(r"(?:\b(?:[Tt]he|[Dd]er|[Dd]ie|den)(?: (?:new|former|defunct|rival))? |['\u2019]s )$")
_ARTICLES = frozenset({"the", "der", "die", "den"})
_SHORTEST = 4  # letters of a team's plural


def team_names(text: str, runs: Sequence[Run], language: str) -> Iterator[tuple[int, int]]:
    """Where such names begin and end; one that merely ends a longer one of the same text is left out."""
    if language not in {"en", "de"} or not any(word in text for word in _SURELY):
        return
    if len({found[0] for found in _ABOUT.finditer(text)}) < _LEAST_HINTS:
        return
    teams = [team for run in runs for group in _groups(run) if (team := _team(group))]
    endings = {team[-1].text for team in teams if len(team) > 1}
    for team in teams:
        if len(team) > 1 or team[0].text not in endings:
            yield team[0].start, team[-1].end


def _groups(run: Run) -> Iterator[Sequence[Word]]:
    """Capitalised words that follow an article or a possessive."""
    first = 0 if _BEFORE.search(run.before) else None
    for place, word in enumerate(run.words):
        if not word.capitalised:
            if first is not None:
                yield run.words[first:place]
            first = place + 1 if word.text in _ARTICLES else None
    if first is not None:
        yield run.words[first:]


def _team(words: Sequence[Word]) -> Sequence[Word]:
    """The words up to the last plural; none if they begin with a league's acronym or the plural is no team's."""
    for place in range(len(words) - 1, -1, -1):
        text = words[place].text
        if text.endswith("s") and not text.endswith("ss") and len(text) >= _SHORTEST and not words[place].possessive:
            return () if text in _NO_TEAMS or words[0].text.isupper() else words[: place + 1]
    return ()
