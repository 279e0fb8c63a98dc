# The command and the server in one image: built from the locked versions, run by a user without rights.
# Build: make docker-build. How to run it: docs/deployment.md and compose.yaml.

FROM python:3.11.14-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_PROJECT_ENVIRONMENT=/opt/elt-llm \
    UV_PYTHON_DOWNLOADS=never
WORKDIR /build
RUN ["pip", "install", "--no-cache-dir", "--disable-pip-version-check", "uv==0.13.9"]
# What others wrote first, so that a change of ours does not install it again.
COPY pyproject.toml uv.lock ./
COPY elt_llm_core/pyproject.toml elt_llm_core/
COPY elt_llm_ingest/pyproject.toml elt_llm_ingest/
COPY elt_llm_query/pyproject.toml elt_llm_query/
COPY elt_llm_consumer/pyproject.toml elt_llm_consumer/
COPY elt_llm_api/pyproject.toml elt_llm_api/
RUN ["uv", "sync", "--locked", "--no-cache", "--no-dev", "--no-install-workspace", "--extra", "ui", "--extra", "mcp"]
COPY elt_llm_core elt_llm_core
COPY elt_llm_ingest elt_llm_ingest
COPY elt_llm_query elt_llm_query
COPY elt_llm_consumer elt_llm_consumer
COPY elt_llm_api elt_llm_api
COPY samples samples
COPY README.md LICENSE ./

# For work on the source: what is installed points at it, so `docker compose watch` needs only to copy and restart.
FROM build AS dev
RUN ["uv", "sync", "--locked", "--no-cache", "--no-dev", "--extra", "ui", "--extra", "mcp"]
ENV PATH=/opt/elt-llm/bin:$PATH \
    ELT_LLM_DATA_DIR=/data
COPY --chmod=755 docs/examples/container/start.sh /usr/local/bin/start
RUN ["useradd", "--system", "--uid", "10001", "--user-group", "--create-home", "elt-llm"]
RUN ["install", "-d", "-o", "elt-llm", "-g", "elt-llm", "-m", "0700", "/data"]
# What is watched is written by the user that runs it.
RUN ["chown", "-R", "elt-llm:elt-llm", "/build"]
USER 10001:10001
ENTRYPOINT ["start"]
CMD ["elt-llm", "serve"]

FROM build AS whole
RUN ["uv", "sync", "--locked", "--no-cache", "--no-dev", "--no-editable", "--extra", "ui", "--extra", "mcp"]

FROM python:3.11.14-slim-bookworm
# tesseract reads pages that are pictures, where ingest.ocr asks for it.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends tesseract-ocr \
    && rm -rf /var/lib/apt/lists/*
RUN ["useradd", "--system", "--uid", "10001", "--user-group", "--create-home", "elt-llm"]
RUN ["install", "-d", "-o", "elt-llm", "-g", "elt-llm", "-m", "0700", "/data"]
COPY --from=whole /opt/elt-llm /opt/elt-llm
COPY --chmod=755 docs/examples/container/start.sh /usr/local/bin/start
ENV PATH=/opt/elt-llm/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ELT_LLM_DATA_DIR=/data
# The folder of the project: `config` may be mounted below it.
WORKDIR /project
USER 10001:10001
VOLUME ["/data"]
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as it; it.urlopen('http://127.0.0.1:7860/health', timeout=4).read()"]
ENTRYPOINT ["start"]
# On its own it listens to the container alone; compose.yaml shows what letting others in takes.
CMD ["elt-llm", "serve"]
