"""What the pieces of a model's reply tell, whichever provider they come from: text, thinking, usage and the end."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from elt_llm_core.models.thinking import ThinkingFilter
from elt_llm_core.text.halves import without_halves

if TYPE_CHECKING:
    from llama_index.core.llms import ChatResponse

Finish = Literal["stop", "length", "cut off"]
_FINISHES: Mapping[str, Finish] = {"stop": "stop", "eos": "stop", "end_turn": "stop", "": "stop", "length": "length"}


class Reply:
    """Gathers the pieces of one reply.

    Ollama tells its counts beside `done` and `done_reason`; OpenAI's protocol, as llama.cpp speaks it, in `usage` and
    in `finish_reason` of its only choice. A provider that tells neither has ended its reply where its pieces end.
    """

    def __init__(self) -> None:
        self._filter = ThinkingFilter()
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._tells_its_end = False
        self._finish: Finish | None = None
        self.pieces = 0
        self.prompt_tokens: int | None = None
        self.answer_tokens: int | None = None

    def add(self, response: "ChatResponse") -> str:
        """Takes a piece in; the text of the answer that it brought, which may be empty."""
        self.pieces += 1
        raw = _as_mapping(response.raw)
        if raw:
            self._read(raw)
        self._thoughts.append(without_halves(response.additional_kwargs.get("thinking_delta") or ""))
        return self._keep(self._filter.feed(without_halves(response.delta or "")))

    def end(self) -> str:
        """No piece will come: the text that was held back."""
        return self._keep(self._filter.finish())

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._texts)

    @property
    def thinking(self) -> str:
        """What the model thought before its answer, if it shows that."""
        return "".join(self._thoughts).strip() or self._filter.thinking

    @property
    def finish(self) -> Finish:
        """How it ended, to be asked after the last piece."""
        return self._finish or ("cut off" if self._tells_its_end else "stop")

    def _keep(self, text: str) -> str:
        self._texts.append(text)
        return text

    def _read(self, raw: Mapping[str, Any]) -> None:
        usage = _as_mapping(raw.get("usage"))
        # LlamaIndex repeats Ollama's counts as a usage; the server's own are read where they are.
        self.prompt_tokens = _count(raw.get("prompt_eval_count"), usage.get("prompt_tokens"), self.prompt_tokens)
        self.answer_tokens = _count(raw.get("eval_count"), usage.get("completion_tokens"), self.answer_tokens)
        if "done" in raw:
            self._tells_its_end = True
            if raw["done"]:
                self._finish = _FINISHES.get(str(raw.get("done_reason") or ""), "cut off")
        for choice in raw.get("choices") or ():
            self._tells_its_end = True
            if reason := _as_mapping(choice).get("finish_reason"):
                self._finish = _FINISHES.get(str(reason), "cut off")


def _as_mapping(raw: object) -> Mapping[str, Any]:
    if isinstance(raw, Mapping):
        return raw
    dump = getattr(raw, "model_dump", None)
    dumped = dump() if callable(dump) else {}
    return dumped if isinstance(dumped, Mapping) else {}


def _count(*candidates: object) -> int | None:
    """The first that is a number of tokens. None is said where nought is counted: no text has no tokens."""
    return next((one for one in candidates if isinstance(one, int) and one > 0), None)
