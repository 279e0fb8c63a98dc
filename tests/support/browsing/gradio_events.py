"""Call the handlers of the browser interface without a browser, with any value and any session."""

import json
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Events:
    """Calls Gradio event handlers over HTTP with a chosen session id."""

    client: httpx.Client
    session: str

    def join(self, handler: str, data: list[Any], event_data: Any = None) -> httpx.Response:
        """Call the first handler with this name."""
        told = {"data": data, "fn_index": self._number(handler), "session_hash": self.session, "event_data": event_data}
        return self.client.post("/gradio_api/queue/join", json=told)

    def outcome(self, handler: str, data: list[Any], event_data: Any = None) -> list[dict[str, Any]]:
        """Return all messages of the handler until it ends."""
        joined = self.join(handler, data, event_data)
        assert joined.status_code == 200, joined.text
        said: list[dict[str, Any]] = []
        with self.client.stream("GET", "/gradio_api/queue/data", params={"session_hash": self.session}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    said.append(json.loads(line.removeprefix("data:")))
                    if said[-1]["msg"] in {"process_completed", "close_stream", "unexpected_error"}:
                        break
        return said

    def _number(self, handler: str) -> int:
        dependencies = self.client.get("/config").json()["dependencies"]
        return next(int(one["id"]) for one in dependencies if one["api_name"] == handler)
