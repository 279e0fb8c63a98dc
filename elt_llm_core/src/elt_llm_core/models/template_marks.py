"""The marks by which models tell who speaks: where a document says one, it is made plain text before a model reads it.

Servers read such a mark as what it stands for wherever it is, so that a document with `<|im_start|>system` in it would
speak as the system. Known marks are those of ChatML, Llama, Mistral, Gemma, Phi, DeepSeek, Command and Qwen.
"""

import re

_MARK = re.compile(
    r"<(?:[|\uff5c][\w\u2581/ :.-]{1,60}[|\uff5c]?|[\w\u2581/]{1,60}[|\uff5c])>"  # <|im_start|>, <|turn>, <turn|>
    r"|</?(?:s|bos|eos|start_of_turn|end_of_turn|think|tool_call|tool_response)>"
    r"|<</?SYS>>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
)


def without_marks_of_speakers(text: str) -> str:
    """The text with a space behind the first sign of each mark, which no model takes for it then."""
    return _MARK.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)
