"""A reproducible corpus of invented research papers: sections of a few sentences with unique numbers."""

import random
from dataclasses import dataclass
from pathlib import Path

_SUBJECTS = (
    ("moss", "dries walls of old mills"),
    ("lichen", "marks the age of gravestones"),
    ("peat", "keeps butter for centuries"),
    ("clay", "rings when it is fired twice"),
    ("beeswax", "stops the creaking of floors"),
    ("nettle fibre", "carries a wet load"),
    ("birch tar", "holds flint to wood"),
    ("kelp ash", "clears green glass"),
)
_ASIDES = (
    "The weather was mild and the instruments were kept under a roof.",
    "Each reading was taken twice by different hands.",
    "Earlier work had looked at larger samples over a shorter time.",
    "The workshop had been a bakery before.",
)


@dataclass(frozen=True)
class Paper:
    """One paper, and the figures in its sections."""

    subject: str
    samples: int
    effect: float
    months: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.subject.replace(' ', '-')}.md"

    @property
    def finding(self) -> str:
        """The sentence that states the main result."""
        return f"With {self.subject} the loss fell by {self.effect} percent against the control."


def write_papers(folder: Path, seed: int = 11) -> list[Paper]:
    """Write every paper as Markdown with headings; returns them in order."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    papers = []
    for subject, claim in _SUBJECTS:
        paper = Paper(subject, chance.randint(40, 400), chance.randint(20, 900) / 10, chance.randint(3, 48))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / paper.name).write_text(_text(paper, claim, chance), encoding="utf-8")
        papers.append(paper)
    return papers


def _text(paper: Paper, claim: str, chance: random.Random) -> str:
    sections = {
        "Abstract": f"We ask whether {paper.subject} {claim}.",
        "Methods": f"We took {paper.samples} samples of {paper.subject} and watched them for {paper.months} months.",
        "Results": paper.finding,
        "Limitations": f"No sample of {paper.subject} was older than the shed it was kept in.",
    }
    told = [f"## {title}\n\n{_around(sentence, chance)}\n" for title, sentence in sections.items()]
    return f"# How {paper.subject} {claim}\n\n" + "\n".join(told)


def _around(sentence: str, chance: random.Random) -> str:
    before, *after = chance.sample(_ASIDES, 3)
    return " ".join([before, sentence, *after])
