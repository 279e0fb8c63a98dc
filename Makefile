.DEFAULT_GOAL := help
CHECKERS := uv run --group check --group samples --group models --group browser --group serve-tests --extra ui --extra mcp
.PHONY: help setup demo check format test faults bench

help: ## List what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

setup: ## Install everything into .venv
	uv sync --all-groups --extra ui --extra mcp

demo: ## Ingest the samples and answer a question about them
	uv run elt-llm demo

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

bench: ## Measure quality and speed on the data sets of ELT_LLM_DATASETS, print ratios, write docs/benchmarks.md
	uv run pytest -m bench -n 0 -s
