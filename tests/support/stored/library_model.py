"""The expected content of a collection in plain dictionaries: the model of a state machine."""

from dataclasses import dataclass, field

Contents = dict[str, str]


@dataclass
class LibraryModel:
    """`files` are the files in the folder by path; `generations` are the expected documents by generation number."""

    files: Contents = field(default_factory=dict)
    generations: dict[int, Contents] = field(default_factory=dict)
    published: int | None = None
    rolled_back: bool = False
    forgotten_paths: set[str] = field(default_factory=set)
    forgotten_texts: set[str] = field(default_factory=set)
    built_with: str = ""

    @property
    def wanted(self) -> Contents:
        """Return the documents that the next ingest should publish."""
        return {
            path: text
            for path, text in self.files.items()
            if path not in self.forgotten_paths and text not in self.forgotten_texts
        }

    @property
    def seen(self) -> Contents:
        """Return the documents that readers should see now."""
        return {} if self.published is None else self.generations[self.published]

    def forget(self, path: str) -> set[str]:
        """Remove a published document and every document with the same text; return their paths."""
        text = self.seen[path]
        paths = {other for other, its in self.seen.items() if its == text}
        self.forgotten_paths |= paths
        self.forgotten_texts.add(text)
        return paths

    def publish(self, number: int, contents: Contents, version: str) -> None:
        """Record a published generation."""
        self.generations[number] = dict(contents)
        self.published, self.rolled_back, self.built_with = number, False, version
