"""Expand the macros that a LaTeX file defines, since kreuzberg leaves out what it does not know."""

import re

from elt_llm_ingest.parsing.document_builder import list_names

_TOKEN = re.compile(
    r"%[^\n]*|\\verb\*?(?P<mark>[^A-Za-z\s*])[^\n]{0,500}?(?P=mark)"
    r"|\\begin\{(?P<verbatim>verbatim\*?|Verbatim|lstlisting|minted|comment)\}"
    r"|\\(?P<define>(?:re)?newcommand|providecommand|def)(?![A-Za-z@])\*?|\\(?P<name>[A-Za-z@]+)(?:\{\}|\\(?=\s))?|\\.",
    re.DOTALL,
)
_DEFINED = re.compile(
    r"\s{0,9}(?:\{\s{0,9}\\([A-Za-z]+)\s{0,9}\}|\\([A-Za-z]+))\s{0,9}((?:\[[^\]]{0,200}\]|#\d){0,12})\s{0,9}\{"
)
_NOT_TEXT = re.compile(r"\\[A-Za-z@]+\*?|#\d|[^\w]")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_DEEPEST = 20
_MOST_EXPANDED = 1_000_000  # characters that expansion may add
_LONGEST = 2000  # characters of a definition
_MOST_UNCLOSED = 1000  # definitions that are not understood


class _Macros:
    """The macros that are defined so far, by name, and the names of used macros that were not expanded."""

    def __init__(self) -> None:
        self.bodies: dict[str, str] = {}
        self.with_arguments: set[str] = set()
        self.left: dict[str, None] = {}
        self._room, self._unclosed = _MOST_EXPANDED, 0

    def define(self, command: str, source: str, start: int) -> int:
        """Record the definition whose macro name follows at `start`; return where the definition ends."""
        found = _DEFINED.match(source, start) if self._unclosed < _MOST_UNCLOSED else None
        end = _closing(source, found.end()) if found else -1
        if found is None or end < 0:
            self._unclosed += 1
            return start
        name, body = found[1] or found[2], _COMMENT.sub("", source[found.end() : end])
        # Redefined commands of LaTeX itself, such as \section, must stay what they are.
        is_known = name in self.bodies or name in self.with_arguments
        if (command == "renewcommand" and not is_known) or (command == "providecommand" and is_known) or "\\@" in body:
            return end + 1
        self.bodies.pop(name, None)
        self.with_arguments.discard(name)
        if not found[3] and "#" not in body and "\\if" not in body:
            self.bodies[name] = body.replace("\\xspace", "")
        elif _NOT_TEXT.sub("", body):
            self.with_arguments.add(name)
        return end + 1

    def expand(self, text: str, depth: int = 0) -> str:
        """Return a text with its macros expanded and without their definitions."""
        parts: list[str] = []
        end = 0
        for token in _TOKEN.finditer(text):
            if token.start() < end:
                continue
            if token["verbatim"]:
                closing = text.find(f"\\end{{{token['verbatim']}}}", token.end())
                parts.append(text[end : closing if closing >= 0 else len(text)])
                end = closing if closing >= 0 else len(text)
            elif token["define"]:
                stop = self.define(token["define"], text, token.end())
                parts.append(text[end : token.start() if stop > token.end() else stop])
                end = stop
            elif token["name"]:
                parts += [text[end : token.start()], self._expanded(token, depth)]
                end = token.end()
        return "".join(parts) + text[end:]

    def _expanded(self, token: re.Match[str], depth: int) -> str:
        name = token["name"]
        if name in self.with_arguments:
            self.left[name] = None
        body = self.bodies.get(name)
        if body is None:
            return token.group()
        if depth == _DEEPEST or len(body) > self._room:
            self.left[name] = None
            return token.group()
        self._room -= len(body)
        return self.expand(body, depth + 1)


def _closing(source: str, start: int) -> int:
    """Return the position of the brace that closes the one before `start`; -1 if it is too far away."""
    depth = 1
    for brace in _BRACE.finditer(source, start, start + _LONGEST):
        depth += {"{": 1, "}": -1}.get(brace.group(), 0)
        if not depth:
            return brace.start()
    return -1


def expand_macros(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Expand the macros without arguments of a LaTeX file. A note names used macros that are not expanded."""
    macros = _Macros()
    expanded = macros.expand(data.decode("latin-1")).encode("latin-1")
    left = [f"\\{name}" for name in macros.left]
    return expanded, (f"uses macros whose text is not read: {list_names(left)}",) if left else ()
