"""How one run reads its files: with which readers, and which part of each file it takes."""

from dataclasses import dataclass, field

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers import reader_called
from elt_llm_ingest.readers.options import ReaderOptions
from elt_llm_ingest.roots import Located
from elt_llm_ingest.sandbox.parser import Parser
from elt_llm_ingest.sandbox.request import ParseRequest
from elt_llm_ingest.splitting import SplitBy, part_of_group


@dataclass(frozen=True)
class Reading:
    """Reads with `parser`. `reader` is a name or "auto"; `split_by` and `group` say what is taken of a file."""

    parser: Parser
    options: ReaderOptions = field(default_factory=ReaderOptions)
    reader: str = "auto"
    split_by: SplitBy | None = None
    group: str = ""
    _identities: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def scope(self) -> str:
        """What of each file is taken, as part of a version's identity; empty for all of it."""
        return f"{self.split_by}:{self.group}" if self.split_by else ""

    def request(self, located: Located) -> ParseRequest:
        """What the parser is asked."""
        return ParseRequest(located.file.path, self.reader, self.options, within=located.root_path)

    def identity(self, located: Located) -> str:
        """Name and version of the reader of a file. Raises UnreadableDocument if there is none."""
        suffix = located.file.path.suffix.lower()
        if suffix not in self._identities:
            reader = reader_called(self.reader, located.file.path, self.options)
            if reader is None:
                raise UnreadableDocument(f"no reader for {suffix}")
            self._identities[suffix] = reader.identity
        return self._identities[suffix]

    def take(self, parsed: ParsedDocument) -> ParsedDocument:
        """What this run takes of a file."""
        return part_of_group(parsed, self.split_by, self.group) if self.split_by else parsed
