# The command and the server in one image, built from the locked versions and run by an unprivileged user.
# Build: make docker-build. How to run it: docs/deployment.md and compose.yaml.

FROM python:3.11.14-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_PROJECT_ENVIRONMENT=/opt/elt-llm \
    UV_PYTHON_DOWNLOADS=never
WORKDIR /build
RUN ["pip", "install", "--no-cache-dir", "--disable-pip-version-check", "uv==0.13.9"]
# Dependencies come first, so that a change of our code does not install them again.
COPY pyproject.toml uv.lock ./
COPY elt_llm_core/pyproject.toml elt_llm_core/
COPY elt_llm_ingest/pyproject.toml elt_llm_ingest/
COPY elt_llm_query/pyproject.toml elt_llm_query/
COPY elt_llm_consumer/pyproject.toml elt_llm_consumer/
COPY elt_llm_api/pyproject.toml elt_llm_api/
RUN ["uv", "sync", "--locked", "--no-cache", "--no-dev", "--no-install-workspace", "--extra", "ui", "--extra", "mcp", "--extra", "postgres", "--extra", "qdrant"]
COPY elt_llm_core elt_llm_core
COPY elt_llm_ingest elt_llm_ingest
COPY elt_llm_query elt_llm_query
COPY elt_llm_consumer elt_llm_consumer
COPY elt_llm_api elt_llm_api
COPY samples samples
COPY README.md LICENSE ./

# For development: an editable installation, so that `docker compose watch` only copies files and restarts.
FROM build AS dev
RUN ["uv", "sync", "--locked", "--no-cache", "--no-dev", "--extra", "ui", "--extra", "mcp", "--extra", "postgres", "--extra", "qdrant"]
ENV PATH=/opt/elt-llm/bin:$PATH \
    ELT_LLM_DATA_DIR=/data
COPY --chmod=755 docs/examples/container/start.sh /usr/local/bin/start
RUN ["useradd", "--system", "--uid", "10001", "--user-group", "--create-home", "elt-llm"]
RUN ["install", "-d", "-o", "elt-llm", "-g", "elt-llm", "-m", "0700", "/data"]
# The watched files belong to the user that runs the server.
RUN ["chown", "-R", "elt-llm:elt-llm", "/build"]
USER 10001:10001
ENTRYPOINT ["start"]
CMD ["elt-llm", "serve"]

FROM build AS whole
RUN ["uv", "sync", "--locked", "--no-cache", "--no-dev", "--no-editable", "--extra", "ui", "--extra", "mcp", "--extra", "postgres", "--extra", "qdrant"]

FROM python:3.11.14-slim-bookworm
# tesseract reads scanned pages if ingest.ocr is set.
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
# The project folder; `config` can be mounted below it.
WORKDIR /project
USER 10001:10001
VOLUME ["/data"]
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as it; it.urlopen('http://127.0.0.1:7860/health', timeout=4).read()"]
ENTRYPOINT ["start"]
# By default the server is reachable only inside the container; compose.yaml shows how to publish it.
CMD ["elt-llm", "serve"]
