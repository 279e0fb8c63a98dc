"""Where the tokens of a text would be, for a model whose own tokeniser is out of reach behind a server."""

from elt_llm_core.models.embedded import MODEL_NAME, VOCABULARY

_UNKNOWN = "[UNK]"


class TokenEstimate:
    """Counts with the vocabulary that comes with the installation, that of BERT uncased.

    Exact for models of that vocabulary. Others have larger ones, and so fewer and longer pieces for nearly every text;
    what BERT does not know, it calls one piece whatever its length, and here each of its characters counts as one.
    """

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str(VOCABULARY.read().decode())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Character span (start, end) of each token, in order; white space belongs to none."""
        encodable = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
        encoding = self._tokenizer.encode(encodable, add_special_tokens=False)
        spans: list[tuple[int, int]] = []
        for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
            spans += [(at, at + 1) for at in range(start, end)] if token == _UNKNOWN else [(start, end)]
        return spans

    def __repr__(self) -> str:
        """What is counted with."""
        return f"TokenEstimate(vocabulary of {MODEL_NAME})"
