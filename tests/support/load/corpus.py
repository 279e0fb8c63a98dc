"""A reproducible library for load tests: many constant files, and some that change together to numbered editions."""

import random
import re
from itertools import accumulate
from pathlib import Path

from processes.command_line import SAMPLES

PASSAGES_A_FILE = 20
CHANGING_FILES = 10
NEWS = "bulletin"
"""A word that occurs only in the files that change with each edition."""
_WORDS_A_PASSAGE = 60
_WORD = re.compile(r"[A-Za-z]{3,14}")
_EDITION = re.compile(r"\bedition number (\d{1,9})\b")


class Library:
    """Generates reproducible text from the words of the samples with their frequencies."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        texts = [
            path.read_text(encoding="utf-8") for path in sorted(SAMPLES.rglob("*.md")) + sorted(SAMPLES.rglob("*.html"))
        ]
        self._words = list(dict.fromkeys(word.lower() for text in texts for word in _WORD.findall(text)))
        self._weights = list(accumulate(1 / (place + 10) for place in range(len(self._words))))

    def write(self, folder: Path, passages: int) -> None:
        """Write files of about this many chunks, including the changing ones."""
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(max(1, passages // PASSAGES_A_FILE - CHANGING_FILES)):
            parts = [f"## Part {number}.{part}\n\n{self.text(_WORDS_A_PASSAGE)}.\n" for part in range(PASSAGES_A_FILE)]
            (folder / f"file-{number:05}.md").write_text(f"# Library {number}\n\n" + "\n".join(parts), encoding="utf-8")
        self.write_edition(folder, 1)

    def write_edition(self, folder: Path, edition: int) -> None:
        """Rewrite every changing file: each of its chunks contains the number of the edition."""
        for number in range(CHANGING_FILES):
            parts = [
                f"## Item {part}\n\nThis {NEWS} is edition number {edition}. {self.text(_WORDS_A_PASSAGE - 10)}.\n"
                for part in range(PASSAGES_A_FILE)
            ]
            (folder / f"news-{number:03}.md").write_text(f"# News {number}\n\n" + "\n".join(parts), encoding="utf-8")

    def text(self, words: int) -> str:
        """Return a text with this number of words."""
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=words))

    def question(self) -> str:
        """Return a question of four to eight words; every fourth is about the changing files."""
        asked = self.text(self._chance.randint(4, 8))
        return f"which {NEWS} has {asked}?" if self._chance.random() < 0.25 else f"what is {asked}?"


def editions_in(texts: list[str]) -> set[int]:
    """Return the edition numbers in the texts."""
    return {int(number) for text in texts for number in _EDITION.findall(text)}
