"""The one notion of time in the store."""

from datetime import UTC, datetime


def now() -> str:
    """The present moment in UTC, as ISO 8601 to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
