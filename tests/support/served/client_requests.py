"""Requests as chat clients and frameworks send them to a server with OpenAI's protocol.

Those of LangChain 1.7, LlamaIndex (OpenAILike 0.8) and OpenAI's client 2.54 were recorded. Those of open-webui,
LibreChat, Continue and former versions of LangChain follow their published sources.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

QUESTION = "How many points does a ground need for Grade A?"
MODEL = "samples"
SYSTEM = "You are a helpful assistant. Answer in short sentences."
_STAINLESS = {"user-agent": "OpenAI/Python 2.54.0", "x-stainless-lang": "python", "x-stainless-async": "false"}
_HISTORY = f"USER: {QUESTION}\nASSISTANT: 85 points."
_TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two numbers",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    },
}
_SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "A",
        "strict": True,
        "schema": {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
    },
}
_CONTEXT = (
    "### Task:\nRespond to the user query using the provided context, incorporating inline citations in the format [id]"
    ' **only when the <source> tag includes an explicit id attribute**.\n\n<context>\n<source id="1" name="notes.txt">'
    "A ground needs 12 points.</source>\n</context>\n\n"
)


def said(*texts: str, system: str = "") -> list[dict[str, Any]]:
    """Return chat messages with these texts, of user and assistant in turn, after the `system` message if any."""
    roles = ("user", "assistant")
    first = [{"role": "system", "content": system}] if system else []
    return [*first, *({"role": roles[number % 2], "content": text} for number, text in enumerate(texts))]


@dataclass(frozen=True)
class ChatClientRequest:
    """A chat request of a client: its body without the model, its headers, and what the response must report."""

    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    ignored: str = ""
    style: str = ""
    reply: str = "A ground needs 85 points for Grade A"


CHATS: Mapping[str, ChatClientRequest] = {
    "openai": ChatClientRequest(
        {"messages": [{"role": "developer", "content": "Be brief."}, *said(QUESTION)]}, _STAINLESS, style="developer"
    ),
    "langchain invoke": ChatClientRequest(
        {"stream": False, "messages": said(QUESTION, system=SYSTEM)}, _STAINLESS, style="system"
    ),
    "langchain stream": ChatClientRequest(
        {
            "stream": True,
            "messages": said(QUESTION, system=SYSTEM),
            "stream_options": {"include_usage": True},
            "temperature": 0.0,
        },
        _STAINLESS,
        ignored="temperature",
        style="system",
    ),
    "langchain with tools": ChatClientRequest(
        {"stream": False, "messages": said(QUESTION), "tools": [_TOOL]}, _STAINLESS, ignored="tools"
    ),
    "langchain structured output": ChatClientRequest(
        {"stream": False, "messages": said(QUESTION), "response_format": _SCHEMA}, _STAINLESS, ignored="response_format"
    ),
    "langchain text parts": ChatClientRequest(
        {
            "stream": False,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
                {"role": "assistant", "content": "85 points [1]."},
                {"role": "user", "content": QUESTION},
            ],
        },
        _STAINLESS,
    ),
    "langchain before 1.0": ChatClientRequest(
        {"n": 1, "stream": False, "temperature": 0.7, "messages": said(QUESTION)}, _STAINLESS, ignored="temperature"
    ),
    "llama-index chat": ChatClientRequest(
        {"messages": said(QUESTION, system=SYSTEM), "stream": False, "temperature": 0.1},
        _STAINLESS,
        ignored="temperature",
        style="system",
    ),
    "llama-index stream": ChatClientRequest(
        {"messages": said(QUESTION), "stream": True, "temperature": 0.1}, _STAINLESS, ignored="temperature"
    ),
    "open-webui chat": ChatClientRequest(
        {"stream": True, "messages": said(QUESTION, system=SYSTEM)},
        {"x-openwebui-user-name": "Ann", "x-openwebui-user-id": "1", "x-openwebui-chat-id": "2"},
        style="system",
    ),
    "open-webui with parameters": ChatClientRequest(
        {
            "stream": True,
            "messages": said(QUESTION),
            "stop": ["###"],
            "temperature": 0.8,
            "max_tokens": 128,
            "frequency_penalty": 0.0,
            "presence_penalty": 0.0,
            "seed": 1,
            "logit_bias": {},
            "response_format": {"type": "text"},
            "stream_options": {"include_usage": True},
        },
        ignored="frequency_penalty, max_tokens, presence_penalty, seed, stop, temperature",
    ),
    "open-webui with an attached file": ChatClientRequest(
        {"stream": True, "messages": said(f"{_CONTEXT}{QUESTION}")}, ignored="context"
    ),
    "open-webui with an attached file, former form": ChatClientRequest(
        {"stream": True, "messages": said(f"{_CONTEXT}<user_query>\n{QUESTION}\n</user_query>")}, ignored="context"
    ),
    "open-webui title": ChatClientRequest(
        {
            "stream": False,
            "max_completion_tokens": 1000,
            "messages": said(
                "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n"
                f"### Chat History:\n<chat_history>\n{_HISTORY}\n</chat_history>"
            ),
        },
        ignored="max_completion_tokens",
        reply=f'{{"title": "{QUESTION}"}}',
    ),
    "open-webui search queries": ChatClientRequest(
        {
            "stream": False,
            "messages": said(
                "### Task:\nAnalyze the chat history to determine the necessity of generating search queries, in the"
                f" given language.\n### Chat History:\n<chat_history>\n{_HISTORY}\n</chat_history>"
            ),
        },
        reply='{"queries": []}',
    ),
    "LibreChat chat": ChatClientRequest(
        {
            "user": "65f0c1",
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
            ],
        },
        {"user-agent": "OpenAI/JS 5.12.0", "x-stainless-lang": "js"},
        style="system",
    ),
    "LibreChat title": ChatClientRequest(
        {
            "user": "65f0c1",
            "stream": False,
            "messages": said(
                "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only"
                f" return the title itself.\n\nConversation:\nUser: {QUESTION}\nAI: 85 points."
            ),
        },
        reply=QUESTION,
    ),
    "LibreChat structured title": ChatClientRequest(
        {
            "stream": False,
            "response_format": _SCHEMA,
            "messages": said(
                "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise"
                " title in the detected language (5 words or less, no punctuation or quotation)\n\n"
                f"User: {QUESTION}\nAI: 85 points."
            ),
        },
        ignored="response_format",
        reply=f'{{"language": "", "title": "{QUESTION}"}}',
    ),
    "Continue chat": ChatClientRequest(
        {"messages": said(QUESTION, system=SYSTEM), "max_tokens": 2048, "stream": True, "stop": ["</tool>"]},
        {"api-key": "any", "x-api-key": "any", "user-agent": "continue/1.2"},
        ignored="max_tokens, stop",
        style="system",
    ),
    "Continue agent": ChatClientRequest(
        {
            "messages": [
                *said(QUESTION, system=SYSTEM),
                {"role": "assistant", "content": " ", "tool_calls": [{"id": "1", "type": "function"}]},
                {"role": "tool", "content": "12", "tool_call_id": "1"},
                {"role": "user", "content": QUESTION},
            ],
            "stream": True,
            "tools": [_TOOL],
            "parallel_tool_calls": False,
        },
        {"api-key": "any"},
        ignored="tool, tools",
        style="system",
    ),
    "Continue title": ChatClientRequest(
        {
            "messages": said(
                "Given the following... please reply with a title for the chat that is 3-4 words in length, all words"
                " used should be directly related to the content of the chat, no additional text or explanation, you"
                f" don't need ending punctuation.\n\n{QUESTION}"
            ),
            "max_tokens": 16,
            "stream": False,
        },
        {"api-key": "any"},
        ignored="max_tokens",
        reply=QUESTION,
    ),
}
EMBEDDINGS: Mapping[str, Mapping[str, Any]] = {
    "openai": {"input": "A gate.", "model": "embedding", "encoding_format": "base64"},
    "langchain texts": {"input": ["A gate."], "model": "embedding", "encoding_format": "base64"},
    "langchain tokens": {"input": [[32, 18618, 13]], "model": "embedding", "encoding_format": "base64"},
    "one list of tokens": {"input": [32, 18618, 13], "model": "embedding"},
    "llama-index": {"input": ["A gate."], "model": "embedding", "encoding_format": "float", "user": "me"},
}
"""Embedding requests of clients, each for the text `A gate.`"""
