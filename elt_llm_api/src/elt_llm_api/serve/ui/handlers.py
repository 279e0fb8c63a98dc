"""What the handlers of all tabs have in common: nobody calls them but the page, and they say what changes."""

from typing import Any

QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""Of an event that is over in a moment, or that itself says how far it is."""
TIMED: dict[str, Any] = {**QUIET, "show_progress": "minimal"}
"""Of an event that may take a while: the seconds are counted beside what it changes."""
Updates = dict[Any, Any]
"""What changes, by component."""
