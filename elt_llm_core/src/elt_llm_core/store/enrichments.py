"""What a language model wrote about passages, by what it was asked: paid for once, whatever happens to the run."""

from collections.abc import Iterable

from elt_llm_core.store.database import Database, batches, marks


class Enrichments:
    """Texts by the hash of everything that led to them. An empty text is a reply that could not be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """The texts that are there, by key."""
        found: dict[bytes, str] = {}
        for batch in batches(sorted(set(keys))):
            rows = self._database.rows(f"SELECT key, text FROM enrichments WHERE key IN ({marks(batch)})", batch)
            found.update((bytes(key), str(text)) for key, text in rows)
        return found

    def add(self, key: bytes, text: str) -> None:
        """Keep a text for good; one that is there already stays as it is."""
        with self._database.transaction():
            self._database.execute("INSERT OR IGNORE INTO enrichments (key, text) VALUES (?, ?)", (key, text))
