"""What known embedding models want before a question and a passage, and how much they really read.

From the models' own cards. A model that was trained with prefixes loses quality without them, and nothing else tells.
"""

from dataclasses import dataclass

_SEARCH = "Represent this sentence for searching relevant passages: "
_INSTRUCTED = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_CHINESE = "为这个句子生成表示以用于检索相关文章："  # noqa: RUF001 - the model was trained with this very colon


@dataclass(frozen=True)
class KnownModel:
    """One family of models, found by the parts that its names have in common."""

    parts: tuple[str, ...]
    """Each must stand in the name, in lower case."""
    query_prefix: str = ""
    text_prefix: str = ""
    token_limit: int = 512
    """Tokens it reads, special ones included; servers may claim more."""
    english_pieces: bool = False
    """Whether its vocabulary is that of BERT uncased, so that the tokens counted here are its own."""


# The first that fits is taken: special cases stand before their family.
KNOWN_MODELS = (
    KnownModel(("nomic-embed", "v2"), "search_query: ", "search_document: ", 512),
    KnownModel(("nomic-embed",), "search_query: ", "search_document: ", 2048, english_pieces=True),
    KnownModel(("e5", "instruct"), f"{_INSTRUCTED} ", "", 512),
    KnownModel(("multilingual-e5",), "query: ", "passage: ", 512),
    KnownModel(("e5-small",), "query: ", "passage: ", 512, english_pieces=True),
    KnownModel(("e5-base",), "query: ", "passage: ", 512, english_pieces=True),
    KnownModel(("e5-large",), "query: ", "passage: ", 512, english_pieces=True),
    KnownModel(("bge-m3",), token_limit=8192),
    KnownModel(("bge-", "-zh"), _CHINESE, "", 512),
    KnownModel(("bge-",), _SEARCH, "", 512, english_pieces=True),
    KnownModel(("mxbai-embed",), _SEARCH, "", 512, english_pieces=True),
    KnownModel(("arctic-embed", "v2"), "query: ", "", 8192),
    KnownModel(("arctic-embed2",), "query: ", "", 8192),
    KnownModel(("arctic-embed",), _SEARCH, "", 512, english_pieces=True),
    KnownModel(("qwen3-embedding",), _INSTRUCTED, "", 32768),
    KnownModel(("embeddinggemma",), "task: search result | query: ", "title: none | text: ", 2048),
    KnownModel(("all-minilm",), token_limit=256, english_pieces=True),
    KnownModel(("paraphrase-multilingual",), token_limit=128),
    KnownModel(("granite-embedding",), token_limit=512),
    KnownModel(("jina-embeddings-v2",), token_limit=8192, english_pieces=True),
)


def known_model(name: str) -> KnownModel | None:
    """The family that a name belongs to; none for a model of which nothing is known."""
    lowered = name.lower()
    return next((known for known in KNOWN_MODELS if all(part in lowered for part in known.parts)), None)
