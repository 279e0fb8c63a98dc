"""An answer as it is written: the sources first, then its words as they come."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from elt_llm_api.render import plain
from elt_llm_api.render_answer import checked_lines, note_lines, place_of, quoted_lines

if TYPE_CHECKING:
    from elt_llm_core.results import QueryResult
    from elt_llm_query.events import Event


_AGAIN = MappingProxyType(
    {
        "once more": "That was not borne out well. Looked further, and once more:",
        "back": "That is no better. The answer stays:",
    }
)


class StreamPrinter:
    """Prints what it hears. Words are shown as they come, so their lines are as long as the model makes them."""

    def __init__(self) -> None:
        self._said = ""

    def __call__(self, event: "Event") -> None:
        """Print one event at once."""
        from elt_llm_query.events import AnswerBegins, Piece, SourcesFound, Understood

        match event:
            case Understood(question):
                click.echo(click.style(f"Understood as: {plain(question)}", dim=True))
            case SourcesFound(chunks):
                click.echo(click.style("Sources", bold=True))
                several = len({chunk.collection for chunk in chunks}) > 1
                for number, chunk in enumerate(chunks, 1):
                    click.echo(f"{click.style(f'[{number}]', bold=True)} {place_of(chunk, several=several)}")
            case AnswerBegins(again):
                self._said = ""
                click.echo("")
                if again:
                    click.echo(click.style(_AGAIN[again], dim=True))
            case Piece(text):
                self._said += text
                click.echo(plain(text), nl=False)

    def after(self, result: "QueryResult") -> "Iterator[str]":
        """Lines of what is known when all is said: which words bear it out, and which sentences nothing bears out.

        A refusal is said where the words that were shown are none themselves.
        """
        yield ""
        yield from _after(result, says_it=not result.answered and not self._refused(result))

    def _refused(self, result: "QueryResult") -> bool:
        """Whether what was shown is the refusal, or says the same in the model's words."""
        from elt_llm_query.synthesis.not_found import says_not_found, says_nothing

        if says_nothing(self._said):
            return False
        return self._said.strip() == result.answer.strip() or says_not_found(self._said)


def _after(result: "QueryResult", *, says_it: bool) -> Iterator[str]:
    if says_it:
        yield ""
        yield click.style(result.answer, bold=True)
    if result.citations:
        yield ""
        yield click.style("Borne out by" if result.answered else "Closest passages", bold=True)
    several = len(result.metadata.get("generations", {})) > 1
    for citation in result.citations:
        yield from quoted_lines(citation, several=several)
    yield from checked_lines(result)
    yield from note_lines(result.notes)
