"""The families of errors that a damaged package raises on its way, told as one: the document is unreadable."""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from zipfile import BadZipFile

from elt_llm_core.errors import UnreadableDocument

_TOLD = 200


@contextmanager
def damage_refused() -> Iterator[None]:
    """Turn what reading a damaged file may raise into UnreadableDocument; refusals pass as they are."""
    from lxml import etree

    # Names that lead nowhere, numbers that are none, streams cut off, trees without end. Nothing broader: a mistake
    # of this program, such as a wrong type or a missing attribute, has to be seen.
    families = (
        *(KeyError, IndexError, ValueError, OverflowError, EOFError),
        *(struct.error, zlib.error, BadZipFile, etree.LxmlError),
    )
    try:
        yield
    except RecursionError as error:
        raise UnreadableDocument("is nested too deeply") from error
    except families as error:
        raise UnreadableDocument(f"is damaged: {type(error).__name__}: {str(error)[:_TOLD]}") from error
