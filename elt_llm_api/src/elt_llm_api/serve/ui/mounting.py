"""Mount Gradio in the app: build it on the first visit, expose few paths, isolate sessions, set a content policy."""

import asyncio
import base64
import hashlib
import importlib.util
import json
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from elt_llm_core.utilities import install_command
from markupsafe import escape
from starlette.datastructures import MutableHeaders, QueryParams, URLPath
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elt_llm_api.serve.access.principal import LOCAL, Principal
from elt_llm_api.serve.asgi import PRINCIPAL, Middleware, header, send_error
from elt_llm_api.serve.errors import NotInstalled
from elt_llm_api.serve.services import Services, freeze_garbage_collector
from elt_llm_api.serve.ui.texts import DEFAULT_LANGUAGE, Texts, load_texts, preferred_language

if TYPE_CHECKING:
    from gradio.routes import App

MOST_EVENTS_PER_CALLER = 16
"""Largest number of waiting events of one caller."""
MOST_UPLOADS_PER_CALLER = 4
"""Largest number of simultaneous uploads of one caller. Gradio keeps form fields in memory."""
_QUEUE_JOIN, _QUEUE_DATA = "/gradio_api/queue/join", "/gradio_api/queue/data"
_CANCEL = "/gradio_api/cancel"
_HEARTBEAT = "/gradio_api/heartbeat/"
_UPLOAD, _UPLOAD_PROGRESS = "/gradio_api/upload", "/gradio_api/upload_progress"
_PATHS = frozenset(
    {
        *("/", "/config", "/theme.css", "/favicon.ico", "/gradio_api/reset", "/gradio_api/startup-events", "/page.js"),
        "/gradio_api/app_id",  # a page that lost the connection requests this until the server is back
        *(_CANCEL, _QUEUE_DATA, _QUEUE_JOIN, _UPLOAD, _UPLOAD_PROGRESS),
    }
)
_PREFIXES = ("/assets/", "/static/", _HEARTBEAT)
"""`/gradio_api/file=` is missing on purpose: uploaded files are imported and then shown from the store."""
_LONGEST_NAME = 255  # bytes, as on most file systems
_EVENT_FIELDS = frozenset({"data", "event_data", "event_id", "fn_index", "session_hash", "trigger_id"})
_UPLOAD_SECONDS = 3600
"""Seconds after which an uploaded file that no event has imported is deleted. Pages import uploads at once."""
_SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SCRIPT, _LOADING = (Path(__file__).with_name(name) for name in ("page.js", "loading.html"))
_HTML_LANGUAGE = re.compile(r"(<html\b[^>]*?\blang=)[\"'][^\"']*[\"']", re.IGNORECASE)
_META_OR_LINK = re.compile(r"""<(?:meta|link)\b(?:"[^"]*"|'[^']*'|[^"'>])*>""", re.IGNORECASE)
_EXTERNAL = re.compile(r"""(?:property|name)=["']?(?:og|twitter):|rel=["']?manifest""", re.IGNORECASE)
_INLINE_SCRIPT = re.compile(r"<script\b(?:(?!\ssrc=)[^>])*>(.*?)</script", re.IGNORECASE | re.DOTALL)


class SessionIsolation:
    """Separates the sessions and files of callers, which Gradio does not do for a mounted app.

    Gradio receives session names that start with the caller's name, so a caller cannot reach the session of another
    caller by guessing its name. An event may name uploaded files only, because Gradio would copy any file of the
    machine and fetch any address. A caller without write permission cannot upload files.
    """

    def __init__(
        self,
        app: ASGIApp,
        folder: Path,
        most_bytes: int,
        waiting_sessions: Callable[[], Iterable[str]],
        handlers: Container[int],
    ) -> None:
        """Allow at most `most_bytes` of uploaded files in `folder`.

        `waiting_sessions` returns the sessions that have events in the queue. `handlers` are the numbers by which
        requests name the event handlers; a request with any other number is refused, because Gradio would fail on it.
        """
        self._app, self._folder, self._most_bytes = app, folder, most_bytes
        self._handlers = handlers
        self._waiting_sessions = waiting_sessions
        self._uploading: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request of an authenticated caller to Gradio, limited to the caller's own sessions and files."""
        caller: Principal = scope[PRINCIPAL]
        scope, path = _without_forwarding_headers(scope), scope["path"]
        if path in {_QUEUE_JOIN, _CANCEL} and scope["method"] == "POST":
            await self._forward_event(caller, scope, receive, send)
        elif path in {_UPLOAD, _UPLOAD_PROGRESS}:
            query = QueryParams(scope["query_string"])
            if "upload_id" in query:
                scope = _with_query(scope, "upload_id", _own_session(caller, query["upload_id"]) or caller.owner)
            if path == _UPLOAD:
                await self._forward_upload(caller, scope, receive, send)
            else:
                await self._app(scope, receive, send)
        elif path == _QUEUE_DATA or path.startswith(_HEARTBEAT):
            await self._forward_stream(caller, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _forward_event(self, caller: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            event = _parse_event(await Request(scope, receive).body())
        except ClientDisconnect:
            return
        session = _own_session(caller, event.get("session_hash"))
        if session is None or (scope["path"] == _QUEUE_JOIN and not self._is_known(event)):
            await _send_bad_request(scope, send)
            return
        if scope["path"] == _QUEUE_JOIN and self._is_queue_full(caller):
            await _send_overloaded(scope, send, "Too many events of this caller are waiting.")
            return
        for file in _file_values(event):
            if not self._is_upload(file["path"]):
                await send_error(scope, send, 403, "forbidden_file", "An event of a page may only name uploaded files.")
                return
            file.update(url=None, is_stream=False)
        body = json.dumps({**event, "session_hash": session}).encode("ascii")
        headers = MutableHeaders(raw=list(scope["headers"]))
        headers["content-length"] = str(len(body))
        del headers["transfer-encoding"]
        await self._app({**scope, "headers": headers.raw}, _replay_body(body, receive), send)

    async def _forward_stream(self, caller: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        sessions = QueryParams(scope["query_string"]).getlist("session_hash")
        if path != _QUEUE_DATA:
            sessions = [path.removeprefix(_HEARTBEAT)]
        session = _own_session(caller, sessions[0]) if len(sessions) == 1 else None
        if session is None:
            await _send_bad_request(scope, send)
            return
        own = _with_query(scope, "session_hash", session)
        if path != _QUEUE_DATA:
            own.update(path=_HEARTBEAT + session, raw_path=(_HEARTBEAT + session).encode("ascii"))
        await self._app(own, receive, send)

    async def _forward_upload(self, caller: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        since = time.time() - _UPLOAD_SECONDS
        if not caller.may_write_any:
            await send_error(scope, send, 403, "forbidden", "This key may read documents, but not upload any.")
        elif await asyncio.to_thread(delete_old_uploads, self._folder, since) >= self._most_bytes:
            message = "The folder for uploads is full of files that were never imported."
            await send_error(scope, send, 507, "no_room", message, "Try again in an hour.")
        elif caller != LOCAL and self._uploading[caller.owner] >= MOST_UPLOADS_PER_CALLER:
            await _send_overloaded(scope, send, "This caller has too many uploads at once.")
        else:
            self._uploading[caller.owner] += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._uploading[caller.owner] -= 1

    def _is_known(self, event: dict[str, Any]) -> bool:
        """Return whether the event names an existing handler and has a list of values."""
        number = event.get("fn_index")
        return type(number) is int and number in self._handlers and isinstance(event.get("data"), list)

    def _is_queue_full(self, caller: Principal) -> bool:
        """Return whether the caller has too many waiting events.

        If the server has no keys, all users count as one caller, for whom there is no limit.
        """
        own = f"{caller.owner}~"
        waiting = sum(session.startswith(own) for session in self._waiting_sessions())
        return caller != LOCAL and waiting >= MOST_EVENTS_PER_CALLER

    def _is_upload(self, path: Any) -> bool:
        """Return whether a path names a file in the upload folder that is not a link to a place outside of it.

        Paths outside of the folder are not accessed.
        """
        if not isinstance(path, str) or "\0" in path or not Path(path).is_relative_to(self._folder):
            return False
        try:
            return Path(path).is_file() and Path(path).resolve().is_relative_to(self._folder.resolve())
        except (OSError, RuntimeError):
            return False


def delete_old_uploads(folder: Path, since: float) -> int:
    """Delete uploads from before `since` (Unix time in seconds). Return the total bytes of the remaining files."""
    remaining = 0
    for entry in folder.iterdir():
        try:
            if entry.lstat().st_mtime < since:
                shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink()
            else:
                remaining += sum(path.lstat().st_size for path in (entry, *entry.rglob("*")))
        except FileNotFoundError:
            continue  # meanwhile an event imported the file
    return remaining


def _without_forwarding_headers(scope: Scope) -> Scope:
    """Remove the headers from which Gradio derives the server's address. The proxy middleware has already used them."""
    prefixes = (b"x-forwarded-", b"x-gradio-", b"x-direct-")
    return {**scope, "headers": [one for one in scope["headers"] if not one[0].lower().startswith(prefixes)]}


def _own_session(caller: Principal, session: Any) -> str | None:
    """Return Gradio's name for a caller's session, `OWNER~SESSION`, or None if the session's name is invalid."""
    return f"{caller.owner}~{session}" if isinstance(session, str) and _SESSION.fullmatch(session) else None


def _with_query(scope: Scope, name: str, value: str) -> Scope:
    return {**scope, "query_string": urlencode({name: value}).encode("ascii")}


def _parse_event(body: bytes) -> dict[str, Any]:
    """Return the fields of an event that pages send, or no fields for an invalid body."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return {key: value for key, value in event.items() if key in _EVENT_FIELDS} if isinstance(event, dict) else {}


def _file_values(event: Any) -> Iterator[dict[str, Any]]:
    """Yield every value, at any depth, that Gradio could interpret as a file."""
    pending = [event]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if "path" in value:
                yield value
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI receive function: it returns the body, which was read before, and then the remaining messages."""
    pending = [body]

    async def replay() -> Message:
        return {"type": "http.request", "body": pending.pop(), "more_body": False} if pending else await receive()

    return replay


async def _send_bad_request(scope: Scope, send: Send) -> None:
    message = "This is not a request of a page of this server."
    await send_error(scope, send, 400, "odd_event", message, "Load the page again.")


async def _send_overloaded(scope: Scope, send: Send, message: str) -> None:
    await send_error(scope, send, 503, "server_overloaded", message, "Try again soon.", [("retry-after", "2")])


class PagePolicy(Middleware):
    """Sends the page without external references, and with a content security policy that lists its inline scripts.

    It also adds our only script, `page.js`, and the language of the texts.
    """

    def __init__(self, app: ASGIApp, language: str) -> None:
        super().__init__(app)
        self._language = language

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward every request. Rewrite the response of `/`, which is requested uncompressed."""
        if scope["path"] == "/page.js":
            await FileResponse(_SCRIPT, headers={"cache-control": "no-cache"})(scope, receive, send)
            return
        if scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)

        uncompressed = [one for one in scope["headers"] if one[0].lower() != b"accept-encoding"]
        await self._app({**scope, "headers": uncompressed}, receive, collect)
        start, *parts = messages
        body = b"".join(part.get("body", b"") for part in parts)
        headers = MutableHeaders(raw=list(start.get("headers", ())))
        if headers.get("content-type", "").startswith("text/html"):
            page, scripts = rewrite_page(body.decode("utf-8"), self._language)
            body = page.encode("utf-8")
            headers["content-length"] = str(len(body))
            headers["cache-control"] = "no-store"
            headers["vary"] = "accept-language"
            headers["content-security-policy"] = page_policy(scripts)
        await send({**start, "headers": headers.raw})
        await send({"type": "http.response.body", "body": body})


def rewrite_page(page: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, list[str]]:
    """Return the page with its language and our script added, and the list of its inline scripts.

    Link previews and the app manifest are removed, because they name other addresses.
    """
    own = _META_OR_LINK.sub(lambda tag: "" if _EXTERNAL.search(tag[0]) else tag[0], page)
    own = _HTML_LANGUAGE.sub(rf'\g<1>"{language}"', own, count=1)
    texts = load_texts(language)
    lost, error = (escape(texts(f"page.{name}")) for name in ("lost", "error"))
    unsupported = escape(texts.say("Files of this type are not supported: {name}."))
    script = (
        f'<script src="/page.js" data-lost="{lost}" data-error="{error}" data-unsupported="{unsupported}" defer>'
        "</script>"
    )
    own = own.replace("</head>", f"{script}</head>", 1)
    return own, _INLINE_SCRIPT.findall(own)


def page_policy(scripts: list[str]) -> str:
    """Return a content security policy: only these inline scripts, and files and connections of this server.

    Inline styles are allowed because Gradio's components set them. Scripts created from text at run time are not
    allowed.
    """
    digests = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:;"
        " font-src 'self' data:; connect-src 'self'; media-src 'self'; worker-src 'self' blob:; base-uri 'self';"
        " form-action 'self'; frame-ancestors 'none'"
    )


def is_interface_path(path: str) -> bool:
    """Return whether the pages of the user interface request this path. All other paths of Gradio stay closed.

    Paths with an impossible file name stay closed too, because Gradio would fail on them.
    """
    possible = "\0" not in path and all(
        len(name.encode("utf-8", "replace")) <= _LONGEST_NAME for name in path.split("/")
    )
    return path in _PATHS or (path.startswith(_PREFIXES) and possible)


class UserInterfaceRoute(BaseRoute):
    """A route that matches the paths of the user interface only. Other unknown paths get the server's own errors."""

    def __init__(self, interface: ASGIApp) -> None:
        self._interface = interface

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return a full match for the paths of the user interface."""
        return (Match.FULL if scope["type"] == "http" and is_interface_path(scope["path"]) else Match.NONE), {}

    def url_path_for(self, name: str, /, **path_params: Any) -> URLPath:
        """Raise NoMatchFound, because the paths have no names."""
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request to the user interface."""
        await self._interface(scope, receive, send)


class UserInterface:
    """Builds the user interface on the first visit, so that a server without visitors does not load Gradio.

    Each language has a Gradio app of its own, built when it is first asked for. Meanwhile, browsers see a page that
    reloads itself.
    """

    def __init__(self, services: Services, library: str = "gradio") -> None:
        """Set the `library` that is needed. If it is missing, visitors see the command that installs it."""
        self._services, self._library = services, library
        self.resources = AsyncExitStack()
        """The resources of the user interface, opened on the first visit. The app must run inside this context."""
        self.resources.push_async_callback(self._finish_building)
        self._building = asyncio.Lock()
        self._folder: Path | None = None
        self._apps: dict[str, asyncio.Task[ASGIApp]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Build the user interface if necessary, then forward the request. Raises NotInstalled."""
        language = preferred_language(header(scope, "accept-language") or "")
        app = self._apps.get(language)
        if app is None and importlib.util.find_spec(self._library) is None:
            raise NotInstalled(
                "The user interface is not installed here; the routes below /v1 work.",
                hint=f"Run: {install_command('ui')}",
            )
        is_page = scope["path"] == "/" and "text/html" in (header(scope, "accept") or "")
        if is_page and (app is None or not app.done()):
            await _loading_page(load_texts(language))(scope, receive, send)  # before the build occupies the process
            self._start_building(language)
            return
        await (await asyncio.shield(self._start_building(language)))(scope, receive, send)

    def _start_building(self, language: str) -> asyncio.Task[ASGIApp]:
        """Return the task that builds the app of a language. Start it if there is none, or if the last one failed."""
        app = self._apps.get(language)
        if app is None or (app.done() and (app.cancelled() or app.exception())):
            app = self._apps[language] = asyncio.create_task(self._build(language))
        return app

    async def _build(self, language: str) -> ASGIApp:
        async with self._building:  # Gradio builds one app at a time
            gradio_app, folder = await asyncio.to_thread(self._import_and_build, language)
            await self.resources.enter_async_context(gradio_app.router.lifespan_context(gradio_app))
        gradio_app.get_blocks().run_startup_events()  # type: ignore[no-untyped-call]
        freeze_garbage_collector()
        most_bytes = self._services.loaded.settings.serve.upload_quota_mb << 20
        queues = gradio_app.get_blocks()._queue.event_queue_per_concurrency_id  # noqa: SLF001 - there is no other way

        def waiting_sessions() -> list[str]:
            return [str(event.session_hash) for one in queues.values() for event in one.queue]

        handlers = gradio_app.get_blocks().fns
        return PagePolicy(SessionIsolation(gradio_app, folder, most_bytes, waiting_sessions, handlers), language)

    def _import_and_build(self, language: str) -> tuple["App", Path]:
        """Return the Gradio app and its folder for uploads. The import takes seconds, so call this in a thread."""
        import_gradio()
        from elt_llm_api.serve.ui.building import build_interface, empty_upload_folder

        self._folder = self._folder or empty_upload_folder(self._services.loaded.data_dir)
        return build_interface(self._services, language), self._folder

    async def _finish_building(self) -> None:
        await asyncio.gather(*self._apps.values(), return_exceptions=True)


class _StublessLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        vars(module)["create_or_modify_pyi"] = lambda *_: None


class _StublessFinder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == "gradio.component_meta" else None
        if spec is not None and spec.origin is not None:
            spec.loader = _StublessLoader(name, spec.origin)
        return spec


def import_gradio() -> None:
    """Import Gradio without its stub files.

    Gradio parses its sources and writes a stub file beside each component at every import. That takes half of the
    import's time and needs write permission for the installation; only editors read these files.
    """
    finder = _StublessFinder()
    sys.meta_path.insert(0, finder)
    try:
        importlib.import_module("gradio")
    finally:
        sys.meta_path.remove(finder)


def _loading_page(texts: Texts) -> HTMLResponse:
    """Return the page that is shown while the user interface is built; it needs no script."""
    page = _LOADING.read_text(encoding="utf-8")
    page = page.replace("{language}", texts.language).replace("{loading}", texts("page.loading"))
    return HTMLResponse(page, headers={"cache-control": "no-store", "content-security-policy": page_policy([])})
