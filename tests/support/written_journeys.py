"""A small library, ingested once, whose questions are answered by the model server of the tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import CommandLine, Ended
from elt_llm_api.cli import run
from model_http_server import ModelHttpServer

TEXT = """# Loans

Books may be borrowed for four weeks. A loan is renewed twice at most.

# Reading room

The reading room opens at nine on weekdays.

# Fees

A reader's card costs 25 euros a year.
"""
QUESTION = "How long may books be borrowed?"
TRUE = "Books may be borrowed for four weeks [1]."
INVENTED = "Emperor Otto founded the library in 1350 with 77 parchment maps."
NOBODY = "http://127.0.0.1:9"
EMBEDDED = {"ELT_LLM_EMBEDDING__PROVIDER": "embedded"}
CHATS = {"ollama": "/api/chat", "openai_like": "/v1/chat/completions"}


@dataclass(frozen=True)
class Library:
    """A folder with the collection `library`, and the command in it."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def ask(self, environment: Mapping[str, str], *options: str, question: str = QUESTION) -> Ended:
        """One question, to its end."""
        return CommandLine(self.folder, self.capsys, environment)("ask", question, "-c", "library", *options)


def ingested(folder: Path) -> Path:
    """The folder, with its collection made."""
    (folder / "rules.md").write_text(TEXT, encoding="utf-8")
    assert run(["ingest", str(folder / "rules.md"), "-c", "library"], EMBEDDED, folder) == 0
    return folder


def written_by(provider: str, server: ModelHttpServer | None = None, **more: str) -> dict[str, str]:
    """The environment in which `provider` writes; `more` are values by SECTION__KEY.

    Without a server, it is to be at an address where nobody listens.
    """
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
