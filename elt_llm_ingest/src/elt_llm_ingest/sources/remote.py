"""List and fetch remote files through fsspec, only from hosts that the settings allow.

No other module uses fsspec. The URL under which a file is stored never contains credentials.
"""

import io
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from hashlib import sha256
from mimetypes import guess_extension
from multiprocessing.pool import ThreadPool
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from elt_llm_core.errors import UnreadableDocument, UsageError
from elt_llm_core.settings.tree import IngestSettings
from elt_llm_core.utilities import install_command

SCHEMES = frozenset(("http", "https", "s3", "sftp", "webdav", "webdavs"))
_MOST_FILES = 10_000
_MEGABYTE = 1 << 20
_STAMP_BITS = 60  # bits of a stamp that is made from an etag; read as a time, the stamp must be earlier than any scan
_Result = TypeVar("_Result")


class RemoteFailure(Exception):
    """A remote source could not be read. The message never contains credentials."""


class _RedirectRefused(Exception):
    """An HTTP redirect leads to a host that is not allowed."""


def is_url(text: str) -> bool:
    """Return whether a path is a URL, such as `https://host/folder/`."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.isalnum()


@dataclass(frozen=True)
class RemoteUrl:
    """A URL without credentials, and separately the user and password that it contained."""

    url: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @staticmethod
    def parse(text: str) -> "RemoteUrl":
        """Parse a URL. Raises UsageError if it has an unsupported scheme, no host, or a query or fragment."""
        try:
            parts = urlsplit(text)
            host = _host_and_port(parts)
        except ValueError as error:
            raise UsageError("A URL is invalid: its host or port cannot be read.", hint="Correct the URL.") from error
        shown = f"{parts.scheme}://{host}{parts.path or '/'}"
        if parts.scheme not in SCHEMES:
            schemes = ", ".join(sorted(SCHEMES))
            raise UsageError(f"{shown} has an unsupported scheme.", hint=f"Supported schemes are: {schemes}")
        if not parts.hostname:
            raise UsageError(f"{shown} names no host.", hint="Give a URL such as https://host/folder/")
        if parts.query or parts.fragment:
            raise UsageError(
                f"{shown} was given with a query or fragment, which may contain credentials.",
                hint="Give the URL without the part that starts at ? or #.",
            )
        if any(ord(character) < 33 or ord(character) == 127 for character in text):
            raise UsageError(f"{shown!r} contains a space or control character.", hint="Write a space as %20.")
        return RemoteUrl(shown, unquote(parts.username or ""), unquote(parts.password or ""))

    @property
    def scheme(self) -> str:
        """The scheme, such as `https`."""
        return self.url.partition(":")[0]

    @property
    def host(self) -> str:
        """The host, with its port if the URL contains one. For `s3` this is the bucket."""
        return urlsplit(self.url).netloc

    def check_allowed(self, allowed: tuple[str, ...]) -> None:
        """Raise UsageError if `ingest.remote.allowed_hosts` does not contain the host."""
        if not _is_allowed(self.url, allowed):
            raise UsageError(
                f"{self.url} may not be read: its host {self.host} is not allowed.",
                hint=f'Add "{self.host}" to ingest.remote.allowed_hosts in the settings.',
            )


@dataclass(frozen=True)
class RemoteEntry:
    """A remote file. `stamp` changes whenever the file does. If the file cannot be inspected, `reason` contains why."""

    url: str
    name: str
    size: int | None
    stamp: int
    written_ns: int
    reason: str = ""


class RemoteSource:
    """One remote folder or file. Every operation ends after `timeout_seconds`."""

    def __init__(self, url: RemoteUrl, settings: IngestSettings) -> None:
        url.check_allowed(settings.remote.allowed_hosts)
        self.url = url
        self._settings = settings

    @cached_property
    def is_folder(self) -> bool:
        """Whether the URL names a folder. With HTTP, a URL that ends with a slash is a folder."""
        if self.url.url.endswith("/"):
            return True
        return not self._is_http and self._call(lambda fs: bool(fs.info(self._path(self.url.url))["type"] != "file"))

    @property
    def root(self) -> str:
        """The URL of the folder, or of the folder that contains the file."""
        if self.is_folder:
            return self.url.url.rstrip("/") + "/"
        return self.url.url.rpartition("/")[0] + "/"

    def list_files(self) -> list[RemoteEntry]:
        """List all files in the order of their URLs.

        Raises FileNotFoundError if there is no such file or folder, and RemoteFailure if the listing fails or is
        incomplete.
        """
        if not self.is_folder:
            return [self._call(lambda fs: _make_entry(self.url.url, fs.info(self._path(self.url.url))))]
        return self._call(self._list_folder)

    def fetch(self, entry: RemoteEntry, target: Path) -> None:
        """Fetch a file to `target`. If that fails, raise UnreadableDocument and leave no file."""
        limit = self._settings.max_file_mb
        if (entry.size or 0) > limit * _MEGABYTE:
            raise _too_large(limit)
        try:
            self._call(lambda fs: self._copy(fs, entry.url, target))
        except FileNotFoundError as error:
            target.unlink(missing_ok=True)
            raise UnreadableDocument(f"{entry.url} vanished before it was fetched; run the ingest again") from error
        except (RemoteFailure, UnreadableDocument) as error:
            target.unlink(missing_ok=True)
            raise error if isinstance(error, UnreadableDocument) else UnreadableDocument(str(error)) from error

    @property
    def _is_http(self) -> bool:
        return self.url.scheme in {"http", "https"}

    def _path(self, url: str) -> str:
        """Return the path by which fsspec's file system identifies a URL."""
        if self._is_http:
            return url
        path = unquote(urlsplit(url).path)
        return f"{self.url.host}{path}" if self.url.scheme == "s3" else path

    def _url_of(self, path: str) -> str:
        """Return the URL of a path in a listing, or "" if it is outside the root or has a query or fragment."""
        if self._is_http:
            url = path
        elif self.url.scheme == "s3":
            url = f"s3://{quote(path)}"
        else:
            url = f"{self.url.scheme}://{self.url.host}/{quote(path.lstrip('/'))}"
        return url if url.startswith(self.root) and not urlsplit(url).query and not urlsplit(url).fragment else ""

    def _list_folder(self, fs: Any) -> list[RemoteEntry]:
        folders, seen, entries = [self.root], {self.root}, []
        while folders:
            for listed in fs.ls(self._path(folders.pop()), detail=True):
                is_folder = listed["type"] == "directory"
                url = self._url_of(listed["name"] + ("/" if is_folder and not listed["name"].endswith("/") else ""))
                parts = url.removeprefix(self.root).split("/")
                if not url or url in seen or any(part.startswith(".") for part in parts):
                    continue
                seen.add(url)
                if len(seen) > _MOST_FILES:
                    raise RemoteFailure(f"{self.root} has more than {_MOST_FILES:,} files; name folders within it")
                if is_folder:
                    folders.append(url)
                else:
                    entries.append(self._listed_entry(fs, url, listed))
        return sorted(entries, key=lambda entry: entry.url)

    def _listed_entry(self, fs: Any, url: str, listed: Mapping[str, Any]) -> RemoteEntry:
        """Build the entry of a listed file. HTTP listings lack sizes and etags, so each file is queried for them."""
        if not self._is_http:
            return _make_entry(url, listed)
        try:
            return _make_entry(url, fs.info(self._path(url)))
        except FileNotFoundError as error:
            failure = self._describe(error)
            return RemoteEntry(url, _file_name(url, ""), None, 0, 0, str(failure))

    def _copy(self, fs: Any, url: str, target: Path) -> None:
        with _BoundedFile(target, self._settings.max_file_mb) as file:
            if self._is_http:
                fs.get_file(self._path(url), file)
                return
            with fs.open(self._path(url), "rb") as remote:
                while chunk := remote.read(_MEGABYTE):
                    file.write(chunk)

    def _call(self, operation: Callable[[Any], _Result]) -> _Result:
        """Run an operation in a daemon thread with a time limit, because no library guarantees to end in time."""
        errors: list[BaseException] = []
        with ThreadPool(1) as pool:
            result = pool.apply_async(lambda: operation(self._file_system), error_callback=errors.append)
            result.wait(self._settings.remote.timeout_seconds)
            if not result.ready():
                raise RemoteFailure(self._no_answer())
            if errors:
                raise self._describe(errors[0]) from None
            return result.get()

    @cached_property
    def _file_system(self) -> Any:
        import fsspec

        protocol = "webdav" if self.url.scheme == "webdavs" else self.url.scheme
        return fsspec.filesystem(protocol, skip_instance_cache=True, **self._options())

    def _options(self) -> dict[str, Any]:
        """Return the options for fsspec's back end. If the URL has no credentials, the back end finds them itself."""
        user, password = self.url.user, self.url.password
        seconds = self._settings.remote.timeout_seconds
        parts = urlsplit(self.url.url)
        match self.url.scheme:
            case "http" | "https":
                return self._http_options(user, password, seconds)
            case "s3":
                timeouts = {"connect_timeout": seconds, "read_timeout": seconds, "retries": {"max_attempts": 1}}
                access = {"key": user, "secret": password} if user else {}
                return {"config_kwargs": timeouts, "use_listings_cache": False, **access}
            case "sftp":
                options = {"host": parts.hostname, "port": parts.port or 22, "host_key_policy": _known_hosts_policy()}
                options |= dict.fromkeys(("timeout", "banner_timeout", "auth_timeout"), seconds)
                keys = dict[str, Any](password=password, allow_agent=False, look_for_keys=False) if password else {}
                return options | keys | ({"username": user} if user else {})
            case _:
                base = f"http{'s' if self.url.scheme == 'webdavs' else ''}://{self.url.host}"
                login = {"auth": (user, password)} if user else {}
                hooks = {"response": [self._check_response]}
                return {"base_url": base, "timeout": seconds, "event_hooks": hooks, **login}

    def _http_options(self, user: str, password: str, seconds: int) -> dict[str, Any]:
        import aiohttp

        trace = aiohttp.TraceConfig()
        trace.on_request_redirect.append(self._check_redirect)
        # The login is sent as a header, which aiohttp drops when a redirect leads to another host.
        encoded = b64encode(f"{user}:{password}".encode()).decode()
        login = {"headers": {"Authorization": f"Basic {encoded}"}} if user else {}
        client = {"trace_configs": [trace], "timeout": aiohttp.ClientTimeout(total=seconds)}
        return {"client_kwargs": client, "simple_links": False, "use_listings_cache": False, **login}

    async def _check_redirect(self, session: Any, context: Any, redirect: Any) -> None:
        headers = redirect.response.headers
        self._check_target(str(redirect.url), headers.get("Location") or headers.get("URI") or "")

    def _check_response(self, response: Any) -> None:
        if response.has_redirect_location:
            self._check_target(str(response.url), response.headers["Location"])

    def _check_target(self, start: str, location: str) -> None:
        target = urljoin(start, location)
        if not _is_allowed(target, self._settings.remote.allowed_hosts):
            raise _RedirectRefused(_host_and_port(urlsplit(target)))
        if start.startswith("https:") and not target.startswith("https:"):
            raise _RedirectRefused(f"an unencrypted address of {_host_and_port(urlsplit(target))}")

    def _describe(self, error: BaseException) -> Exception:
        """Convert a library's error, whose message may contain credentials, to an error without them."""
        chain: list[BaseException] = [error]
        while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
            chain.append(cause)
        known = next(filter(None, map(self._describe_known, chain)), None)
        return known or self._describe_status(chain[-1])

    def _describe_known(self, error: BaseException) -> Exception | None:
        match error:
            case RemoteFailure() | UnreadableDocument():
                return error
            case _RedirectRefused():
                reason = f"{self.url.url} redirects to {error}, which is not allowed"
                return RemoteFailure(f"{reason}; add that host to ingest.remote.allowed_hosts, if you trust it")
            case TimeoutError():
                return RemoteFailure(self._no_answer())
            case ImportError():
                return RemoteFailure(
                    f"{self.url.scheme}:// needs a package that is not installed; run: {install_command('remote')}"
                )
        return None

    def _describe_status(self, root: BaseException) -> Exception:
        status = getattr(root, "status", None)
        if status in {404, 410} or (status is None and isinstance(root, FileNotFoundError)):
            return FileNotFoundError(f"{self.url.url} was not found")
        if isinstance(status, int):
            return RemoteFailure(f"{self.url.host} refused {self.url.url} with HTTP status {status}")
        return RemoteFailure(f"{self.url.url} cannot be read ({type(root).__name__}): check that {self.url.host} runs")

    def _no_answer(self) -> str:
        seconds = self._settings.remote.timeout_seconds
        return f"{self.url.host} did not answer within {seconds} s; try again, or raise ingest.remote.timeout_seconds"


class _BoundedFile(io.FileIO):
    """A new file that cannot become larger than the limit."""

    def __init__(self, path: Path, limit_mb: int) -> None:
        super().__init__(path, "wb")
        self._limit_mb = limit_mb

    def write(self, data: Any) -> int:
        """Write bytes, or raise UnreadableDocument if the file would be larger than the limit."""
        if self.tell() + len(data) > self._limit_mb * _MEGABYTE:
            raise _too_large(self._limit_mb)
        return super().write(data)


def _known_hosts_policy() -> Any:
    """Return a policy for paramiko that accepts only the host keys in `~/.ssh/known_hosts`."""
    import paramiko

    class KnownHostsPolicy(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]  # paramiko has no types
        """Accepts a host key that the user has already accepted with `ssh`."""

        def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
            file = Path.home() / ".ssh" / "known_hosts"
            if not file.is_file() or not paramiko.HostKeys(str(file)).check(hostname, key):
                raise RemoteFailure(f"the host key of {hostname} is not in {file}; connect once with ssh or sftp")

    return KnownHostsPolicy()


def _too_large(limit_mb: int) -> UnreadableDocument:
    return UnreadableDocument(
        f"is larger than the limit of {limit_mb:,} MB: it was not fetched; raise ingest.max_file_mb to read it"
    )


def _host_and_port(parts: SplitResult) -> str:
    """Return host and port without credentials. Raises ValueError for an invalid port."""
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{parts.port}" if parts.port else shown


def _is_allowed(url: str, allowed: tuple[str, ...]) -> bool:
    """Return whether `allowed` contains the URL's host, with the port if the URL contains one."""
    try:
        return _host_and_port(urlsplit(url)) in {host.lower() for host in allowed}
    except ValueError:
        return False


def _file_name(url: str, media_type: str) -> str:
    """Return the file name in a URL. If it has no suffix, append the usual suffix of the media type."""
    name = PurePosixPath(unquote(urlsplit(url).path)).name.replace("/", "_").replace("\0", "_")[-150:] or "index"
    return name if PurePosixPath(name).suffix else name + (guess_extension(media_type) or "")


def _make_entry(url: str, info: Mapping[str, Any]) -> RemoteEntry:
    size = info.get("size")
    written = _written_ns(info)
    etag = next((str(info[name]) for name in ("ETag", "etag", "Content-MD5", "Digest") if info.get(name)), "")
    if etag:
        stamp = int.from_bytes(sha256(f"{etag} {size}".encode()).digest()[:8], "big") >> (64 - _STAMP_BITS)
    else:
        stamp = written or time.time_ns()  # without an etag or a time, the file is fetched in every run
    return RemoteEntry(url, _file_name(url, info.get("mimetype") or ""), size, stamp, written)


def _written_ns(info: Mapping[str, Any]) -> int:
    """Return the time of the last write in nanoseconds since 1970, or 0 if the server does not provide it."""
    given = next((info[name] for name in ("mtime", "LastModified", "modified", "Last-Modified") if info.get(name)), 0)
    if isinstance(given, str):
        try:
            given = parsedate_to_datetime(given)
        except ValueError:
            return 0
    if isinstance(given, datetime):
        given = (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
    return int(given) * 1_000_000_000 if isinstance(given, int | float) else 0
