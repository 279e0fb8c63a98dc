"""A conversation as a Markdown file, with its citations."""

import re
from collections.abc import Iterator, Sequence

from elt_llm_core.results import Citation
from elt_llm_core.state.sessions import Turn

from elt_llm_api.render import one_line, plain

_MEANING = re.compile(r"([\\`*_<>\[\]#|])")


def as_markdown(turns: Sequence[Turn]) -> str:
    """Every question with its answer, and below it the places it rests on with their words."""
    return "\n".join(line for turn in turns for line in _turn_lines(turn))


def _turn_lines(turn: Turn) -> Iterator[str]:
    yield f"## {_escaped(one_line(turn.asked))}"
    yield ""
    if turn.understood != turn.asked:
        yield f"*Understood as: {_escaped(one_line(turn.understood))}*"
        yield ""
    yield from (_line(line) for line in plain(turn.answer).splitlines())
    yield ""
    for citation in turn.result.citations:
        yield from _citation_lines(citation)


def _citation_lines(citation: Citation) -> Iterator[str]:
    page = f", page {citation.page}" if citation.page else ""
    section = f", {citation.section}" if citation.section else ""
    yield f"- {citation.reference} {_escaped(one_line(f'{citation.source}{page}{section}'))} ({citation.collection})"
    yield ""
    yield from (f"  > {_line(line)}" for line in plain(citation.excerpt).splitlines())
    yield ""


def _line(text: str) -> str:
    """A line of a document as it is, but for what Markdown would take for a heading, a list, a quote or HTML."""
    return re.sub(r"^(\s{0,8})([#>*+-])", r"\1\\\2", text).replace("<", "\\<")


def _escaped(text: str) -> str:
    return _MEANING.sub(r"\\\1", text)
