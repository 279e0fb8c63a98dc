"""Asking from Python in a line: helpers that open an engine, ask it once and close it.

To ask more than once, open an engine: `with open_engine(settings, data_dir, ["handbook"]) as engine: engine.ask(...)`.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.results import QueryResult
from elt_llm_core.settings import Settings
from elt_llm_core.settings_loader import load_settings

from elt_llm_query.engine import open_engine
from elt_llm_query.understanding.aliases import load_aliases


def query_collection(
    question: str, collection: str, *, settings: Settings | None = None, data_dir: Path | None = None
) -> QueryResult:
    """Ask one collection. Settings and data directory are found as the command finds them, unless given."""
    return query_collections(question, [collection], settings=settings, data_dir=data_dir)


def query_collections(
    question: str, collections: Sequence[str], *, settings: Settings | None = None, data_dir: Path | None = None
) -> QueryResult:
    """Ask several collections together: one ranking over all of them, one answer."""
    loaded = load_settings(None, os.environ, Path.cwd())
    aliases = load_aliases(loaded)
    with open_engine(settings or loaded.settings, data_dir or loaded.data_dir, collections, aliases=aliases) as engine:
        return engine.ask(question)
