"""What a collection must hold, kept beside it in plain dictionaries: the model of a state machine."""

from dataclasses import dataclass, field

Contents = dict[str, str]


@dataclass
class LibraryModel:
    """`files` by path are what lies in the folder; `generations` what readers of each must see, by its number."""

    files: Contents = field(default_factory=dict)
    generations: dict[int, Contents] = field(default_factory=dict)
    published: int | None = None
    rolled_back: bool = False
    forgotten_paths: set[str] = field(default_factory=set)
    forgotten_texts: set[str] = field(default_factory=set)
    built_with: str = ""

    @property
    def wanted(self) -> Contents:
        """What the next ingest must come to."""
        return {
            path: text
            for path, text in self.files.items()
            if path not in self.forgotten_paths and text not in self.forgotten_texts
        }

    @property
    def seen(self) -> Contents:
        """What readers must see now."""
        return {} if self.published is None else self.generations[self.published]

    def forget(self, path: str) -> set[str]:
        """Take a published document out, and every one with its text; returns their paths."""
        text = self.seen[path]
        paths = {other for other, its in self.seen.items() if its == text}
        self.forgotten_paths |= paths
        self.forgotten_texts.add(text)
        return paths

    def publish(self, number: int, contents: Contents, version: str) -> None:
        """A generation came to be."""
        self.generations[number] = dict(contents)
        self.published, self.rolled_back, self.built_with = number, False, version
