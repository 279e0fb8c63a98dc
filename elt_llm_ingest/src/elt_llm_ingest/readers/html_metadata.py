"""What a web page says of itself in its head: language, description, authors, year and its address."""

from collections.abc import Iterable

from elt_llm_core.store.records import MetadataValue
from selectolax.lexbor import LexborHTMLParser

from elt_llm_ingest.readers.years import year_in

# In this order; the first kind of name that is filled decides, as a page often names its authors twice.
_AUTHORS = ("citation_author", "dc.creator", "dcterms.creator", "author", "article:author")
_DATES = (
    *("citation_publication_date", "citation_date", "citation_year", "dcterms.issued", "dc.date.issued", "dc.date"),
    *("article:published_time", "dcterms.created", "datepublished", "date", "pubdate", "dcterms.modified"),
)
_ADDRESSES = ("citation_public_url", "citation_abstract_html_url", "og:url")
_MOST_VALUES = 20
_LONGEST = 1000


def html_metadata(tree: LexborHTMLParser) -> dict[str, MetadataValue]:
    """The values that are there, under the keys of a document's metadata."""
    told = _told(tree)
    values: dict[str, MetadataValue] = {}
    root = tree.css_first("html")
    if root and (language := root.attributes.get("lang") or root.attributes.get("xml:lang")):
        values["language"] = language[:35]
    if description := next(iter(told.get("description", ())), ""):
        values["description"] = description
    if authors := next((names for names in map(told.get, _AUTHORS) if names), None):
        values["authors"] = "; ".join(dict.fromkeys(authors))
    if year := next((year for name in _DATES for date in told.get(name, ()) if (year := year_in(date))), None):
        values["year"] = year
    if address := _address(tree, (address for name in _ADDRESSES for address in told.get(name, ()))):
        values["url"] = address
    return values


def _told(tree: LexborHTMLParser) -> dict[str, list[str]]:
    """The contents of `meta` elements by their name in lower case; an author that is an address is no name."""
    told: dict[str, list[str]] = {}
    for node in tree.css("meta[content]"):
        name = node.attributes.get("name") or node.attributes.get("property") or node.attributes.get("itemprop") or ""
        content = " ".join((node.attributes.get("content") or "").split())[:_LONGEST]
        values = told.setdefault(name.casefold(), [])
        if content and len(values) < _MOST_VALUES and not (name in _AUTHORS and content.startswith("http")):
            values.append(content)
    return told


def _address(tree: LexborHTMLParser, others: Iterable[str]) -> str:
    link = tree.css_first("link[rel=canonical]")
    canonical = (link.attributes.get("href") or "").strip() if link else ""
    fit = (address for address in (canonical, *others) if address.startswith(("https://", "http://")))
    return next((address for address in fit if len(address) <= _LONGEST), "")
