"""The section of the settings that says how the server answers."""

from pathlib import Path

from pydantic import Field

from elt_llm_core.settings_section import Section


class ServeSettings(Section):
    """HTTP for browsers, programs and agents: open to this machine alone unless more is asked for."""

    host: str = Field("127.0.0.1", description="Address to listen at; any but loopback needs a key, a flag and TLS.")
    port: int = Field(7860, ge=0, le=65535, description="Port to listen at; 0: any that is free.")
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Further names that requests may give as their host, such as rag.example; loopback always may."
    )
    cors_origins: tuple[str, ...] = Field((), description="Origins whose pages may call, such as https://wiki.example.")
    behind_proxy: bool = Field(False, description="A proxy in front ends TLS and says who asks.")
    tls_certificate: Path | None = Field(None, description="File with the certificate chain, PEM.")
    tls_key: Path | None = Field(None, description="File with its private key, PEM.")
    max_body_mb: int = Field(4, ge=1, le=1024, description="Largest body of a request that is no upload, in megabytes.")
    max_upload_mb: int = Field(256, ge=1, le=4096, description="Largest upload, in megabytes.")
    upload_quota_mb: int = Field(4096, ge=1, description="All uploads of a collection together, in megabytes.")
    workers: int = Field(8, ge=1, le=256, description="Questions answered at the same time.")
    queue: int = Field(32, ge=0, le=4096, description="Questions that may wait; further ones are turned away.")
    requests_per_minute: int = Field(600, ge=1, description="Requests of one caller in a minute.")
    tries: int = Field(10, ge=1, le=1000, description="Wrong keys from one address before it is locked out.")
    lockout_seconds: int = Field(300, ge=1, description="How long an address is locked out.")
    agents_may_ingest: bool = Field(
        False, description="Whether agents (MCP) may have files below ingest.roots read, and collections read again."
    )
    trace_questions: bool = Field(False, description="Whether traces keep the words of questions and answers.")
    trace_files: int = Field(
        30, ge=0, le=1000, description="Files of traces that are kept, of 16 MB at most and a day; 0: none is written."
    )
    metrics_hourly_days: int = Field(14, ge=1, le=366, description="Days that measures by the hour are kept.")
    metrics_daily_days: int = Field(400, ge=1, le=3660, description="Days that measures by the day are kept.")
    otel_endpoint: str | None = Field(
        None,
        description="Address of a collector of traces (OTLP over HTTP), such as http://127.0.0.1:4318/v1/traces; one"
        " on another machine needs network.allow_remote_traces. Unset: nothing is sent.",
    )
