"""Servers on this machine that serve a folder over HTTP, S3, SFTP and WebDAV."""

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server
from xml.sax.saxutils import escape

USER, PASSWORD, BUCKET = "reader", "sEcret-pass", "shelf"
_PAUSE = 3


@dataclass
class ServedFolder:
    """A folder and how it is served: `fetched` are the paths of fetched files, with `hangs` nothing answers in time."""

    folder: Path
    url: str = ""
    host: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    known_host: str = ""
    hangs: bool = False
    fetched: list[str] = field(default_factory=list)

    def note(self, path: str) -> None:
        """Record that a file was fetched."""
        if path not in self.fetched:
            self.fetched.append(path)

    def pause(self) -> None:
        """Wait longer than the time limit of the tests, if the server hangs."""
        if self.hangs:
            time.sleep(_PAUSE)


@contextmanager
def _serving(server: Any) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _WebHandler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, served: ServedFolder) -> None:
        self._served = served
        super().__init__(*arguments, directory=str(served.folder))

    def send_head(self) -> Any:
        self._served.pause()
        if self.command == "GET" and not self.path.endswith("/"):
            self._served.note(self.path[1:])
        return super().send_head()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        pass


@contextmanager
def http_server(folder: Path) -> Iterator[ServedFolder]:
    """Serve a folder over HTTP, with a page of links for each folder."""
    served = ServedFolder(folder)
    with _serving(server := ThreadingHTTPServer(("127.0.0.1", 0), partial(_WebHandler, served=served))):
        served.host = f"127.0.0.1:{server.server_port}"
        served.url = f"http://{served.host}/"
        yield served


class _BucketHandler(BaseHTTPRequestHandler):
    """Answers the three requests of S3 that reading needs: list objects, head object and get object."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: Any, served: ServedFolder) -> None:
        self._served = served
        super().__init__(*arguments)

    def do_HEAD(self) -> None:
        self._object()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if "list-type" in parts.query:
            self._list(parse_qs(parts.query))
        else:
            self._object()

    def _list(self, query: dict[str, list[str]]) -> None:
        self._served.pause()
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        keys = sorted(path.relative_to(self._served.folder).as_posix() for path in _files(self._served.folder))
        keys = [key for key in keys if key.startswith(prefix)]
        deep = {key for key in keys if delimiter and delimiter in key[len(prefix) :]}
        folders = sorted({prefix + key[len(prefix) :].split(delimiter)[0] + delimiter for key in deep})
        contents = "".join(self._describe(key) for key in keys if key not in deep)
        common = "".join(f"<CommonPrefixes><Prefix>{escape(it)}</Prefix></CommonPrefixes>" for it in folders)
        count = len(keys) - len(deep) + len(folders)
        self._answer(
            200,
            f'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{BUCKET}</Name>'
            f"<KeyCount>{count}</KeyCount><IsTruncated>false</IsTruncated>{contents}{common}</ListBucketResult>".encode(),
            {"Content-Type": "application/xml"},
        )

    def _describe(self, key: str) -> str:
        status = (self._served.folder / key).stat()
        written = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(status.st_mtime))
        return (
            f"<Contents><Key>{escape(key)}</Key><LastModified>{written}</LastModified><ETag>{self._etag(key)}</ETag>"
            f"<Size>{status.st_size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )

    def _etag(self, key: str) -> str:
        return f'"{hashlib.md5((self._served.folder / key).read_bytes(), usedforsecurity=False).hexdigest()}"'

    def _object(self) -> None:
        self._served.pause()
        key = unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").lstrip("/")
        path = self._served.folder / key
        if not path.is_file():
            self._answer(404, b"", {})
            return
        content, status = path.read_bytes(), 200
        headers = {"ETag": self._etag(key), "Last-Modified": formatdate(path.stat().st_mtime, usegmt=True)}
        if self.command == "GET":
            self._served.note(key)
            if wanted := self.headers.get("Range"):
                start, _, end = wanted.removeprefix("bytes=").partition("-")
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
                content, status = content[int(start) : int(end or len(content)) + 1], 206
        self._answer(status, content, headers)

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        pass


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@contextmanager
def s3_server(folder: Path) -> Iterator[ServedFolder]:
    """Serve a folder as a bucket of S3."""
    served = ServedFolder(folder, f"s3://{BUCKET}/", BUCKET)
    with _serving(server := ThreadingHTTPServer(("127.0.0.1", 0), partial(_BucketHandler, served=served))):
        served.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_ACCESS_KEY_ID": USER,
            "AWS_SECRET_ACCESS_KEY": PASSWORD,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        yield served


@contextmanager
def webdav_server(folder: Path) -> Iterator[ServedFolder]:
    """Serve a folder over WebDAV."""
    from wsgidav.wsgidav_app import WsgiDAVApp

    served = ServedFolder(folder)
    accounts = {"*": {USER: {"password": PASSWORD}}}
    application = WsgiDAVApp(
        {"provider_mapping": {"/": str(folder)}, "simple_dc": {"user_mapping": accounts}, "logging": {"enable": False}}
    )

    def answer(environment: dict[str, Any], start: Callable[..., Any]) -> Any:
        served.pause()
        if environment["REQUEST_METHOD"] == "GET":
            served.note(environment["PATH_INFO"].lstrip("/"))
        return application(environment, start)

    class Handler(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
            pass

    with _serving(server := make_server("127.0.0.1", 0, answer, handler_class=Handler)):
        served.host = f"127.0.0.1:{server.server_port}"
        served.url = f"webdav://{USER}:{PASSWORD}@{served.host}/"
        yield served


@contextmanager
def sftp_server(folder: Path) -> Iterator[ServedFolder]:  # noqa: C901 - it contains two small classes
    """Serve a folder over SFTP. `known_host` is the line of the server in `known_hosts`."""
    import paramiko

    served = ServedFolder(folder)

    class Files(paramiko.SFTPServerInterface):  # type: ignore[misc]  # paramiko has no types
        def list_folder(self, path: str) -> Any:
            served.pause()
            found = sorted((folder / path.lstrip("/")).iterdir())
            return [paramiko.SFTPAttributes.from_stat(os.stat(it), it.name) for it in found]

        def stat(self, path: str) -> Any:
            served.pause()
            try:
                return paramiko.SFTPAttributes.from_stat(os.stat(folder / path.lstrip("/")))
            except OSError as error:
                return paramiko.SFTPServer.convert_errno(error.errno or 0)

        lstat = stat

        def open(self, path: str, flags: int, attr: Any) -> Any:
            served.note(path.lstrip("/"))
            handle = paramiko.SFTPHandle(flags)
            try:
                handle.readfile = (folder / path.lstrip("/")).open("rb")
            except OSError as error:
                return paramiko.SFTPServer.convert_errno(error.errno or 0)
            handle.stat = lambda: self.stat(path)
            return handle

    class Login(paramiko.ServerInterface):  # type: ignore[misc]  # paramiko has no types
        def check_auth_password(self, username: str, password: str) -> int:
            right = (username, password) == (USER, PASSWORD)
            return int(paramiko.AUTH_SUCCESSFUL if right else paramiko.AUTH_FAILED)

        def check_channel_request(self, kind: str, chanid: int) -> int:
            return int(paramiko.OPEN_SUCCEEDED)

    key = paramiko.ECDSAKey.generate()
    transports: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        served.host, served.known_host = (
            f"127.0.0.1:{port}",
            f"[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n",
        )
        served.url = f"sftp://{USER}:{PASSWORD}@{served.host}/"

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                transport = paramiko.Transport(connection)
                transports.append(transport)
                transport.add_server_key(key)
                transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
                transport.start_server(event=threading.Event(), server=Login())

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield served
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for transport in transports:
                transport.close()


SERVERS = {"http": http_server, "s3": s3_server, "sftp": sftp_server, "webdav": webdav_server}
