"""What pages tell Gradio, read before it is believed: whose session it is, and which files it names."""

import asyncio
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from elt_llm_api.serve.access.principal import LOCAL, Principal
from elt_llm_api.serve.asgi import PRINCIPAL, App, Message, Receive, Scope, Send, refuse

MOST_OF_ONE = 16
"""Events of one caller that may wait, of all those that may."""
MOST_BROUGHT = 4
"""Uploads of one caller at once: Gradio has what is no file of them in memory."""
_JOINED = "/gradio_api/queue/join"
_TOLD = frozenset({_JOINED, "/gradio_api/cancel"})
_HEARD = "/gradio_api/queue/data"
_ALIVE = "/gradio_api/heartbeat/"
_BROUGHT, _FOLLOWED = "/gradio_api/upload", "/gradio_api/upload_progress"
_KEPT = frozenset({"data", "event_data", "event_id", "fn_index", "session_hash", "trigger_id"})
_SECONDS_KEPT = 3600
"""How long files wait that were brought and not taken: a page takes them at once, and they are copied then."""
_SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")


class OwnEvents:
    """Keeps sessions and files apart, which Gradio does not for an app that is mounted.

    A session is known to Gradio by the name of its caller and the browser's own together: nobody reaches another's,
    whatever they guess. A file that an event names is one that was brought: Gradio would copy any of the machine, and
    fetch any address. Who may change nothing brings none.
    """

    def __init__(self, app: App, folder: Path, most: int, waiting: Callable[[], Iterable[str]]) -> None:
        """`folder` has the files that were brought, `most` bytes at most; `waiting` gives the sessions in the queue."""
        self._app, self._folder, self._most, self._waiting = app, folder, most, waiting
        self._bringing: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is the caller's own: the guards have said who it is, or nothing came so far."""
        caller: Principal = scope[PRINCIPAL]
        scope, path = _unforwarded(scope), scope["path"]
        if path in _TOLD and scope["method"] == "POST":
            await self._tell(caller, scope, receive, send)
        elif path == _BROUGHT:
            await self._bring(caller, _named(caller, scope), receive, send)
        elif path == _FOLLOWED:
            await self._app(_named(caller, scope), receive, send)
        elif path == _HEARD or path.startswith(_ALIVE):
            await self._listen(caller, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _tell(self, caller: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            return
        event = _event(body)
        session = None if event is None else _own(caller, event.get("session_hash"))
        if event is None or session is None:
            await _refuse_odd(scope, send)
            return
        if scope["path"] == _JOINED and self._waits_enough(caller):
            message = "As many things of this caller wait as there is room for."
            await refuse(scope, send, 503, "overloaded", message, "Try again soon.", [("retry-after", "2")])
            return
        for file in _files(event):
            if not self._was_brought(file["path"]):
                await refuse(scope, send, 403, "forbidden_file", "Only files that were brought here can be named.")
                return
            file.update(url=None, is_stream=False)
        told = json.dumps({**event, "session_hash": session}).encode("ascii")
        await self._app(_with_length(scope, len(told)), _given(told, receive), send)

    async def _listen(self, caller: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        given = [path.removeprefix(_ALIVE)] if path.startswith(_ALIVE) else _asked(scope, "session_hash")
        session = _own(caller, given[0]) if len(given) == 1 else None
        if session is None:
            await _refuse_odd(scope, send)
            return
        own = _asking(scope, "session_hash", session)
        if path != _HEARD:
            own.update(path=_ALIVE + session, raw_path=(_ALIVE + session).encode("ascii"))
        await self._app(own, receive, send)

    async def _bring(self, caller: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        if not caller.write:
            await refuse(scope, send, 403, "forbidden", "This key may read, and bring no documents.")
        elif await asyncio.to_thread(swept, self._folder, time.time() - _SECONDS_KEPT) >= self._most:
            message = "Too many files were brought that nobody took."
            await refuse(scope, send, 507, "no_room", message, "Try again in an hour.")
        elif caller != LOCAL and self._bringing[caller.name] >= MOST_BROUGHT:
            message = "This caller brings as much at once as it may."
            await refuse(scope, send, 503, "overloaded", message, "Try again soon.", [("retry-after", "2")])
        else:
            self._bringing[caller.name] += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._bringing[caller.name] -= 1

    def _waits_enough(self, caller: Principal) -> bool:
        """Whether no more of it may wait, so that there is room for others; without keys everybody is one caller."""
        own = f"{caller.name}~"
        return caller != LOCAL and sum(session.startswith(own) for session in self._waiting()) >= MOST_OF_ONE

    def _was_brought(self, given: Any) -> bool:
        """Whether this is a file in the folder, and no link out of it; nothing outside is even looked at."""
        if not isinstance(given, str) or "\0" in given or not Path(given).is_relative_to(self._folder):
            return False
        try:
            return Path(given).is_file() and Path(given).resolve().is_relative_to(self._folder.resolve())
        except (OSError, RuntimeError):
            return False


def swept(folder: Path, since: float) -> int:
    """Delete what was put there before `since` (seconds of the epoch); the bytes of what is left."""
    left = 0
    for one in folder.iterdir():
        try:
            if one.lstat().st_mtime < since:
                shutil.rmtree(one, ignore_errors=True) if one.is_dir() else one.unlink()
            else:
                left += sum(it.lstat().st_size for it in (one, *one.rglob("*")))
        except FileNotFoundError:
            continue  # it was taken meanwhile
    return left


def _unforwarded(scope: Scope) -> Scope:
    """Without what would have Gradio name another address as ours: the guards have settled where the request came."""
    given = scope.get("headers", ())
    return {
        **scope,
        "headers": [
            one for one in given if not one[0].lower().startswith((b"x-forwarded-", b"x-gradio-", b"x-direct-"))
        ],
    }


def _own(caller: Principal, session: Any) -> str | None:
    """A session by the name that is its caller's alone: no key's name has a tilde. None for what is no session."""
    return f"{caller.name}~{session}" if isinstance(session, str) and _SESSION.fullmatch(session) else None


def _asked(scope: Scope, name: str) -> list[str]:
    """What the query says by this name."""
    try:
        query = parse_qs(scope.get("query_string", b"").decode("ascii"), max_num_fields=10, keep_blank_values=True)
    except ValueError:
        return []
    return query.get(name, [])


def _asking(scope: Scope, name: str, value: str) -> Scope:
    """With a query that says this alone."""
    return {**scope, "query_string": f"{name}={quote(value)}".encode("ascii")}


def _named(caller: Principal, scope: Scope) -> Scope:
    """With the name that a page gives what it brings, to be told how far that is, as its caller's alone."""
    given = _asked(scope, "upload_id")
    return _asking(scope, "upload_id", _own(caller, given[0]) or caller.name) if given else scope


def _event(body: bytes) -> dict[str, Any] | None:
    """What a page told, without what no page tells; None for what is none."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return {key: value for key, value in event.items() if key in _KEPT} if isinstance(event, dict) else None


def _files(event: Any) -> Iterator[dict[str, Any]]:
    """Everything, however deep, that could be a file to Gradio."""
    left = [event]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if "path" in one:
                yield one
            left += one.values()
        elif isinstance(one, list):
            left += one


async def _body(receive: Receive) -> bytes | None:
    """The whole body, of bounded size; None if the client left."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def _given(body: bytes, receive: Receive) -> Receive:
    """Gives the body, then what else comes: that the client left."""
    left = [body]

    async def given() -> Message:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return given


def _with_length(scope: Scope, length: int) -> Scope:
    dropped = {b"content-length", b"transfer-encoding"}
    headers = [one for one in scope["headers"] if one[0].lower() not in dropped]
    return {**scope, "headers": [*headers, (b"content-length", str(length).encode("ascii"))]}


async def _refuse_odd(scope: Scope, send: Send) -> None:
    await refuse(scope, send, 400, "odd_event", "No page of this server says such a thing.", "Load the page again.")
