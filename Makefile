.DEFAULT_GOAL := help
CHECKERS := uv run --group check --group samples --group models --group browser --group serve-tests --extra ui --extra mcp --extra otel
.PHONY: help setup demo serve check format test faults bench docker-build docker-up docker-down fuzz-http

help: ## List what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: ## Install everything into .venv
	uv sync --all-groups --extra ui --extra mcp --extra otel

demo: ## Ingest the samples and answer a question about them
	uv run elt-llm demo

serve: ## Serve questions, documents and jobs to this machine, with the pages for browsers
	uv run --extra ui --extra mcp elt-llm serve

# The checkers, the renderer of the samples, the small model, the user interface and what drives a browser stay installed for
# the tests at the end, which then skip nothing.
check: ## Everything that must hold before a change is merged; CI runs this and nothing else
	uv lock --check
	$(CHECKERS) ruff format --check .
	$(CHECKERS) ruff check .
	$(CHECKERS) mypy
	$(CHECKERS) lint-imports
	uv run pytest

format: ## Put the code into shape
	$(CHECKERS) ruff format .
	$(CHECKERS) ruff check --fix .

test: ## Run the tests alone
	uv run pytest

faults: ## Kill, fill, harm and feed it what is malformed, at length, and look at what is left
	KILLS=120 DEPTH=3 MALFORMED=1000 LIVES=200 STEPS=30 uv run pytest -m faults

fuzz-http: ## Send the server thousands of requests made from the description of its routes
	FUZZED=$${FUZZED:-150} FUZZED_REPORT=fuzz-http.txt uv run --group serve-tests pytest tests/api/serve/test_serve_schemathesis.py -n 0 -s

bench: ## Measure quality and speed on the data sets of ELT_LLM_DATASETS, print ratios, write docs/benchmarks.md
	uv run pytest -m bench -n 0 -s

docker-build: ## Build the image of the server
	docker build --tag elt-llm:0.1.0 .

docker-up: secrets/token ## Start the server and Ollama in containers
	docker compose up --detach --build

docker-down: ## Stop them; what was ingested stays
	docker compose down

secrets/token:
	mkdir -p secrets documents
	umask 077; python3 -c "import secrets; print(secrets.token_urlsafe(32))" > $@
