"""Refusals of the server that the commands have no name for, each with the HTTP status that says it."""

from elt_llm_core.errors import EltError, UsageError


class NotThere(EltError):
    """What is asked for is not kept, or is no more: 404."""


class NotYet(EltError):
    """It comes, but it is not there yet: 409."""

    retryable = True


class TooLarge(EltError):
    """More than is taken at once: 413."""


class UnsupportedUpload(EltError):
    """A kind of file, or of request, that is not read: 415."""


class NotInstalled(UsageError):
    """A part of the server that an extra brings, without it: 501."""


class NoRoom(EltError):
    """The quota of a collection, or the disk, cannot take it: 507."""
