"""The pages of the user interface run the scripts they were written with, and nothing else."""

import base64
import hashlib
from html.parser import HTMLParser

from elt_llm_api.serve.asgi import App, Message, Receive, Scope, Send

_ELSEWHERE = ("og:", "twitter:")  # pictures and addresses for those who preview links


class StrictPages:
    """Gives every page a policy that names its inline scripts by their sha256, and takes out what points elsewhere."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on but the page, which is read whole first: no other is ours to vouch for."""
        if scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        page = bytearray()

        async def strict(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                page.extend(message.get("body", b""))
                if not message.get("more_body"):
                    await _send_page(start, bytes(page), send)

        await self._app(_uncompressed(scope), receive, strict)


class PageReader(HTMLParser):
    """Reads a page and writes it again, without what points elsewhere; collects the inline scripts meanwhile."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self._written: list[str] = []
        self._script: list[str] | None = None
        self.scripts: list[str] = []

    @property
    def page(self) -> str:
        """The page as it was, without what points elsewhere."""
        return "".join(self._written)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the tag, unless it tells others of us or is for installing the page as an app."""
        given = dict(attrs)
        name = given.get("property") or given.get("name") or ""
        if (tag == "meta" and name.startswith(_ELSEWHERE)) or (tag == "link" and given.get("rel") == "manifest"):
            return
        self._written.append(self.get_starttag_text() or "")
        if tag == "script" and "src" not in given:
            self._script = []

    def handle_endtag(self, tag: str) -> None:
        """Keep the tag; a script ends."""
        if tag == "script" and self._script is not None:
            self.scripts.append("".join(self._script))
            self._script = None
        self._written.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        """Keep text, that of scripts as well."""
        self._written.append(data)
        if self._script is not None:
            self._script.append(data)

    def handle_entityref(self, name: str) -> None:
        """Keep `&name;`."""
        self._written.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Keep `&#number;`."""
        self._written.append(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        """Keep the document type."""
        self._written.append(f"<!{decl}>")


def page_policy(scripts: list[str]) -> str:
    """The policy of a page that has these inline scripts: it runs them and files of ours, and loads only from us.

    Styles stand inline because Gradio's components set them so; scripts made of text at run time are refused.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:;"
        " font-src 'self' data:; connect-src 'self'; media-src 'self'; worker-src 'self' blob:; base-uri 'self';"
        " form-action 'self'; frame-ancestors 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


async def _send_page(start: Message, page: bytes, send: Send) -> None:
    reader = PageReader()
    reader.feed(page.decode("utf-8"))
    reader.close()
    body = reader.page.encode("utf-8")
    told = {b"content-length": str(len(body)).encode("ascii"), b"cache-control": b"no-store"}
    told[b"content-security-policy"] = page_policy(reader.scripts).encode("ascii")
    kept = [(name, value) for name, value in start.get("headers", ()) if name.lower() not in told]
    await send({**start, "headers": [*kept, *told.items()]})
    await send({"type": "http.response.body", "body": body})


def _is_page(message: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in message.get("headers", ())
    )


def _uncompressed(scope: Scope) -> Scope:
    """The request for a page as one that takes no compressed answer: it is to be read on the way."""
    return {**scope, "headers": [one for one in scope["headers"] if one[0].lower() != b"accept-encoding"]}
