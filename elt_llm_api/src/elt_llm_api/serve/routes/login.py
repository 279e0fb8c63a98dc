"""`/login` and `/logout`: exchange a key for a browser cookie, without scripts."""

import html
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from elt_llm_api.serve.access.gate import AccessGate, AccessRefusal, set_cookie_header
from elt_llm_api.serve.asgi import header
from elt_llm_api.serve.ui.texts import load_texts, preferred_language

router = APIRouter(include_in_schema=False)
_FORM = "application/x-www-form-urlencoded"
_MAX_FORM_BYTES = 8192  # bytes of a form that holds one key
_PAGE = Path(__file__).with_name("login.html").read_text(encoding="utf-8")


@router.get("/login")
async def login_page(request: Request) -> Response:
    """Show the login form, or redirect to the start page if no key is required."""
    return _login_page(request) if request.app.state.gate.callers.requires_key else RedirectResponse("/", 303)


@router.post("/login")
async def login(request: Request) -> Response:
    """Set a cookie for a right key. A wrong key counts towards the lockout."""
    if (header(request.scope, "content-type") or "").partition(";")[0].strip().lower() != _FORM:
        return _login_page(request, "The request was not sent by the form of this page.", 415)
    body = await request.body()
    if len(body) > _MAX_FORM_BYTES:
        return _login_page(request, "The key is too long.", 413)
    secret = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0].strip()
    gate: AccessGate = request.app.state.gate
    admitted = gate.admit(request.scope, secret)
    if isinstance(admitted, AccessRefusal):
        message = admitted.message if admitted.status == 401 else f"{admitted.message} {admitted.hint}"
        return _login_page(request, message, admitted.status, dict(admitted.headers))
    return _redirect("/", secret, request)


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Delete the cookie."""
    return _redirect("/login", None, request)


def _login_page(
    request: Request, message: str = "", status: int = 200, headers: dict[str, str] | None = None
) -> HTMLResponse:
    """Return the form in the language of the browser, with a message."""
    texts = load_texts(preferred_language(header(request.scope, "accept-language") or ""))
    page = _PAGE.replace("{language}", texts.language)
    for name in ("sign_in", "key"):
        page = page.replace(f"{{{name}}}", texts(f"page.{name}"))
    page = page.replace("{alert}", f'<p role="alert">{html.escape(texts.say(message))}</p>' if message else "")
    return HTMLResponse(page, status, {**(headers or {}), "cache-control": "no-store", "vary": "accept-language"})


def _redirect(path: str, secret: str | None, request: Request) -> Response:
    response = RedirectResponse(path, 303, {"cache-control": "no-store"})
    response.headers.append("set-cookie", set_cookie_header(secret, request.scope))
    return response
