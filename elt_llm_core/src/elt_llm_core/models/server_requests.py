"""One request to a model server, and the object that it replies with."""

import json
import math
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from elt_llm_core.errors import UnusableReply
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.server_failures import by_status, client_failures, explained, words_of
from elt_llm_core.models.stream_pump import StreamPump

if TYPE_CHECKING:
    import httpx


def request_object(
    client: "httpx.Client", method: str, path: str, body: Mapping[str, Any] | None, server: ModelServer, hint: str
) -> dict[str, Any]:
    """The object in the reply. Raises a ModelError for anything else; `hint` is for a reply that is no object.

    It takes three times the client's patience at most: to connect, to wait for the reply, and to read it.
    """

    def replies() -> "Iterator[httpx.Response]":
        yield client.request(method, path, json=body)

    try:
        deadline = time.monotonic() + 3 * (client.timeout.read or math.inf)
        reply = next(StreamPump(replies).pieces(deadline, lambda: False))
        status, content = reply.status_code, reply.content
        read = json.loads(content) if status == 200 else None
    except client_failures() as error:
        raise explained(error, server) from error
    if status != 200:
        raise by_status(status, words_of(content), server)
    if not isinstance(read, dict):
        raise UnusableReply(f"{server} replies with no object", hint=hint)
    return read
