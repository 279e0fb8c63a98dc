"""Prepare the pages for the site: list decisions in the menu, resolve links to files outside docs/, mend the search.

A link to a file of the repository becomes the path of the file. If PROJECT_ADDRESS is set, it becomes a link to the
file at that address.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

_BOOSTS = {"decisions": 0.1, "reference": 0.1, "licences.md": 0.1, "extend": 4.0, "use-a-model.md": 4.0}
_BOOST_OF_TASKS = 2.0
_SEARCH_WORDS = tomllib.loads(Path(__file__).with_name("search_words.toml").read_text(encoding="utf-8"))
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>(?:\.\./)+[^)\s]*)\)")
# Lunr, the search of the theme, joins the key of a node from letters and numbers without a separator. Words with digits
# then share a node by chance, and a search for one of them ends in an error: olivernn/lunr.js#503.
_AMBIGUOUS_KEY, _CLEAR_KEY = "e=e+s+o.id}return e", 'e=e+s+o.id+","}return e'
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Add every decision to the section Decisions of the menu."""
    folder = Path(config.docs_dir) / "decisions"
    pages = [f"decisions/{path.name}" for path in sorted(folder.glob("0*.md"))]
    for entry in config.nav:
        if isinstance(entry, dict) and "Decisions" in entry:
            entry["Decisions"] = [*entry["Decisions"], *pages]
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Return the text of a page with its links resolved, and set its rank in the search."""
    # In the search, a page that explains a task comes before the reference and the decisions.
    page.meta.setdefault("search", {"boost": _BOOSTS.get(page.file.src_uri.partition("/")[0], _BOOST_OF_TASKS)})
    page.meta["tags"] = _SEARCH_WORDS.get(page.file.src_uri, [])
    docs = Path(config.docs_dir)
    folder = (docs / page.file.src_uri).parent

    def resolve(match: re.Match[str]) -> str:
        path, _, anchor = match["target"].partition("#")
        file = (folder / path).resolve()
        if file.is_relative_to(docs):
            return match[0]
        inside = file.relative_to(docs.parent).as_posix()
        if address := os.environ.get("PROJECT_ADDRESS", ""):
            return f"[{match['text']}]({address}/blob/HEAD/{inside}{'#' if anchor else ''}{anchor})"
        return f"{match['text']} (`{inside}`)" if file.name not in match["text"] else f"`{inside}`"

    fences = [match.span() for match in _FENCE.finditer(markdown)]
    parts, last = [], 0
    for start, end in [*fences, (len(markdown), len(markdown))]:
        parts += [_LINK.sub(resolve, markdown[last:start]), markdown[start:end]]
        last = end
    return "".join(parts)


def on_post_build(config: Any) -> None:
    """Separate the parts of the keys in the script of the search.

    Raises:
        RuntimeError: The theme has no such script, or another one, which must be looked at.
    """
    scripts = list(Path(config.site_dir).glob("assets/javascripts/workers/search.*.js"))
    if not scripts:
        raise RuntimeError("the theme has its search in another file: see whether it still uses lunr, then adapt")
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        if _AMBIGUOUS_KEY not in text:
            raise RuntimeError(
                f"{script.name} joins keys in another way: see whether lunr.js#503 is mended, then adapt"
            )
        script.write_text(text.replace(_AMBIGUOUS_KEY, _CLEAR_KEY), encoding="utf-8")
