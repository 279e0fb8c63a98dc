"""The errors that this project raises on purpose. Their exit code is 1 unless the class or its base sets another."""

from typing import ClassVar


class EltError(Exception):
    """The base of all errors. `str(error)` is one sentence; `hint` is the command or change that helps, or empty."""

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(EltError):
    """The request is invalid, and nothing was changed."""

    exit_code = 2


class SettingsError(UsageError):
    """A settings file, key or value is wrong. The message names the file, line, key and allowed values."""


class UnknownCollection(UsageError):
    """No collection has the given name. The hint lists the nearest names."""


class StoreError(EltError):
    """The data directory cannot serve the request."""


class LockHeld(StoreError):
    """Another process holds the lock for writing. The message names this process. Retry later."""

    exit_code = 75
    retryable = True


class StoreUnavailable(StoreError):
    """The database server does not answer, or the connection was lost. Retry later."""

    retryable = True


class OutdatedStore(StoreError):
    """An older version wrote the store. The next writing command migrates the store."""


class ImportRefused(StoreError):
    """A file to import is damaged or mislabelled, and nothing was imported."""


class FingerprintMismatch(StoreError):
    """The collection was built with another embedding model, so the vectors cannot be compared."""


class CorruptIndex(StoreError):
    """A file of a published generation is missing or damaged. `elt-llm verify` rebuilds the generation."""


class IndexUnavailable(StoreError):
    """The database that searches the vectors cannot be reached, or another process has its folder open."""

    retryable = True


class IndexRefused(StoreError):
    """The database that searches the vectors does not fit the settings or refuses to be changed."""


class IngestError(EltError):
    """Nothing could be ingested."""


class UnreadableDocument(IngestError):
    """One file could not be parsed. The message is the reason, which is shown beside the name of the file."""


class ModelError(EltError):
    """A model is missing, has unexpected bytes, or does not answer."""


class ModelUnavailable(ModelError):
    """The model's server cannot be reached, is busy, or is still loading the model. A retry may help."""

    retryable = True


class ModelMissing(ModelError):
    """The server or the disk does not have the model. The hint is the command that installs the model."""


class ModelTimeout(ModelError):
    """The model did not answer within the time limit. A retry would wait for the same time."""


class ModelBroken(ModelError):
    """The model failed while answering. A retry may help."""

    retryable = True


class ModelRefused(ModelError):
    """The server refuses the request. A retry will not help."""


class PromptTooLong(ModelError):
    """The text exceeds the model's input limit, and the server refused or truncated the text."""


class UnusableReply(ModelError):
    """The model's reply cannot be used, for example because its vectors have another dimension."""


class QueryError(EltError):
    """A question could not be answered."""


class RetrievalError(QueryError):
    """Every retriever failed."""


class ResponseGenerationError(QueryError):
    """Chunks were found, but the answer could not be written."""
