"""Docstrings, comments and messages use the vocabulary of docs/glossary-of-terms.md."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

# The plain counterpart of each word is in docs/glossary-of-terms.md.
_BANNED = re.compile(
    r"\b(?:tells?|told|telling|says?|said|stands?|stood|borne out|bears? out|puts? right|(?:take[ns]?|taking|took) out"
    r"|begins?|began|begun|beginning|passages?|legs?|stretch(?:es)?|weighing|abstentions?|whoever)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[A-Za-z]+ \S+ \S+")
_PATTERN = re.compile(r"\\[bswdSW(]|\(\?|\[\^|\||\{entity\}")  # patterns, and questions of catalog fields


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of every docstring, comment and message of a source file with a banned word."""
    source = path.read_text(encoding="utf-8")
    if not _BANNED.search(source):  # reading the tokens takes long
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    tree = ast.parse(source)
    word_lists = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split"
        for part in ast.walk(node.func.value)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in word_lists:
            continue
        if _SENTENCE.search(node.value) and not _PATTERN.search(node.value):
            yield node.lineno, node.value


def test_docstrings_comments_and_messages_use_no_banned_words(sources: list[Path]) -> None:
    found = [
        f"{path.name}:{line}: {match.group()}"
        for path in sources
        for line, text in texts_of(path)
        for match in _BANNED.finditer(text)
    ]
    assert found == []
