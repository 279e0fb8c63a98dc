"""`/login`: where a browser is given a cookie for a key, and `/logout`: where it gives it back. No script is needed."""

import html
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from elt_llm_api.serve.access.callers import cookie_of
from elt_llm_api.serve.access.gate import Gate, Refused
from elt_llm_api.serve.asgi import header

router = APIRouter(include_in_schema=False)
_FORM = "application/x-www-form-urlencoded"
_LONGEST = 8192  # bytes of a form that holds one key
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Sign in</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:15vh auto;padding:0 1rem}}
input,button{{font:inherit;width:100%;box-sizing:border-box;padding:.6rem;margin:.4rem 0}}
p[role=alert]{{border-left:4px solid #c33;padding-left:.6rem}}</style></head>
<body><main><h1>Sign in</h1>{told}<form method="post" action="/login">
<label for="key">Key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Sign in</button></form></main></body></html>
"""


async def gate_of(request: Request) -> Gate:
    """What decides who comes in."""
    gate: Gate = request.app.state.gate
    return gate


GivenGate = Annotated[Gate, Depends(gate_of)]


@router.get("/login")
async def login_page(gate: GivenGate) -> Response:
    """The form, or the way on where no key is needed."""
    return _page() if gate.demands_key() else RedirectResponse("/", 303)


@router.post("/login")
async def login(request: Request, gate: GivenGate) -> Response:
    """Give the browser a cookie for a right key. Wrong ones count as they do everywhere."""
    if (header(request.scope, "content-type") or "").partition(";")[0].strip().lower() != _FORM:
        return _page("The form sends what no form of this page does.", 415)
    body = await request.body()
    if len(body) > _LONGEST:
        return _page("That is too long for a key.", 413)
    secret = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0].strip()
    admitted = gate.admit(request.scope, secret)
    if isinstance(admitted, Refused):
        wrong = "This is no key of this server." if admitted.status == 401 else f"{admitted.message} {admitted.hint}"
        return _page(wrong, admitted.status, dict(admitted.headers))
    return _sent_on("/", secret, request)


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Have the browser forget its key."""
    return _sent_on("/login", None, request)


def _page(told: str = "", status: int = 200, headers: dict[str, str] | None = None) -> HTMLResponse:
    alert = f'<p role="alert">{html.escape(told)}</p>' if told else ""
    return HTMLResponse(_PAGE.format(told=alert), status, {**(headers or {}), "cache-control": "no-store"})


def _sent_on(where: str, secret: str | None, request: Request) -> Response:
    response = RedirectResponse(where, 303, {"cache-control": "no-store"})
    response.headers.append("set-cookie", cookie_of(secret, request.scope))
    return response
