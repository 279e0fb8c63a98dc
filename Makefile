.DEFAULT_GOAL := help
.PHONY: help setup demo check format test faults bench

help: ## List what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

setup: ## Install everything into .venv
	uv sync --all-groups

demo: ## Ingest the samples and answer a question about them
	uv run elt-llm demo

check: ## Everything that must hold before a change is merged; CI runs this and nothing else
	uv lock --check
	uv run --group check ruff format --check .
	uv run --group check ruff check .
	uv run --group check mypy
	uv run --group check lint-imports
	uv run pytest

format: ## Put the code into shape
	uv run --group check ruff format .
	uv run --group check ruff check --fix .

test: ## Run the tests alone
	uv run pytest

faults: ## Kill an ingest a hundred times at random moments, and look at what is left
	KILLS=100 uv run pytest -m faults

bench: ## Measure quality and speed on the data sets of ELT_LLM_DATASETS
	uv run pytest -m bench -n 0
