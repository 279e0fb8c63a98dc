"""Every error this project raises on purpose, and the exit code it ends a command with.

::

    EltError                     1   the work failed; `hint` is the command or setting that mends it
    ├── UsageError               2   the request itself is wrong
    │   ├── SettingsError        2   a settings file, key or value is wrong
    │   └── UnknownCollection    2   no collection of that name
    ├── StoreError               1   the data directory cannot do what was asked
    │   ├── LockHeld            75   another process is writing
    │   ├── OutdatedStore        1   an older version wrote the data directory; a writing command migrates it
    │   ├── ImportRefused        1   a file to import is damaged, or is not what it says
    │   ├── FingerprintMismatch  1   the collection was built with another embedding model
    │   └── CorruptIndex         1   a file of a generation is damaged
    ├── IngestError              1   nothing could be ingested
    │   └── UnreadableDocument   1   one file could not be parsed
    ├── ModelError               1   a model cannot be loaded or does not answer
    │   ├── ModelUnavailable     1   its server cannot be reached, is busy or still loads it; trying again may help
    │   ├── ModelMissing         1   the server, or the disk, does not have it
    │   ├── ModelTimeout         1   no answer in the time allowed
    │   ├── ModelBroken          1   it failed or broke off while answering; trying again may help
    │   ├── ModelRefused         1   the server refuses the request, and would again
    │   ├── PromptTooLong        1   the text does not fit the model: it was refused, or cut
    │   └── UnusableReply        1   it answered with something that cannot be used
    └── QueryError               1   a question could not be answered
        ├── RetrievalError       1   no leg of the retrieval worked
        └── ResponseGenerationError  1   the answer could not be written
"""

from typing import ClassVar


class EltError(Exception):
    """A failure with a cure. `str(error)` is one sentence; `hint` is what to run or change, or empty."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(EltError):
    """The request is wrong; nothing was done."""

    exit_code = 2


class SettingsError(UsageError):
    """A settings file, key or value is wrong; the message names file, line, key and what is allowed."""


class UnknownCollection(UsageError):
    """No collection has that name; the hint lists the nearest ones."""


class StoreError(EltError):
    """The data directory cannot do what was asked."""


class LockHeld(StoreError):
    """Another process holds the writer's lock; the message names it. Trying again later is the cure."""

    exit_code = 75
    retryable = True


class OutdatedStore(StoreError):
    """An older version wrote the store: it is migrated by the next command that writes."""


class ImportRefused(StoreError):
    """A file to import is damaged, or is not what it says; nothing was imported."""


class FingerprintMismatch(StoreError):
    """The collection was built with another embedding model; asking it would compare unlike vectors."""


class CorruptIndex(StoreError):
    """A file of a published generation is missing or damaged; `elt-llm verify` rebuilds it from the store."""


class IngestError(EltError):
    """Nothing could be ingested."""


class UnreadableDocument(IngestError):
    """One file could not be parsed; the message is the reason shown beside its name."""


class ModelError(EltError):
    """A model is missing, has other bytes than expected, or does not answer."""


class ModelUnavailable(ModelError):
    """The model's server cannot be reached, is busy, or still loads the model."""

    retryable = True


class ModelMissing(ModelError):
    """The server, or the disk, does not have the model; the hint is the command that brings it."""


class ModelTimeout(ModelError):
    """The model gave no answer in the time allowed. Asking again would wait as long once more."""


class ModelBroken(ModelError):
    """The model failed or broke off while it answered."""

    retryable = True


class ModelRefused(ModelError):
    """The server refuses the request for what it is, and would refuse it again."""


class PromptTooLong(ModelError):
    """The text does not fit what the model reads: its server refused it, or cut it."""


class UnusableReply(ModelError):
    """The model answered with something that cannot be used, such as vectors of another dimension."""


class QueryError(EltError):
    """A question could not be answered."""


class RetrievalError(QueryError):
    """No leg of the retrieval worked."""


class ResponseGenerationError(QueryError):
    """The passages were found, but the answer could not be written."""
