"""A small library that is ingested once; the test model server answers its questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from elt_llm_api.cli import run
from model_servers.http_server import ModelHttpServer
from optional import needs
from processes.command_line import CommandLine, CommandResult

TEXT = """# Loans

Books may be borrowed for four weeks. A loan is renewed twice at most.

# Reading room

The reading room opens at nine on weekdays.

# Fees

A reader's card costs 25 euros a year.
"""
BRANCHES = """
castle: a guard carries them up the stairs, and no reader may enter the tower where maps of the old moat are kept in oak
harbour: sailors leave them with the pilot, salt water spoils bindings, and a damp cover is dried by the stove for weeks
mill: flour dust is wiped off with a brush of hair, and the wheel stands still while children hear stories on Friday
garden: wet grass is no place for atlases, the gardener lends a basket, and pressed flowers are taken out before return
station: trains do not wait for readers, a locker by platform three is opened with the card, and parcels go at night
market: stalls close at noon, the baker keeps a shelf of cookery, and whoever spills honey on a page buys the copy anew
school: teachers sign for a whole class, exercise books are not borrowed, and holidays lengthen nothing at all in summer
chapel: hymnals stay on the benches, the organist holds the key of the cupboard, and candles are kept far from shelves
"""
LONG_TEXT = "\n".join(
    [
        TEXT,
        *(
            f"# Branch\n\nBooks of the {line}, and may be borrowed for weeks.\n"
            for line in BRANCHES.split("\n")
            if line
        ),
    ]
)
"""Enough chunks for a prompt longer than the smallest context window."""
QUESTION = "How long may books be borrowed?"
TRUE = "Books may be borrowed for four weeks [1]."
INVENTED = "Emperor Otto founded the library in 1350 with 77 parchment maps."
NOBODY = "http://127.0.0.1:9"
EMBEDDED = {"ELT_LLM_EMBEDDING__PROVIDER": "embedded"}
CHATS = {"ollama": "/api/chat", "openai_like": "/v1/chat/completions"}


@dataclass(frozen=True)
class Library:
    """A folder with the collection `library`, and the command line in it."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def ask(self, environment: Mapping[str, str], *options: str, question: str = QUESTION) -> CommandResult:
        """Ask one question and return the result."""
        return CommandLine(self.folder, self.capsys, environment)("ask", question, "-c", "library", *options)


def ingested(folder: Path, text: str = TEXT) -> Path:
    """Ingest the collection and return the library."""
    (folder / "rules.md").write_text(text, encoding="utf-8")
    assert run(["ingest", str(folder / "rules.md"), "-c", "library"], EMBEDDED, folder) == 0
    return folder


def written_by(provider: str, server: ModelHttpServer | None = None, **more: str) -> dict[str, str]:
    """Return the environment in which `provider` writes answers; `more` are settings by SECTION__KEY.

    Without a server, the address is a closed port.
    """
    if provider == "openai_like":
        needs("llama_index.llms.openai_like")
    model = server.backend.name if server else "scripted:latest"
    values = {
        "LLM__PROVIDER": provider,
        "LLM__MODEL": model,
        "LLM__ANSWER_TIMEOUT": "60",
        "LLM__TEMPERATURE": "0",
        "ANSWER__FURTHER_STEPS": "0",
        "OLLAMA__BASE_URL": server.address if server else NOBODY,
        "OLLAMA__CONTEXT_WINDOW": "2048",
        "OLLAMA__NUM_PREDICT": "64",
        "OPENAI_LIKE__BASE_URL": server.openai_address if server else f"{NOBODY}/v1",
        "OPENAI_LIKE__CONTEXT_WINDOW": "2048",
        "OPENAI_LIKE__NUM_PREDICT": "64",
        **more,
    }
    return {**EMBEDDED, **{f"ELT_LLM_{name}": value for name, value in values.items()}}
