"""The errors that this project raises on purpose, with the exit code of each.

::

    EltError                     1   the work failed; `hint` is the command or setting that cures it
    ├── UsageError               2   the request itself is wrong
    │   ├── SettingsError        2   a settings file, key or value is wrong
    │   └── UnknownCollection    2   no collection of that name
    ├── StoreError               1   the data directory cannot serve the request
    │   ├── LockHeld            75   another process is writing
    │   ├── OutdatedStore        1   an older version wrote the data directory; a writing command migrates it
    │   ├── ImportRefused        1   a file to import is damaged or mislabelled
    │   ├── FingerprintMismatch  1   the collection was built with another embedding model
    │   └── CorruptIndex         1   a file of a generation is damaged
    ├── IngestError              1   nothing could be ingested
    │   └── UnreadableDocument   1   one file could not be parsed
    ├── ModelError               1   a model cannot be loaded or does not answer
    │   ├── ModelUnavailable     1   its server is unreachable, busy or still loading; a retry may help
    │   ├── ModelMissing         1   the server, or the disk, does not have it
    │   ├── ModelTimeout         1   no answer in the time allowed
    │   ├── ModelBroken          1   it failed while answering; a retry may help
    │   ├── ModelRefused         1   the server refuses the request; a retry will not help
    │   ├── PromptTooLong        1   the text does not fit the model
    │   └── UnusableReply        1   its answer cannot be used
    └── QueryError               1   a question could not be answered
        ├── RetrievalError       1   no retriever worked
        └── ResponseGenerationError  1   the answer could not be written
"""

from typing import ClassVar


class EltError(Exception):
    """A failure with a cure. `str(error)` is one sentence; `hint` is the command or change that cures it, or empty."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(EltError):
    """The request is invalid; nothing was changed."""

    exit_code = 2


class SettingsError(UsageError):
    """A settings file, key or value is wrong; the message names file, line, key and what is allowed."""


class UnknownCollection(UsageError):
    """No collection has that name; the hint lists the nearest ones."""


class StoreError(EltError):
    """The data directory cannot serve the request."""


class LockHeld(StoreError):
    """Another process holds the writer's lock; the message names it. Retry later."""

    exit_code = 75
    retryable = True


class OutdatedStore(StoreError):
    """An older version wrote the store; the next writing command migrates it."""


class ImportRefused(StoreError):
    """A file to import is damaged or mislabelled; nothing was imported."""


class FingerprintMismatch(StoreError):
    """The collection was built with another embedding model; their vectors cannot be compared."""


class CorruptIndex(StoreError):
    """A file of a published generation is missing or damaged; `elt-llm verify` rebuilds it from the store."""


class IngestError(EltError):
    """Nothing could be ingested."""


class UnreadableDocument(IngestError):
    """One file could not be parsed; the message is the reason shown beside its name."""


class ModelError(EltError):
    """A model is missing, has unexpected bytes, or does not answer."""


class ModelUnavailable(ModelError):
    """The model's server cannot be reached, is busy, or still loads the model."""

    retryable = True


class ModelMissing(ModelError):
    """The server, or the disk, does not have the model; the hint is the command that installs it."""


class ModelTimeout(ModelError):
    """The model did not answer within the time limit; a retry would wait as long again."""


class ModelBroken(ModelError):
    """The model failed while answering."""

    retryable = True


class ModelRefused(ModelError):
    """The server refuses the request itself; a retry will not help."""


class PromptTooLong(ModelError):
    """The text exceeds the model's input limit: the server refused or truncated it."""


class UnusableReply(ModelError):
    """The model's answer cannot be used, such as vectors of another dimension."""


class QueryError(EltError):
    """A question could not be answered."""


class RetrievalError(QueryError):
    """No retriever worked."""


class ResponseGenerationError(QueryError):
    """Chunks were found, but the answer could not be written."""
