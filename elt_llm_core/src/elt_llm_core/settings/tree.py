"""The tree of settings, in which each key, type, range and default is defined once."""

import ipaddress
import re
from pathlib import Path
from typing import Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from elt_llm_core.settings.workspace import StorageBackend


def key(default: Any, description: str, **constraints: Any) -> Any:
    """Define a key in a section. `description` explains the key in `config/rag_config.yaml`."""
    return Field(default, description=description, **constraints)


HEADER_NAME = r"^[A-Za-z][A-Za-z0-9-]{0,60}$"
_HOST = r"(?:[A-Za-z0-9_.-]{1,255}|\[?[0-9A-Fa-f:.]{2,45}\]?)"
_ORIGIN = rf"[A-Za-z][A-Za-z0-9+.-]{{0,40}}://{_HOST}(?::[0-9]{{1,5}})?/?"


class SettingsSection(BaseModel):
    """An immutable section of the settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _check_not_empty(value: object) -> object:
    """Return a path or a list of paths. An empty text would be the folder where relative paths start."""
    if value == "" or (isinstance(value, (list, tuple)) and "" in value):
        raise ValueError("a path is empty; write it, or leave the key out")
    return tuple(value) if isinstance(value, list) else value


class GroupSettings(SettingsSection):
    """The permissions of a group. The proxy that signs people in names each person's groups in a header."""

    read: tuple[str, ...] = key((), "Collections that the group may read, such as hr_*.")
    write: tuple[str, ...] = key((), "Collections that the group may change, and therefore also read.")
    where: tuple[str, ...] = key((), "Conditions on their documents, such as tenant_id=acme; all must hold.")
    admin: bool = key(False, "Whether the group may see the state of the whole server.")

    @model_validator(mode="after")
    def _check_admin(self) -> Self:
        if self.admin and self.where:
            raise ValueError("a group with conditions (where) cannot have admin: true")
        return self


class ServeSettings(SettingsSection):
    """Settings of the HTTP server for browsers, programs and agents. By default only this machine can connect."""

    host: str = key("127.0.0.1", "Address to listen at; any but loopback needs a key, a flag and TLS.")
    port: int = key(7860, "Port to listen at; 0: any that is free.", ge=0, le=65535)
    allowed_hosts: tuple[str, ...] = key((), "Host names that requests may use besides loopback, such as rag.example.")
    cors_origins: tuple[str, ...] = key((), "Origins whose pages may send requests, such as https://wiki.example.")
    behind_proxy: bool = key(False, "A proxy in front terminates TLS and sends the caller's address.")
    trusted_user_header: str | None = key(
        None,
        "Header in which a proxy names the person it has signed in, such as X-Forwarded-User. Then every request needs"
        " this header or a key.",
        pattern=HEADER_NAME,
    )
    trusted_groups_header: str | None = key(
        None, "Header with the person's groups, separated by commas, such as X-Forwarded-Groups.", pattern=HEADER_NAME
    )
    trusted_proxy: str | None = key(
        None, "Address or network of this proxy, such as 127.0.0.1 or 10.0.0.0/28; only its headers are trusted."
    )
    untrusted_headers: Literal["refuse", "ignore"] = key(
        "refuse", "What to do with a request that sends these headers from another address."
    )
    groups: dict[str, GroupSettings] = key({}, "Permissions of each group, by its name in the header.")
    tls_certificate: Path | None = key(None, "File with the certificate chain, PEM.")
    tls_key: Path | None = key(None, "File with its private key, PEM.")
    max_body_mb: int = key(4, "Largest request body, except uploads, in megabytes.", ge=1, le=1024)
    max_upload_mb: int = key(256, "Largest upload, in megabytes.", ge=1, le=4096)
    upload_quota_mb: int = key(4096, "Total size of a collection's uploads, in megabytes.", ge=1)
    workers: int = key(8, "Questions answered at the same time.", ge=1, le=256)
    queue: int = key(32, "Questions that may wait; further ones are rejected.", ge=0, le=4096)
    requests_per_minute: int = key(600, "Requests of one caller per minute.", ge=1)
    tries: int = key(10, "Wrong keys from one address before it is locked out.", ge=1, le=1000)
    lockout_seconds: int = key(300, "How long an address is locked out.", ge=1)
    agents_may_ingest: bool = key(False, "Let agents (MCP) ingest files below ingest.roots and re-ingest collections.")
    trace_questions: bool = key(False, "Store the text of questions and answers in traces.")
    trace_files: int = key(30, "Trace files to keep, each at most 16 MB and one day; 0: none.", ge=0, le=1000)
    metrics_hourly_days: int = key(14, "Days to keep hourly metrics.", ge=1, le=366)
    metrics_daily_days: int = key(400, "Days to keep daily metrics.", ge=1, le=3660)
    otel_endpoint: str | None = key(
        None,
        "Address of a trace collector (OTLP over HTTP): http://127.0.0.1:4318/v1/traces; another machine"
        " needs network.allow_remote_traces. Unset: nothing is sent.",
    )

    @field_validator("allowed_hosts", "cors_origins")
    @classmethod
    def _check_addresses(cls, entries: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        pattern, form = _ORIGIN, "an origin without path, such as https://wiki.example"
        if info.field_name == "allowed_hosts":
            pattern, form = _HOST, "a host name without scheme, port and path, such as rag.example"
        if wrong := [entry for entry in entries if not re.fullmatch(pattern, entry)]:
            raise ValueError(f"'{wrong[0]}' is not {form}; wildcards are not supported")
        return entries

    @model_validator(mode="after")
    def _check_proxy(self) -> Self:
        if self.trusted_user_header is None:
            if self.groups or self.trusted_groups_header or self.trusted_proxy:
                raise ValueError("groups, trusted_groups_header and trusted_proxy need trusted_user_header")
            return self
        if self.trusted_proxy is None or self.trusted_groups_header is None:
            raise ValueError("trusted_user_header needs trusted_groups_header and trusted_proxy")
        if self.trusted_user_header.lower() == self.trusted_groups_header.lower():
            raise ValueError("trusted_user_header and trusted_groups_header are the same header")
        try:
            ipaddress.ip_network(self.trusted_proxy)
        except ValueError as error:
            raise ValueError(f"trusted_proxy is not an address or network: {error}") from error
        return self


class OllamaSettings(SettingsSection):
    """A local Ollama server."""

    base_url: str = key("http://localhost:11434", "Address of the server; OLLAMA_HOST is not read.")
    embedding_model: str = key("nomic-embed-text", "Model for embedding.provider ollama.")
    llm_model: str = key("qwen2.5:14b", "Model used when llm.provider is ollama or auto.")
    embed_batch_size: int = key(32, "Texts in one embedding request.", ge=1, le=512)
    context_window: int = key(16384, "Tokens; sent as num_ctx with every request.", ge=512)
    num_predict: int = key(1500, "Maximum tokens of an answer.", ge=1)
    request_timeout: float = key(480.0, "Seconds between two pieces of an answer.", gt=0)
    connect_timeout: float = key(3.0, "Seconds to reach the server.", gt=0)
    keep_alive: str | None = key(None, "How long the server keeps the model loaded, such as 10m.")
    thinking: bool = key(False, "Let reasoning models think before they answer.")
    seed: int | None = key(None, "Seed of the sampling, for repeatable answers.")


class OpenAiLikeSettings(SettingsSection):
    """A local server that speaks OpenAI's protocol, such as llama-server, vLLM or LM Studio."""

    base_url: str = key("http://localhost:8080/v1", "Address of the server, with its version.")
    llm_model: str | None = key(None, "Model used when llm.provider is openai_like.")
    embedding_model: str | None = key(None, "Model used when embedding.provider is openai_like.")
    embedding_context: int = key(512, "Tokens that the embedding model reads.", ge=16)
    embed_batch_size: int = key(32, "Texts in one embedding request.", ge=1, le=512)
    context_window: int = key(8192, "Tokens of prompt and answer together.", ge=512)
    num_predict: int = key(1500, "Maximum tokens of an answer.", ge=1)
    request_timeout: float = key(480.0, "Seconds between two pieces of an answer.", gt=0)
    connect_timeout: float = key(3.0, "Seconds to reach the server.", gt=0)
    seed: int | None = key(None, "Seed of the sampling, for repeatable answers.")
    api_key_variable: str | None = key(None, "Environment variable with the key, if the server needs one.")


class LlamaCppSettings(SettingsSection):
    """A GGUF file that runs in this process; needs the extra llama-cpp."""

    model_path: Path | None = key(None, "The file; unset: llm.model in storage.models_dir.")
    context_window: int = key(8192, "Tokens of prompt and answer together.", ge=512)
    num_predict: int = key(1500, "Maximum tokens of an answer.", ge=1)
    request_timeout: float = key(480.0, "Seconds between two pieces of an answer.", gt=0)
    threads: int | None = key(None, "Threads; unset: one per processor, up to 8.", ge=1, le=256)
    seed: int | None = key(None, "Seed of the sampling, for repeatable answers.")


StrategyName = Literal["dense", "sparse", "hybrid", "multi_query", "hyde", "multi_hop", "auto"]
SynthesisName = Literal["simple", "cot", "tot", "reflect"]
STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)


GRAPH_FROM = 5_000  # chunks; measured in decision 48


class StorageSettings(SettingsSection):
    """Where collections are stored."""

    data_dir: Path | None = key(
        None, "Data directory; unset: `.elt_llm` next to the nearest config folder, or in the working directory."
    )
    _check_paths = field_validator("data_dir", "dsn_file", "models_dir", mode="before")(_check_not_empty)
    backend: StorageBackend = key("sqlite", "Database of documents and state: a file in data_dir, or a server.")
    dsn_file: Path | None = key(
        None,
        "File with the connection string of postgres, postgresql://USER:PASSWORD@HOST/DATABASE; unset: ELT_LLM_DSN.",
    )
    models_dir: Path | None = key(None, "Folder of downloaded models; unset: `models` in the data directory.")
    backups: int = key(1, "Daily copies kept of store.sqlite3, in the folder backups; 0: none.", ge=0, le=100)
    keep_generations: int = key(2, "Generations kept per collection, including the published one.", ge=2, le=50)
    graph_from: int = key(GRAPH_FROM, "Number of chunks from which a collection uses usearch instead of Chroma.", ge=2)


class RemoteSettings(SettingsSection):
    """Sources that are not on this disk. By default no host may be reached."""

    allowed_hosts: tuple[str, ...] = key(
        (), "Hosts that `elt-llm ingest` may read from, such as wiki.example or files.example:8443; for S3 the bucket."
    )

    timeout_seconds: int = key(60, "Seconds that listing a source or fetching a file may take.", ge=1, le=3600)
    reader_seconds: int = key(600, "Seconds that a reader of another package may take.", ge=1, le=86400)


class IngestSettings(SettingsSection):
    """Which files may be read, and the limits for a single file."""

    roots: tuple[Path, ...] = key(
        (),
        "Folders that jobs, HTTP and MCP may read; unset: jobs read below the folder of the configuration,"
        " HTTP and MCP read uploads only.",
    )
    _check_paths = field_validator("roots", mode="before")(_check_not_empty)
    workers: int = key(2, "Processes that read files in parallel.", ge=1, le=32)
    compute: Literal["local", "ray"] = key(
        "local", "Where files are parsed and chunks embedded; ray: on the cluster at ray_address, see docs/ray.md."
    )
    ray_address: str | None = key(None, "Address of the Ray cluster, such as 10.0.0.5:6379.")
    max_file_mb: int = key(256, "Largest file that is read, in megabytes.", ge=1, le=4096)
    max_characters: int = key(20_000_000, "Maximum length of a file's text, in characters.", ge=1000)
    parse_seconds: int = key(120, "Seconds to read one file, at most half of them CPU time.", ge=1, le=3600)
    parse_memory_mb: int = key(1536, "Memory to read one file, in megabytes.", ge=512, le=65536)
    pdf_reader: Literal["pdfium", "docling"] = key(
        "pdfium", "PDF reader; docling is installed separately, see docs/ingestion.md."
    )
    ocr: bool = key(False, "Read scanned pages with tesseract, if it is installed.")
    ocr_languages: str = key(
        "eng", "Languages of scanned pages, such as eng+deu.", pattern=r"^[a-z_]{3,20}(\+[a-z_]{3,20}){0,9}$"
    )
    topics: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Words by topic; a chunk that contains one of the words gets the topic."
    )
    remote: RemoteSettings = key(
        RemoteSettings(),
        "Sources that are not on this disk. allowed_hosts: hosts that `elt-llm ingest` may read from, such as"
        " wiki.example or files.example:8443, for S3 the bucket. timeout_seconds: seconds for one operation."
        " reader_seconds: seconds for a reader of another package.",
    )
    organisations: tuple[str, ...] = key((), "Names to recognise besides those that the text marks as organisations.")


class ChromaSettings(SettingsSection):
    """The vector index; see the HNSW paper (Malkov and Yashunin, 2016) for the last three."""

    space: Literal["cosine"] = key("cosine", "Distance; vectors are normalised, so cosine only.")
    ef_construction: int = key(
        100,
        "Candidates examined when a vector is added; usearch and pgvector take at least 200 from 100,000 vectors on.",
        ge=10,
        le=1000,
    )
    ef_search: int = key(100, "Candidates examined by a search.", ge=10, le=1000)
    max_neighbors: int = key(
        16, "Links per vector; usearch and pgvector take at least 32 from 100,000 vectors on.", ge=4, le=128
    )

    def for_size(self, vectors: int) -> tuple[int, int]:
        """Return the links of each vector in a new graph, and the candidates for them (measured in decision 48)."""
        if vectors < 100_000:
            return self.max_neighbors, self.ef_construction
        return max(self.max_neighbors, 32), max(self.ef_construction, 200)


class IndexSettings(SettingsSection):
    """Where vectors are searched. The key for Qdrant is read from ELT_LLM_INDEX__API_KEY or _API_KEY_FILE."""

    backend: Literal["local", "qdrant", "pgvector"] = key(
        "local",
        "local: in files of the data directory; qdrant: see docs/qdrant.md; pgvector: in the database of"
        " storage.backend: postgres, see docs/postgres.md.",
    )
    url: str = key(
        "http://localhost:6333", "Address of Qdrant, or a folder in the data directory, for one command at a time."
    )
    prefer_grpc: bool = key(False, "Search over gRPC, at port 6334 of the same host.")
    timeout_seconds: int = key(30, "Seconds that one request to the database may take.", ge=1, le=3600)
    shards: int = key(1, "Shards of a new Qdrant collection.", ge=1, le=1024)
    replicas: int = key(1, "Copies of each shard of a new Qdrant collection.", ge=1, le=32)

    @property
    def is_folder(self) -> bool:
        """Whether `url` is a folder in the data directory, so that this process searches without a server."""
        return "://" not in self.url

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if "://" not in url:
            if not url or Path(url).is_absolute() or ".." in Path(url).parts:
                raise ValueError("must be an address such as http://localhost:6333, or a folder in the data directory")
        elif parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.password:
            raise ValueError("must be http or https with a host, without a user or password")
        return url

    def is_same_place(self, other: "IndexSettings") -> bool:
        """Return whether these and the `other` settings name one vector database, so that its vectors can be kept."""
        return self.backend == other.backend and (self.backend != "qdrant" or self.url == other.url)

    @property
    def place(self) -> str:
        """The vector database's name as shown in messages."""
        return self.url if self.backend == "qdrant" else "PostgreSQL"


class EmbeddingSettings(SettingsSection):
    """The model that turns text into vectors. It is recorded in each collection's passport."""

    provider: Literal["embedded", "ollama", "openai_like", "fake"] = key("embedded", "Provider of embeddings.")
    model: str | None = key(None, "Model name; unset: the provider's own.")
    query_prefix: str | None = key(None, "Prefix of questions; unset: the prefix that the model needs, if known.")
    text_prefix: str | None = key(None, "Prefix of chunks; unset: the prefix that the model needs, if known.")
    batch_size: int = key(64, "Texts embedded and stored at a time.", ge=1, le=1024)
    concurrency: int = key(4, "Batches that an ingest sends to an embedding server at the same time.", ge=1, le=256)


class LlmSettings(SettingsSection):
    """The model that writes answers."""

    provider: Literal["auto", "extractive", "ollama", "openai_like", "llama_cpp", "fake"] = key(
        "auto", "auto: Ollama if it runs and has the model, else extractive."
    )
    model: str | None = key(None, "Model name; unset: the provider's own.")
    temperature: float = key(0.1, "Sampling temperature.", ge=0.0, le=2.0)
    top_p: float = key(0.9, "Probability mass to sample from.", gt=0.0, le=1.0)
    answer_timeout: float = key(1800.0, "Seconds that one answer may take in total.", gt=0)
    max_context_tokens: int = key(4000, "Maximum tokens of chunks in a prompt.", ge=100)
    answer_language: str | None = key(None, "Language of the answer; unset: language of the question.")


class ChunkingSettings(SettingsSection):
    """How documents are split. Sizes are tokens of the embedding model, never above its limit."""

    strategy: Literal["markdown", "sentence", "recursive", "table_aware", "section_aware", "parent_child"] = key(
        "markdown",
        "markdown: by sections, then sentences; sentence: by sentences; recursive: by separators, coarse to"
        " fine; table_aware: by sentences, with whole table rows; section_aware: whole rules and sections if they fit;"
        " parent_child: small chunks to match, larger ones to read.",
    )
    chunk_size: int = key(200, "Maximum tokens of a chunk.", ge=16, le=8192)
    chunk_overlap: int = key(32, "Maximum tokens that adjacent chunks share, at most half a chunk.", ge=0, le=4096)
    table_chunk_size: int = key(512, "Maximum tokens of a chunk of table rows.", ge=16, le=8192)
    separators: tuple[str, ...] = key(("\n\n", "\n", ". ", " "), "Separators of the recursive strategy.")
    parent_size: int = key(600, "Maximum tokens of parents in parent_child.", ge=32, le=32768)
    enrichment: Literal["none", "llm"] = key(
        "none", "llm: the language model writes a sentence of context for each chunk, which is stored."
    )


# Keys with their former names, which files and variables may still contain, and stored keys and receipts still use.
FORMER_QUERY_KEYS = {"retriever_top_k": "leg_top_k", "all_retrievers_top_k": "all_legs_top_k"}


class QuerySettings(SettingsSection):
    """How chunks are retrieved and ranked."""

    model_config = ConfigDict(validate_by_name=True)

    where: tuple[str, ...] = key(
        (), "Conditions added to every question, such as doc_type=policy; in a profile, to its questions only."
    )
    similarity_top_k: int = key(8, "Chunks kept without reranking.", ge=1, le=1000)
    use_hybrid_search: bool = key(True, "Keyword and vector search; false: vectors only.")
    use_reranker: bool = key(True, "Rerank the fused candidates.")
    reranker_strategy: Literal["embedding", "cross-encoder", "llm", "cohere", "auto", "none"] = key(
        "embedding", "The reranker; auto: a cross-encoder if available, else embedding."
    )
    reranker_model: str | None = key(
        None, "Folder or name of the cross-encoder, or Cohere's model; unset: the default."
    )
    reranker_retrieve_k: int = key(20, "Candidates for rerankers that call a model.", ge=1, le=1000)
    reranker_top_k: int = key(8, "Chunks kept after reranking.", ge=1, le=1000)
    retriever_top_k: int = key(
        50,
        "Candidates that each retriever returns.",
        ge=1,
        le=10000,
        validation_alias=AliasChoices("retriever_top_k", FORMER_QUERY_KEYS["retriever_top_k"]),
    )
    all_retrievers_top_k: int = key(
        400,
        "Candidates that each retriever returns from all collections, in equal shares of at least 8.",
        ge=1,
        le=100_000,
        validation_alias=AliasChoices("all_retrievers_top_k", FORMER_QUERY_KEYS["all_retrievers_top_k"]),
    )
    collection_budget_min: int = key(1, "Minimum number of candidates per collection to rerank.", ge=1, le=1000)
    collection_budget_max: int = key(1000, "Maximum number of candidates per collection to rerank.", ge=1, le=1000)
    route_above: int = key(12, "Above this number of collections, only the best are searched; 0: all.", ge=0)
    route_to: int = key(5, "How many are then searched, plus those that contain a name in the question.", ge=1, le=1000)
    fusion: Literal["reciprocal_rerank", "relative_score"] = key(
        "reciprocal_rerank", "How the retrievers' results are fused."
    )
    dense_weight: float = key(0.5, "Weight of the dense retriever; the rest is for keywords.", ge=0.0, le=1.0)
    rerank_weight: float = key(0.5, "Weight of the reranker; the rest is for keywords.", ge=0.0, le=1.0)
    filters_from_question: Literal["off", "suggest", "apply"] = key(
        "suggest",
        "Use of years and names in a question that are values of fields; suggest: shown by --explain; apply:"
        " used as filters, with a note, unless nothing would be left.",
    )
    strategy: StrategyName = key("hybrid", "How a question is searched.")
    num_queries: int = key(4, "Maximum query variants of multi_query.", ge=1, le=10)
    max_hops: int = key(3, "Maximum follow-up questions of multi_hop.", ge=1, le=10)
    min_relevance_score: float = key(
        0.0, "Minimum score of a chunk; if no chunk reaches it, half of it is used, with a note.", ge=0.0, le=1.0
    )
    near_duplicate_cosine: float = key(
        1.0, "Of chunks more similar than this, such as 0.95, only one is kept; 1: all are kept.", ge=0.5, le=1.0
    )
    max_per_source: int = key(0, "Maximum chunks of one document; 0: no limit.", ge=0)
    read_parents: bool = key(True, "Read the parents of matched chunks; only with parent_child.")
    merge_adjacent: bool = key(False, "Merge chunks that overlap or touch in their document.")
    widen_sentences: int = key(
        0, "Sentences added before and after each chunk; touching chunks are merged.", ge=0, le=20
    )
    use_mmr: bool = key(False, "Prefer chunks that differ (maximal marginal relevance).")
    mmr_threshold: float = key(0.7, "1: relevance only; 0: variety only.", ge=0.0, le=1.0)
    use_lost_in_middle: bool = key(True, "Put the best chunks first and last in a prompt.")
    full_context_max_chunks: int = key(0, "Collections up to this many chunks are read whole.", ge=0)
    cache_size: int = key(100, "Questions whose chunks and vectors are cached in memory; 0: none.", ge=0)
    cache_ttl: float = key(600.0, "Seconds that the chunks of a question stay cached.", ge=0.0)
    system_prompt: str | None = key(None, "System prompt of the model.")

    @model_validator(mode="after")
    def _check_budgets(self) -> Self:
        if self.collection_budget_min > self.collection_budget_max:
            raise ValueError("collection_budget_min must not be greater than collection_budget_max")
        return self


class AnswerSettings(SettingsSection):
    """How an answer is written and checked."""

    strategy: SynthesisName = key(
        "simple",
        "How a model writes: simple: directly; cot: reasoning steps first; tot: the best of several drafts;"
        " reflect: a draft, corrected where the chunks do not support it.",
    )
    by_collection: bool = key(False, "Answer several collections one by one, then merge the answers.")
    enable_citation: bool = key(True, "Number the sources in the answer.")
    strict: bool = key(False, "Drop sentences that no chunk supports.")
    max_reasoning_steps: int = key(5, "Maximum steps of cot.", ge=1, le=20)
    branches: int = key(3, "Drafts that tot writes.", ge=1, le=10)
    further_steps: int = key(3, "Maximum extra searches for an answer that is not good enough; 0: none.", ge=0, le=5)
    reflect_steps: int = key(3, "Maximum rounds of correcting a draft.", ge=1, le=10)
    abstain: bool = key(True, "Report when the documents do not contain the answer.")
    refuse_below: float = key(
        0.35, "Confidence below which the answer is `not found`, and the closest chunks are shown.", ge=0.0, le=1.0
    )
    uncertain_below: float = key(
        0.6, "Confidence below which an answer is marked `uncertain`; at least `refuse_below`.", ge=0.0, le=1.0
    )
    least_certainty: float = key(
        0.3,
        "Certainty below which a quoted answer is marked `uncertain`: the chance that the best sentence answers.",
        ge=0.0,
        le=1.0,
    )

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.uncertain_below < self.refuse_below:
            raise ValueError("uncertain_below must not be less than refuse_below")
        return self


class NetworkSettings(SettingsSection):
    """Which data may leave the machine."""

    allow_remote_models: bool = key(False, "Allow hosted models; none is used unless true.")
    allow_model_downloads: bool = key(
        False, "Allow `elt-llm models pull` to download a model from the hub; nothing else downloads one."
    )
    allow_remote_traces: bool = key(
        False, "Allow sending times and counts of questions, never their text, to another machine."
    )


class Settings(SettingsSection):
    """All settings, by section. They are immutable."""

    storage: StorageSettings = Field(default_factory=StorageSettings, description="Where collections are stored.")
    ingest: IngestSettings = Field(default_factory=IngestSettings, description="Which files may be read.")
    chroma: ChromaSettings = Field(default_factory=ChromaSettings, description="The vector index.")
    index: IndexSettings = Field(default_factory=IndexSettings, description="Where vectors are searched.")
    ollama: OllamaSettings = Field(default_factory=OllamaSettings, description="A local Ollama server.")
    openai_like: OpenAiLikeSettings = Field(default_factory=OpenAiLikeSettings, description="Another local server.")
    llama_cpp: LlamaCppSettings = Field(default_factory=LlamaCppSettings, description="A model in this process.")
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings, description="Text to vectors.")
    llm: LlmSettings = Field(default_factory=LlmSettings, description="The model that writes answers.")
    chunking: ChunkingSettings = Field(default_factory=ChunkingSettings, description="How documents are split.")
    query: QuerySettings = Field(default_factory=QuerySettings, description="How chunks are retrieved.")
    answer: AnswerSettings = Field(default_factory=AnswerSettings, description="How answers are written.")
    network: NetworkSettings = Field(default_factory=NetworkSettings, description="Which data may leave the machine.")
    serve: ServeSettings = Field(default_factory=ServeSettings, description="The server.")

    @field_validator("chunking")
    @classmethod
    def _check_chunking(cls, chunking: ChunkingSettings) -> ChunkingSettings:
        size, overlap = chunking.chunk_size, chunking.chunk_overlap
        if "chunk_overlap" in chunking.model_fields_set and overlap >= size:
            raise ValueError(f"chunk_overlap ({overlap}) must be less than chunk_size ({size})")
        return chunking

    @field_validator("index")
    @classmethod
    def _check_index(cls, index: IndexSettings, info: ValidationInfo) -> IndexSettings:
        storage = info.data.get("storage")  # None if that section is invalid
        if index.backend == "pgvector" and storage is not None and storage.backend != "postgres":
            raise ValueError("index.backend: pgvector needs storage.backend: postgres")
        return index


class PromptSettings(SettingsSection):
    """The prompts of a profile."""

    system: str | None = key(None, "System prompt of this profile.")


class Profile(SettingsSection):
    """A named set of collections to search, with settings that replace the general ones."""

    description: str = key("", "The purpose of the profile, in one sentence.")
    collections: tuple[str, ...] = key((), "Collections to search when none are named.")
    collection_prefixes: tuple[str, ...] = key((), "Prefixes of the names of further collections to search.")
    query: QuerySettings | None = key(None, "Overrides of the query section.")
    answer: AnswerSettings | None = key(None, "Overrides of the answer section.")
    llm: LlmSettings | None = key(None, "Overrides of the llm section.")
    prompt: PromptSettings | None = key(None, "Overrides of the prompts.")

    def apply_to(self, settings: Settings) -> Settings:
        """Return the settings with this profile's keys applied. Other keys do not change."""
        changed = {
            name: getattr(settings, name).model_copy(update=section.model_dump(exclude_unset=True))
            for name in ("query", "answer", "llm")
            if (section := getattr(self, name)) is not None
        }
        if self.prompt and self.prompt.system:
            query = changed.get("query", settings.query)
            changed["query"] = query.model_copy(update={"system_prompt": self.prompt.system})
        return settings.model_copy(update=changed)
