# Everything runs in a virtual environment that make sets up by itself. `make test` is what CI runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
DEMO := build/demo

.DEFAULT_GOAL := help
.PHONY: help demo test quick matrix lint types unit compiled uncompiled coverage hooks format docs benchmarks conformance clean java

# A process per core, at most four; the tests of a file stay together.
PYTEST = $(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile
# Kernels as plain Python: nothing waits for a compiler, and each line that runs is seen.
PLAINLY = NUMBA_DISABLE_JIT=1 $(PYTEST) --ignore=tests/baselines tests
UNCOMPILED = $(PLAINLY) -m "not spark and not slow"

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ruledex needs Python 3.11 or later; name one with: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

java:
	@command -v java >/dev/null || test -x "$$JAVA_HOME/bin/java" || \
	  { echo "Spark needs Java 17: install a JRE 17 (Debian: apt-get install openjdk-17-jre-headless)"; \
	    echo "and put it on PATH, or set JAVA_HOME."; exit 1; }

demo: java $(READY) ## an index of 100,000 rules, 10,000 events, a match explained; then the whole line on Spark
	@$(BIN)/ruledex check examples/rules.jsonl --schema examples/schema.toml
	@$(BIN)/ruledex generate demo --rules 100000 -o $(DEMO)/rules.jsonl
	@$(BIN)/ruledex generate demo --events 10000 -o $(DEMO)/events.jsonl
	@$(BIN)/ruledex build $(DEMO)/rules.jsonl -o $(DEMO)/index
	@$(BIN)/ruledex match $(DEMO)/index $(DEMO)/events.jsonl -o $(DEMO)/matches.jsonl
	@$(BIN)/ruledex explain $(DEMO)/index \
	  "$$(head -1 $(DEMO)/matches.jsonl | $(BIN)/python -c 'import json; print(json.loads(input())["rules"][0])')" \
	  $(DEMO)/events.jsonl --line 1
	@echo "the whole line on Spark, which takes some seconds to start:"
	@SPARK_LOCAL_IP=127.0.0.1 $(BIN)/python examples/pipeline.py $(DEMO) 2> $(DEMO)/spark.log || { cat $(DEMO)/spark.log; exit 1; }
	@echo "to ask these rules over HTTP: $(BIN)/ruledex serve $(DEMO)"

# Two rounds: uncompiled, with the lines counted, which fails below a floor that pyproject.toml sets; and compiled, without the
# tests of families that have no kernels, which would only be repeated. Counting lines in one compiled round would see no
# line of a kernel.
test: java lint types coverage compiled ## all that CI runs

quick: lint types ## style, types, and the tests of files that take at most three seconds, without Spark and a compiler
	@$(PLAINLY) -m "not spark and not slow and not long"

matrix: ## the tests of `uncompiled` on Python 3.11, 3.12 and 3.13, where they are installed; FULL=1 for all tests
	@tools/matrix.sh

lint: $(READY) ## style and spelling
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/typos

types: $(READY) ## types of the package, strictly, and of tests and scripts
	@$(BIN)/mypy

unit: $(READY) ## all tests, compiled
	@$(PYTEST) --no-loadscope-reorder tests

compiled: $(READY) ## all tests but those of families without kernels that `coverage` ran
	@$(PYTEST) --no-loadscope-reorder -m "not plain or slow or spark" tests

uncompiled: $(READY) ## the tests that need neither Spark nor much time, with kernels as plain Python
	@$(UNCOMPILED)

coverage: $(READY) ## the same with line coverage; by file in build/coverage/index.html
	@$(UNCOMPILED) --cov --cov-report=html --cov-report=term:skip-covered

hooks: $(READY) ## check style and spelling before each commit
	@$(BIN)/pre-commit install

format: $(READY) ## bring the code into shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(READY) ## write the pages that are generated, and build the site in build/site; broken links are errors
	@$(BIN)/python tools/functions_page.py docs/functions.md
	@$(BIN)/zensical build --clean --strict --config-file mkdocs.yml
	@echo "the site is in build/site; to search it, too: $(BIN)/python -m http.server -d build/site"

benchmarks: $(READY) ## measure, and write docs/benchmarks/ and docs/papers/; takes hours
	@$(BIN)/python benchmarks/language.py
	@$(BIN)/python benchmarks/core.py
	@$(BIN)/python benchmarks/growth.py
	@$(BIN)/python benchmarks/auto.py
	@$(BIN)/python benchmarks/batches.py
	@$(BIN)/python benchmarks/columns.py
	@$(BIN)/python benchmarks/changes.py
	@$(BIN)/python benchmarks/formats.py
	@$(BIN)/python benchmarks/service.py
	@$(BIN)/python benchmarks/whang2009.py
	@$(BIN)/python benchmarks/fontoura2010.py
	@$(BIN)/python benchmarks/ranked2008.py
	@$(BIN)/python benchmarks/atree2021.py
	@$(BIN)/python benchmarks/spark.py

conformance: $(READY) ## compare rules of other systems with their own answers: CASES=folder (tools/conformance.py)
	@$(BIN)/python tools/conformance.py "$(CASES)"

clean: ## remove the environment and all caches
	rm -rf $(VENV) build dist .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
