# Sluice. `make help` lists what there is; `make demo` and `make test` set up what they need.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := .demo
ROWS   ?= 200000

export PATH := $(CURDIR)/$(BIN):$(PATH)
export SLUICE_JARS ?= $(CURDIR)/.cache/jars

##@ Begin
.PHONY: help setup demo
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.installed .cache/jars/.fetched ## make the environment (.venv/bin/sluice) and fetch Delta's JARs

demo: setup ## generate a stream, archive it, replay it, check it, show it
	@jobs/demo/run.sh $(DEMO) $(ROWS)

##@ Check
.PHONY: lint types test fast format
lint: setup ## ruff, formatting and the one-way imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --cache-dir .cache/import_linter

types: setup ## mypy, strict on our code
	$(BIN)/mypy

test: setup ## all tests
	$(BIN)/python -m pytest

fast: setup ## the tests that take a moment
	$(BIN)/python -m pytest -m "not slow"

format: setup ## put the code in its one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## benchmarks against peers and the plain scan, from one run
	$(BIN)/python -m tests.benchmarks.replay_against_peers

##@ Run
.PHONY: airflow bench zip
airflow: setup ## a local Airflow with the nightly replay, on loopback; Ctrl-C stops it
	dags/local/airflow.sh

zip: setup ## dist/sluice.zip, for spark-submit --py-files
	mkdir -p dist && rm -f dist/sluice.zip
	$(BIN)/python -c "import shutil, pathlib; root = pathlib.Path('dist/tree'); shutil.rmtree(root, ignore_errors=True); \
	[shutil.copytree(p, root / p, ignore=shutil.ignore_patterns('__pycache__')) for p in ('schemas', 'lakehouse', 'expectations', 'jobs')]; \
	shutil.make_archive('dist/sluice', 'zip', root)"

##@ Tidy
.PHONY: lock clean
lock: setup ## requirements.lock from requirements.in: names, versions, hashes
	$(BIN)/uv pip compile requirements.in --generate-hashes --no-header --no-annotate --python-version 3.11 -o requirements.lock -q

clean: ## remove the demo and caches; the environment stays
	rm -rf $(DEMO) .airflow .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info[:2] != (3, 11))" 2>/dev/null || { echo "Python 3.11 is needed: install it, or say PYTHON=/path/to/python3.11." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
	  -r <(awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' requirements.lock)
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip sync --quiet --require-hashes requirements.lock
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

.cache/jars/.fetched: $(VENV)/.installed lakehouse/fetch_jars.py
	@command -v java >/dev/null || $(MAKE) --no-print-directory java
	$(BIN)/python lakehouse/fetch_jars.py
	@touch $@

.PHONY: java
java:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null; \
	else echo "Java 17 is needed: install it (Debian: openjdk-17-jre-headless) and run this again." >&2; exit 1; fi
