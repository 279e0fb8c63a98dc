"""The sections of the settings that say where models run."""

from pathlib import Path

from pydantic import Field

from elt_llm_core.settings_section import Section


class OllamaSettings(Section):
    """A local Ollama server."""

    base_url: str = Field("http://localhost:11434", description="Address of the server; OLLAMA_HOST is not read.")
    embedding_model: str = Field("nomic-embed-text", description="Model used when embedding.provider is ollama.")
    llm_model: str = Field("qwen2.5:14b", description="Model used when llm.provider is ollama or auto.")
    embed_batch_size: int = Field(32, ge=1, le=512, description="Texts in one embedding request.")
    context_window: int = Field(16384, ge=512, description="Tokens; sent as num_ctx with every request.")
    num_predict: int = Field(1500, ge=1, description="Most tokens an answer may have.")
    request_timeout: float = Field(480.0, gt=0, description="Seconds between two pieces of an answer.")
    connect_timeout: float = Field(3.0, gt=0, description="Seconds to reach the server.")
    keep_alive: str | None = Field(None, description="How long the server keeps the model loaded, such as 10m.")
    thinking: bool = Field(False, description="Let reasoning models think before they answer.")
    seed: int | None = Field(None, description="Seed of the sampling, for repeatable answers.")


class OpenAiLikeSettings(Section):
    """A local server that speaks OpenAI's protocol, such as llama-server, vLLM or LM Studio."""

    base_url: str = Field("http://localhost:8080/v1", description="Address of the server, with its version.")
    llm_model: str | None = Field(None, description="Model used when llm.provider is openai_like.")
    embedding_model: str | None = Field(None, description="Model used when embedding.provider is openai_like.")
    embedding_context: int = Field(512, ge=16, description="Tokens that the embedding model reads.")
    embed_batch_size: int = Field(32, ge=1, le=512, description="Texts in one embedding request.")
    context_window: int = Field(8192, ge=512, description="Tokens that the model reads and writes together.")
    num_predict: int = Field(1500, ge=1, description="Most tokens an answer may have.")
    request_timeout: float = Field(480.0, gt=0, description="Seconds between two pieces of an answer.")
    connect_timeout: float = Field(3.0, gt=0, description="Seconds to reach the server.")
    seed: int | None = Field(None, description="Seed of the sampling, for repeatable answers.")
    api_key_variable: str | None = Field(
        None, description="Environment variable that holds the key, if the server wants one."
    )


class LlamaCppSettings(Section):
    """A GGUF file that is run in this process; needs the extra llama-cpp."""

    model_path: Path | None = Field(None, description="The file; unset: llm.model, looked for in storage.models_dir.")
    context_window: int = Field(8192, ge=512, description="Tokens that the model reads and writes together.")
    num_predict: int = Field(1500, ge=1, description="Most tokens an answer may have.")
    request_timeout: float = Field(480.0, gt=0, description="Seconds between two pieces of an answer.")
    threads: int | None = Field(
        None, ge=1, le=256, description="Threads that compute; unset: one a processor, up to 8."
    )
    seed: int | None = Field(None, description="Seed of the sampling, for repeatable answers.")
