# `make demo` and `make test` work on a machine that has Python 3.11+, pip and make: each builds its own .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard src/toplist/core/native/*) $(wildcard src/toplist/core/native/*/*)
# Tests start hundreds of processes: these share compiled modules, whatever the environment says.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2

.PHONY: help demo test test-all test-pure golden faults thorough bench lint docs oracle mutations simulate simulate-gate clean
help:
	@echo "make demo     five predictions of language detectors, ranked, and a report"
	@echo "make test     every test, and at most three cases of each"
	@echo "make test-all  every case of every test"
	@echo "make test-pure  what both kernels must pass, with the pure-Python one"
	@echo "make golden   scores, commands and boards, compared with what was stored of them"
	@echo "make faults   faults planted by hand: which of them do the tests not see?"
	@echo "make thorough  laws over drawn examples, with 40 times as many as in the suite"
	@echo "make bench    speed: a table of ratios to what one would write today, and their bounds"
	@echo "make oracle   a million lists against exact arithmetic, and lists that were cut where little is left"
	@echo "make mutations  a thousand mutated files and folders per layout: a right answer or a clear sentence"
	@echo "make simulate  how often intervals cover and tests err; writes docs/coverage.md"
	@echo "make simulate-gate  how often a gate passes wrongly; writes its table into docs/gate.md"
	@echo "make lint     format, lint, types, import contracts, docstrings"
	@echo "make docs     the pictures of the documentation, and its pages as HTML in docs/_build"

# One stamp per use: re-used while pyproject.toml and the compiled sources have not changed. The kernel is built once for each
# but the last, which installs programs alone.
$(VENV)/report: pyproject.toml $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -e ".[cli,report]"
	@touch $@

$(VENV)/dev: pyproject.toml $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -e ".[all]" --group dev
	@touch $@ $(VENV)/report

$(VENV)/docs: $(VENV)/dev
	$(BIN)/python -m pip install -q --group docs
	@touch $@

demo: $(VENV)/report
	@$(BIN)/toplist demo

# Cases are drawn by their names: the same ones every time.
SOME := --cases 3

test: $(VENV)/dev
	$(PYTEST) $(SOME)

test-all: $(VENV)/dev
	$(PYTEST)

# What only reads or prints does not know which kernel there is.
PURE := $(filter-out tests/io tests/transcripts tests/engines tests/cli tests/report tests/simulations tests/studies tests/__%,$(wildcard tests/*))
test-pure: $(VENV)/dev
	TOPLIST_PURE_PYTHON=1 $(PYTEST) $(SOME) --ignore=tests/multilabel/estimators --ignore=tests/integrations/torch --ignore=tests/integrations/jax $(PURE)

golden: $(VENV)/dev
	$(PYTEST) tests/golden tests/transcripts

faults: $(VENV)/dev
	$(BIN)/python -m tests.faults

# Tests of Hypothesis alone, each with 1,000 examples or in proportion, and the whole table of ways to write a file.
thorough: $(VENV)/dev
	$(PYTEST) -m hypothesis --hypothesis-profile thorough tests
	$(PYTEST) --hypothesis-profile thorough tests/io/recognition

bench: $(VENV)/dev
	@$(BIN)/python -m benchmarks

oracle: $(VENV)/dev
	$(BIN)/python -m tests.oracle.million
	$(BIN)/python -m tests.oracle.truncated
	$(BIN)/python -m tests.oracle.ordered
	$(BIN)/python -m tests.oracle.rounded
	$(BIN)/python -m tests.scoring.topbeta.grids

mutations: $(VENV)/dev
	$(BIN)/python -m tests.io.mutations --count 1000

simulate: $(VENV)/dev
	$(BIN)/python -m simulations --write docs/coverage.md

simulate-gate: $(VENV)/dev
	OMP_NUM_THREADS=1 $(BIN)/python -m simulations.gate --write docs/gate.md

lint: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.package.docstrings

docs: $(VENV)/docs
	$(BIN)/python docs/tree.py
	$(BIN)/python docs/pictures.py
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) build docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
