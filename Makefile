# The verbs of this project. Each makes .venv itself: with uv where it is present, else with pip.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint type layers unit bench format clean

$(STAMP): requirements.lock pyproject.toml
	@echo 'making $(VENV): its packages come from the index, some minutes without uv'
	@if command -v uv >/dev/null 2>&1; then \
	  { [ -x $(BIN)/python ] || uv venv --quiet --python $(PYTHON) $(VENV); } && \
	  uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock && \
	  uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps -e . ; \
	else \
	  { [ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV); } && \
	  $(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock && \
	  $(BIN)/python -m pip install --quiet --no-deps -e . ; \
	fi
	@touch $@

demo: $(STAMP)  ## build the example repository and run the whole line over it
	$(BIN)/swequarry demo

lint: $(STAMP)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(STAMP)  ## mypy --strict
	$(BIN)/mypy

layers: $(STAMP)  ## import-linter: which room may import which
	$(BIN)/lint-imports

unit: $(STAMP)  ## the fast tests: no network, no daemon but a Postgres of their own
	$(BIN)/pytest tests/unit -n 2

test: lint type layers unit  ## everything that CI checks; what this machine lacks is skipped, and said
	$(BIN)/pytest --ignore tests/unit -n 2 --dist loadfile --no-loadscope-reorder --durations 20

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## the figures of benchmarks/ in their sampled form
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
