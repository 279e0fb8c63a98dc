"""The one frozen tree of settings: each key, type, range and default is written here once."""

from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from elt_llm_core.settings_section import Section
from elt_llm_core.settings_serve import ServeSettings
from elt_llm_core.settings_servers import LlamaCppSettings, OllamaSettings, OpenAiLikeSettings

StrategyName = Literal["dense", "sparse", "hybrid", "multi_query", "hyde", "multi_hop", "auto"]
SynthesisName = Literal["simple", "cot", "tot", "reflect"]
STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)


class StorageSettings(Section):
    """Where the collections live."""

    data_dir: Path | None = Field(
        None, description="Data directory; unset: `.elt_llm` beside the configuration found upwards, else here."
    )
    models_dir: Path | None = Field(
        None, description="Folder of models that no package brings; unset: `models` in the data directory."
    )
    keep_generations: int = Field(
        2, ge=2, le=50, description="Generations kept per collection: the published and those before."
    )


class IngestSettings(Section):
    """What may be read, and how much a single file may cost."""

    roots: tuple[Path, ...] = Field(
        (),
        description="Folders that jobs, HTTP and MCP may read; unset: jobs may read below the folder of the"
        " configuration, the others uploads only.",
    )
    workers: int = Field(2, ge=1, le=32, description="Processes that read files.")
    max_file_mb: int = Field(256, ge=1, le=4096, description="Largest file that is read, in megabytes.")
    max_characters: int = Field(20_000_000, ge=1000, description="Longest text a file may have, in characters.")
    parse_seconds: int = Field(120, ge=1, le=3600, description="Seconds a file may take to read; half of it computing.")
    parse_memory_mb: int = Field(1536, ge=512, le=65536, description="Memory a file may take to read, in megabytes.")
    pdf_reader: Literal["pdfium", "docling"] = Field(
        "pdfium", description="What reads PDF; docling is installed apart, see docs/ingestion.md."
    )
    ocr: bool = Field(False, description="Read pages that are pictures with tesseract, if it is installed.")
    ocr_languages: str = Field(
        "eng", pattern=r"^[a-z_]{3,20}(\+[a-z_]{3,20}){0,9}$", description="Languages of such pages, such as eng+deu."
    )
    topics: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Words by topic; a passage with one of the words has the topic."
    )
    organisations: tuple[str, ...] = Field(
        (), description="Names of organisations to find in passages, beside those that a text shows to be such."
    )


class ChromaSettings(Section):
    """The vector index; see the HNSW paper (Malkov and Yashunin, 2016) for the last three."""

    space: Literal["cosine"] = Field("cosine", description="Distance; vectors are normalised, so cosine only.")
    ef_construction: int = Field(100, ge=10, le=1000, description="Candidates looked at when a vector is added.")
    ef_search: int = Field(100, ge=10, le=1000, description="Candidates looked at when the index is asked.")
    max_neighbors: int = Field(16, ge=4, le=128, description="Links per vector.")


class EmbeddingSettings(Section):
    """The model that turns text into vectors. Part of each collection's passport."""

    provider: Literal["embedded", "ollama", "openai_like", "fake"] = Field(
        "embedded", description="Where embeddings come from."
    )
    model: str | None = Field(None, description="Model name; unset: the provider's own.")
    query_prefix: str | None = Field(
        None, description="Put before a question before it is embedded; unset: what the model is known to want."
    )
    text_prefix: str | None = Field(
        None, description="Put before a passage before it is embedded; unset: what the model is known to want."
    )
    batch_size: int = Field(64, ge=1, le=1024, description="Texts embedded and stored at a time.")


class LlmSettings(Section):
    """The model that writes answers."""

    provider: Literal["auto", "extractive", "ollama", "openai_like", "llama_cpp", "fake"] = Field(
        "auto", description="auto: Ollama if it answers and has the model, else extractive."
    )
    model: str | None = Field(None, description="Model name; unset: the provider's own.")
    temperature: float = Field(0.1, ge=0.0, le=2.0, description="Sampling temperature.")
    top_p: float = Field(0.9, gt=0.0, le=1.0, description="Share of probability sampled from.")
    answer_timeout: float = Field(1800.0, gt=0, description="Seconds that writing one answer may take altogether.")
    max_context_tokens: int = Field(4000, ge=100, description="Most tokens of passages given to the model.")
    answer_language: str | None = Field(None, description="Language of the answer; unset: that of the question.")


class ChunkingSettings(Section):
    """How documents are cut. Sizes are tokens of the embedding model, never above its limit."""

    strategy: Literal["markdown", "sentence", "recursive", "table_aware", "section_aware", "parent_child"] = Field(
        "markdown",
        description="markdown: sections first, then sentences; sentence: sentences only; recursive: separators, coarse"
        " to fine; table_aware: as sentence, rows whole; section_aware: rules and sections whole where they fit;"
        " parent_child: small passages to match, larger ones to read.",
    )
    chunk_size: int = Field(200, ge=16, le=8192, description="Most tokens in a chunk.")
    chunk_overlap: int = Field(32, ge=0, le=4096, description="Tokens that neighbouring chunks share at most.")
    table_chunk_size: int = Field(512, ge=16, le=8192, description="Most tokens in a chunk of table rows.")
    separators: tuple[str, ...] = Field(("\n\n", "\n", ". ", " "), description="For the recursive strategy.")
    parent_size: int = Field(600, ge=32, le=32768, description="Most tokens in the larger passages of parent_child.")
    enrichment: Literal["none", "llm"] = Field(
        "none", description="llm: the language model writes a sentence of context for each passage, kept for good."
    )


class QuerySettings(Section):
    """How passages are found and ordered."""

    similarity_top_k: int = Field(8, ge=1, le=1000, description="Passages kept when nothing is reranked.")
    use_hybrid_search: bool = Field(True, description="Keyword and vector search; false: vectors only.")
    use_reranker: bool = Field(True, description="Rerank what was fused.")
    reranker_strategy: Literal["embedding", "cross-encoder", "llm", "cohere", "auto", "none"] = Field(
        "embedding", description="Which reranker; auto: a cross-encoder if one is there, else embedding."
    )
    reranker_model: str | None = Field(
        None, description="Folder or name of the cross-encoder, or name of Cohere's model; unset: the usual one."
    )
    reranker_retrieve_k: int = Field(20, ge=1, le=1000, description="Candidates given to rerankers that call a model.")
    reranker_top_k: int = Field(8, ge=1, le=1000, description="Passages kept after reranking.")
    leg_top_k: int = Field(50, ge=1, le=10000, description="Candidates each leg brings.")
    all_legs_top_k: int = Field(
        400,
        ge=1,
        le=100_000,
        description="Candidates each leg brings from all collections together, in equal shares; 8 of each at least.",
    )
    collection_budget_min: int = Field(
        1, ge=1, le=1000, description="Candidates of each collection that a reranker's model reads at least."
    )
    collection_budget_max: int = Field(
        1000, ge=1, le=1000, description="Candidates of each of several collections that it reads at most."
    )
    route_above: int = Field(
        12, ge=0, description="Where more collections than this are named, only the best are asked; 0: all, always."
    )
    route_to: int = Field(
        5, ge=1, le=1000, description="How many are then asked, beside those that have a name asked for."
    )
    fusion: Literal["reciprocal_rerank", "relative_score"] = Field(
        "reciprocal_rerank", description="How the legs are fused."
    )
    dense_weight: float = Field(
        0.5, ge=0.0, le=1.0, description="Weight of the vector leg; the keyword leg has the rest."
    )
    rerank_weight: float = Field(
        0.5, ge=0.0, le=1.0, description="Weight of the reranker's score; the keyword score has the rest."
    )
    filters_from_question: Literal["off", "suggest", "apply"] = Field(
        "suggest",
        description="Years and names in a question that are values of fields; suggest: told by --explain; apply:"
        " filtered by, unless nothing is left, and said.",
    )
    strategy: StrategyName = Field("hybrid", description="How a question is searched for.")
    num_queries: int = Field(4, ge=1, le=10, description="Most variants of the question that multi_query asks.")
    max_hops: int = Field(3, ge=1, le=10, description="Most follow-up questions of a multi-hop search.")
    min_relevance_score: float = Field(
        0.0, ge=0.0, le=1.0, description="Passages below are dropped; if all are, half of it is tried, and said."
    )
    near_duplicate_cosine: float = Field(
        1.0, ge=0.5, le=1.0, description="Passages more alike than this are read once, such as 0.95; 1: all are read."
    )
    max_per_source: int = Field(0, ge=0, description="Most passages of one document; 0: any number.")
    read_parents: bool = Field(True, description="Read the parent of what was matched; with parent_child chunks.")
    merge_adjacent: bool = Field(False, description="Read passages that overlap or touch in their document as one.")
    widen_sentences: int = Field(
        0, ge=0, le=20, description="Sentences read before and after each passage; those that then touch are one."
    )
    use_mmr: bool = Field(False, description="Prefer passages that differ (maximal marginal relevance).")
    mmr_threshold: float = Field(0.7, ge=0.0, le=1.0, description="1: relevance only; 0: variety only.")
    use_lost_in_middle: bool = Field(True, description="Best passages first and last in a model's prompt.")
    full_context_max_chunks: int = Field(0, ge=0, description="Collections up to this many chunks are read whole.")
    cache_size: int = Field(
        100, ge=0, description="Questions whose passages, and whose vectors, are kept in memory; 0: none."
    )
    cache_ttl: float = Field(600.0, ge=0.0, description="Seconds that the passages of a question are kept.")
    system_prompt: str | None = Field(None, description="Said to the model before everything else.")


class AnswerSettings(Section):
    """How an answer is written and checked."""

    strategy: SynthesisName = Field(
        "simple",
        description="How a model writes: simple: at once; cot: steps of reasoning first; tot: several attempts, the"
        " best kept; reflect: a draft, corrected where the passages do not bear it out.",
    )
    by_collection: bool = Field(False, description="Several collections are answered one by one, then made one answer.")
    enable_citation: bool = Field(True, description="Number the sources in the answer.")
    strict: bool = Field(False, description="Drop sentences that no passage supports.")
    max_reasoning_steps: int = Field(5, ge=1, le=20, description="Most steps of a reasoned answer.")
    branches: int = Field(3, ge=1, le=10, description="Attempts that tot writes.")
    further_steps: int = Field(
        3, ge=0, le=5, description="Most steps a model looks further in where its answer is not good enough; 0: none."
    )
    reflect_steps: int = Field(3, ge=1, le=10, description="Most rounds of correcting a draft.")
    abstain: bool = Field(True, description="Say so when the documents do not hold the answer.")


class NetworkSettings(Section):
    """What may leave the machine."""

    allow_remote_models: bool = Field(False, description="Let hosted models be used; none ever is unless true.")
    allow_remote_traces: bool = Field(
        False, description="Let times and counts of questions, never their words, be sent to another machine."
    )


class Settings(Section):
    """Everything that can be configured, in one value that is passed in and never changed."""

    storage: StorageSettings = Field(default_factory=StorageSettings, description="Where collections live.")
    ingest: IngestSettings = Field(default_factory=IngestSettings, description="What may be read.")
    chroma: ChromaSettings = Field(default_factory=ChromaSettings, description="The vector index.")
    ollama: OllamaSettings = Field(default_factory=OllamaSettings, description="A local Ollama server.")
    openai_like: OpenAiLikeSettings = Field(default_factory=OpenAiLikeSettings, description="Another local server.")
    llama_cpp: LlamaCppSettings = Field(default_factory=LlamaCppSettings, description="A model in this process.")
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings, description="Text to vectors.")
    llm: LlmSettings = Field(default_factory=LlmSettings, description="The model that writes.")
    chunking: ChunkingSettings = Field(default_factory=ChunkingSettings, description="How documents are cut.")
    query: QuerySettings = Field(default_factory=QuerySettings, description="How passages are found.")
    answer: AnswerSettings = Field(default_factory=AnswerSettings, description="How answers are written.")
    network: NetworkSettings = Field(default_factory=NetworkSettings, description="What may leave the machine.")
    serve: ServeSettings = Field(default_factory=ServeSettings, description="The server.")


class PromptSettings(Section):
    """Words given to the model, for profiles that bring their own."""

    system: str | None = Field(None, description="System prompt of this profile.")


class Profile(Section):
    """One named way of asking: which collections, and what differs from the settings."""

    description: str = Field("", description="What the profile is for, in a sentence.")
    collections: tuple[str, ...] = Field((), description="Collections asked when none are named.")
    collection_prefixes: tuple[str, ...] = Field((), description="Every collection whose name begins so.")
    query: QuerySettings | None = Field(None, description="Overrides of the query section.")
    answer: AnswerSettings | None = Field(None, description="Overrides of the answer section.")
    llm: LlmSettings | None = Field(None, description="Overrides of the llm section.")
    prompt: PromptSettings | None = Field(None, description="Overrides of the prompts.")

    def apply_to(self, settings: Settings) -> Settings:
        """The settings with this profile's given keys laid over them; keys it does not name stay."""
        changed = {
            name: getattr(settings, name).model_copy(update=section.model_dump(exclude_unset=True))
            for name in ("query", "answer", "llm")
            if (section := getattr(self, name)) is not None
        }
        if self.prompt and self.prompt.system:
            query = changed.get("query", settings.query)
            changed["query"] = query.model_copy(update={"system_prompt": self.prompt.system})
        return settings.model_copy(update=changed)
