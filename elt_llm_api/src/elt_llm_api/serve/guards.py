"""Everything that stands around the routes, in order: there is no way to one that does not lead through this."""

from elt_llm_core.settings_serve import ServeSettings
from starlette.middleware.errors import ServerErrorMiddleware

from elt_llm_api.serve.access.callers import Callers
from elt_llm_api.serve.access.gate import Gate
from elt_llm_api.serve.access.lockout import Lockout, RateLimit
from elt_llm_api.serve.asgi import App
from elt_llm_api.serve.errors import unexpected
from elt_llm_api.serve.middleware.access_log import AccessLog
from elt_llm_api.serve.middleware.authentication import Authentication
from elt_llm_api.serve.middleware.body_limit import BodyLimit
from elt_llm_api.serve.middleware.cors import CrossOrigin
from elt_llm_api.serve.middleware.file_addresses import FileAddresses
from elt_llm_api.serve.middleware.headers import SafeHeaders
from elt_llm_api.serve.middleware.hosts import Hosts
from elt_llm_api.serve.middleware.plain_requests import PlainRequests
from elt_llm_api.serve.middleware.proxies import Proxies
from elt_llm_api.serve.middleware.request_ids import RequestIds
from elt_llm_api.serve.middleware.slow_bodies import SlowBodies
from elt_llm_api.serve.middleware.stopping import Stopping
from elt_llm_api.serve.services import Services


def gate_for(services: Services, token: str | None) -> Gate:
    """Who is let in: whoever shows the token or a key; anybody while there is neither."""
    serve = services.loaded.settings.serve
    callers = Callers(token, services.key_book.find, lambda: services.key_book.has_keys)
    return Gate(callers, Lockout(serve.tries, serve.lockout_seconds), RateLimit(serve.requests_per_minute))


def guarded(app: App, gate: Gate, serve: ServeSettings) -> App:
    """The app with its guards, the outermost first: names, headers, hosts, origins, files, sizes, keys."""
    inner: App = Authentication(app, gate)
    inner = BodyLimit(inner, serve.max_body_mb << 20, serve.max_upload_mb << 20)
    inner = FileAddresses(SlowBodies(inner))
    inner = CrossOrigin(inner, serve.cors_origins)
    inner = Hosts(inner, serve.allowed_hosts, serve.cors_origins)
    # What fails outside the routes is told in the same shape; it is raised again, and the server logs it.
    inner = ServerErrorMiddleware(PlainRequests(inner), handler=unexpected)
    inner = RequestIds(AccessLog(SafeHeaders(Stopping(inner))))
    return Proxies(inner) if serve.behind_proxy else inner
