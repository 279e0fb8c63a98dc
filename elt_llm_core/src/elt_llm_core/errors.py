"""The errors that this project raises on purpose. A command that fails exits with the `exit_code` of its error."""

from typing import ClassVar


class EltError(Exception):
    """The base class of all errors. `str(error)` is the message. `hint` is a command or change that helps, or ""."""

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
    """No collection has the given name. The hint lists similar names."""


class StoreError(EltError):
    """The store of a workspace cannot be used, or cannot do what was requested."""


class LockHeld(StoreError):
    """Another process is writing and holds the lock. The message names that process. Retry later."""

    exit_code = 75
    retryable = True


class StoreUnavailable(StoreError):
    """The database server does not answer, or the connection was lost. Retry later."""

    retryable = True


class OutdatedStore(StoreError):
    """An older program version wrote the store. The next command that writes migrates it."""


class ImportRefused(StoreError):
    """A file to import is damaged or mislabelled, and nothing was imported."""


class FingerprintMismatch(StoreError):
    """The collection was built with another embedding model, so its vectors cannot be compared with new ones."""


class CorruptIndex(StoreError):
    """A file of a published generation is missing or damaged. `elt-llm verify` rebuilds the generation."""


class IndexUnavailable(StoreError):
    """The vector database cannot be reached, or another process has its folder open."""

    retryable = True


class IndexRefused(StoreError):
    """The vector database refuses the request or does not match the settings."""


class IngestError(EltError):
    """Nothing could be ingested."""


class UnreadableDocument(IngestError):
    """One file could not be parsed. The message is the reason, which is shown next to the file's name."""

    @property
    def reason_and_hint(self) -> str:
        """The reason, followed by what helps, if that is known."""
        return f"{self}; {self.hint}" if self.hint else str(self)


class ModelError(EltError):
    """A model is missing, damaged, unreachable or failing."""


class ModelUnavailable(ModelError):
    """The model's server cannot be reached, is busy, or is still loading the model. A retry may help."""

    retryable = True


class ModelMissing(ModelError):
    """The model is not on the server or the disk. The hint explains how to install it."""


class ModelTimeout(ModelError):
    """The model did not answer within the time limit. A retry would wait for the same time."""


class ModelBroken(ModelError):
    """The model failed while answering. A retry may help."""

    retryable = True


class ModelRefused(ModelError):
    """The server refuses the request. A retry will not help."""


class PromptTooLong(ModelError):
    """The text is longer than the model's limit, or the server refused or truncated it."""


class UnusableReply(ModelError):
    """The model's reply cannot be used, for example because its vectors have another dimension."""


class QueryError(EltError):
    """A question could not be answered."""


class RetrievalError(QueryError):
    """Every retriever failed."""


class ResponseGenerationError(QueryError):
    """Chunks were found, but the answer could not be written."""
