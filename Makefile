.DEFAULT_GOAL := help
# All extras stay installed for the tests, so that none is skipped.
ALL := uv run --all-extras --all-groups
.PHONY: help setup demo serve check lint format test test-full check-postgres check-ray faults properties bench bench-asked bench-million docker-build docker-up docker-down fuzz-http pages pictures site release-check

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: ## Install everything into .venv
	uv sync --all-extras --all-groups

demo: ## Ingest the samples and answer a question about them
	uv run elt-llm demo

serve: ## Start the server with its browser interface on this machine
	uv run --extra ui --extra mcp elt-llm serve

check: lint test ## Run all checks that a change must pass before it is merged

lint: ## Check the lock file, formatting, lint rules, types and imports
	uv lock --check
	$(ALL) ruff format --check .
	$(ALL) ruff check .
	$(ALL) mypy
	$(ALL) lint-imports

format: ## Format the code
	$(ALL) ruff format .
	$(ALL) ruff check --fix .

test: ## Run the tests with the command of the README
	uv run --all-extras --all-groups pytest

test-full: ## Run every case of the tests that CI samples, and the long tests; it takes hours
	FULL=1 $(ALL) pytest -m "not bench and not million and not ray and not qdrant_server"

check-postgres: ## Run core, ingest, journeys, tenants and faults on a real PostgreSQL server, with all kills
	$(ALL) pytest --backend postgres tests/core/collection tests/core/index tests/ingest tests/journeys/test_journey_*.py
	FULL=1 $(ALL) pytest --backend postgres tests/core/store tests/core/state tests/ingest/test_ingest_into_postgres.py \
		tests/api/serve/security/test_tenants.py tests/api/serve/security/test_changes_of_tenants.py \
		tests/faults/test_killing_on_postgres.py tests/faults/test_two_hosts.py -m "not bench and not million"

pages: ## Write the generated pages of the manual: the reference and the licences
	$(ALL) python docs/generate/reference_pages.py
	$(ALL) python docs/generate/licences_page.py

pictures: ## Take the pictures of the page in docs/images with Chromium
	$(ALL) env PYTHONPATH=tests/support python -m browsing.pictures

site: ## Build the manual as web pages in site/, with every link checked
	NO_MKDOCS_2_WARNING=1 $(ALL) mkdocs build --strict --quiet

release-check: ## Build the packages into dist/, install them in an empty environment, and try them there
	.ci/release-check

faults: ## Run the long fault tests: kills, full disks, damage and malformed files
	FULL=1 KILLS=120 BUILD_KILLS=80 CARE_KILLS=20 FLIPS=150 DEPTH=3 MALFORMED=1000 LIVES=200 STEPS=30 $(ALL) pytest -m faults

check-ray: ## Kill actors and nodes of a Ray cluster on this machine during ingests
	$(ALL) pytest -m ray -n 0

properties: ## Run the property tests with ten times as many generated examples
	FULL=1 $(ALL) pytest -m hypothesis

fuzz-http: ## Send the server thousands of requests generated from its OpenAPI description
	PAGE_FUZZED=10000 $(ALL) pytest tests/api/serve/ui/test_hostile_page_requests.py -n 0
	FUZZED=$${FUZZED:-150} FUZZED_REPORT=fuzz-http.txt $(ALL) pytest tests/api/serve/routes/test_api_description.py -n 0 -s

bench-asked: ## Count the right answers to 4,258 questions as people ask them; downloads manuals of Debian packages
	$(ALL) env PYTHONPATH=tests/support python -m asked.texts $${ASKED_TEXTS:-out/asked}
	ASKED_TEXTS=$${ASKED_TEXTS:-out/asked} $(ALL) pytest -m bench -n 0 -s tests/bench/test_asked_bench.py

bench: ## Measure quality and speed on the data sets of ELT_LLM_DATASETS, print ratios, write docs/benchmarks.md
	$(ALL) pytest -m bench -n 0 -s

bench-million: ## Build a million chunks (BENCH_CHUNKS) and print build time, disk, memory, latency, recall and publish time
	$(ALL) pytest -m million -n 0 -s

docker-build: ## Build the image of the server
	docker build --tag elt-llm:0.1.0 .

docker-up: secrets/token ## Start the server and Ollama in containers
	docker compose up --detach --build

docker-down: ## Stop the containers; ingested data stays
	docker compose down

secrets/token:
	mkdir -p secrets documents
	umask 077; python3 -c "import secrets; print(secrets.token_urlsafe(32))" > $@
