"""Prepare LaTeX for kreuzberg, which leaves out macros, and text on the line of a heading, list or table."""

import re

from elt_llm_ingest.parsing.document_builder import list_names

# Comments and text to be shown as it is, in which commands mean nothing.
_LITERAL = (
    r"%[^\n]*|\\verb\*?(?P<mark>[^A-Za-z\s*])[^\n]{0,500}?(?P=mark)"
    r"|\\begin\{(?P<verbatim>verbatim\*?|Verbatim|lstlisting|minted|comment)\}"
)
_TOKEN = re.compile(
    _LITERAL + r"|\\(?P<define>(?:re)?newcommand|providecommand|def)(?![A-Za-z@])\*?"
    r"|\\(?P<name>[A-Za-z@]+)(?:\{\}|\\(?=\s))?|\\.",
    re.DOTALL,
)
_DEFINED = re.compile(
    r"\s{0,9}(?:\{\s{0,9}\\([A-Za-z]+)\s{0,9}\}|\\([A-Za-z]+))\s{0,9}((?:\[[^\]]{0,200}\]|#\d){0,12})\s{0,9}\{"
)
_NOT_TEXT = re.compile(r"\\[A-Za-z@]+\*?|#\d|[^\w]")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BLOCK = re.compile(
    _LITERAL
    + r"|\\(?P<edge>begin|end)\{(?P<name>(?:tabular[x*]?|longtable|itemize|enumerate|description|quote|document)\*?)\}"
    r"|\\(?P<heading>(?:sub){0,2}section|chapter)\*?(?=[\[{])|(?P<item>\\item)(?![A-Za-z])|(?P<row>\\\\)|\\.",
    re.DOTALL,
)
_ARGUMENT = re.compile(r"\[[^\]\n]{0,200}\]|(?:\\label)?\{")
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


class _Blocks:
    """The text of a LaTeX file in lines, and the environments that are open."""

    def __init__(self, source: str) -> None:
        self.source, self.parts, self.end = source, [""], 0
        self.open: list[tuple[str, int]] = []  # the name of each open environment, and the index of its part
        self.unclosed: list[str] = []

    def add(self, token: re.Match[str]) -> None:
        """Append the text up to the end of a token."""
        if token["verbatim"]:
            self._copy(max(self.source.find(f"\\end{{{token['verbatim']}}}", token.end()), token.end()))
        elif token["row"]:
            if self.open and self.open[-1][0].startswith(("tabular", "longtable")):
                self._copy(self._after_arguments(token.end()), breaks=True)
        elif token["edge"] or token["heading"] or token["item"]:
            self._copy(token.start(), breaks=True)
            end = token.end() if token["item"] or token["edge"] == "end" else self._after_arguments(token.end())
            self._copy(end, breaks=not token["item"])
            self._nest(token)

    def finish(self) -> str:
        """Return the whole text, without the commands that open an environment without end."""
        self._copy(len(self.source))
        self._close(0)
        return "".join(self.parts)

    def _nest(self, token: re.Match[str]) -> None:
        name = token["name"]
        if token["edge"] == "begin" and name != "document":
            self.open.append((name, len(self.parts) - 1))
        if token["edge"] == "end":
            last = next((number for number in reversed(range(len(self.open))) if self.open[number][0] == name), None)
            if last is not None:
                self._close(last + 1)
                self.open.pop()

    def _close(self, first: int) -> None:
        for name, part in self.open[first:]:
            self.unclosed.append(f"\\begin{{{name}}}")
            self.parts[part] = "\n"
        del self.open[first:]

    def _after_arguments(self, end: int) -> int:
        while found := _ARGUMENT.match(self.source, end):
            closed = _closing(self.source, found.end()) + 1 if found.group().endswith("{") else found.end()
            if not closed:
                break
            end = closed
        return end

    def _copy(self, end: int, *, breaks: bool = False) -> None:
        """Append the source up to `end`, and a line break if `breaks` and the line has other text on both sides."""
        text = self.source[self.end : end]
        self.end = end
        rest = self.source[end : end + _LONGEST].split("\n", 1)[0].strip()
        before = (self.parts[-1] + text).rpartition("\n")[2].strip()
        self.parts.append(f"{text}\n" if breaks and rest and before else text)


def separate_lines(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Start a line at each heading, list item and table row, and before and after lists and tables.

    Otherwise, kreuzberg leaves out text that is on the same line. It also leaves out all text below a list or table
    without end: the command that opens it is removed and noted.
    """
    blocks = _Blocks(data.decode("latin-1"))
    for token in _BLOCK.finditer(blocks.source):
        if token.start() >= blocks.end:
            blocks.add(token)
    text = blocks.finish().encode("latin-1")
    unclosed = list_names(list(dict.fromkeys(blocks.unclosed)))
    return text, (f"is damaged: {unclosed} without its end, so it is read as plain text",) if unclosed else ()
