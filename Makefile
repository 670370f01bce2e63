# The commands people type. Each sets up what it needs in .venv; PYTHON may name another interpreter (3.11 or later).
PYTHON ?= python3
# The versions that are installed: `CONSTRAINTS=` takes the newest, `CONSTRAINTS=lowest.txt` the lowest that are allowed.
CONSTRAINTS ?= constraints.txt
BIN := .venv/bin
# Compiles in half the time what is slower to run, and keeps it with what the tests have compiled; for programs that run once.
QUICK = JAX_DISABLE_MOST_OPTIMIZATIONS=1 XLA_FLAGS="$$($(BIN)/python -m tests.jax_versions)" \
	JAX_COMPILATION_CACHE_DIR=$(CURDIR)/.pytest_cache/jax JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 \
	JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1
CONTRACTS = architecture bank beliefs engines fit interpreter learners measures native people_commands properties requests \
	series_and_stream trials
INSTALL = $(BIN)/python -m pip install --quiet $(addprefix --constraint ,$(CONSTRAINTS)) --editable

.DEFAULT_GOAL := help
.PHONY: help reproduce test quick contracts check unit smoke programs bench hostile docs package verdicts validate clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "CONSTRAINTS=FILE names the versions to install, instead of constraints.txt; CONSTRAINTS= takes the newest"

reproduce: .venv/user  ## draw all figures of the paper, and check every claim, into figures/
	$(BIN)/astonish reproduce --out figures

test: .venv/ready  ## everything that must hold: check, smoke, docs and unit
	$(MAKE) --no-print-directory --jobs 2 check smoke
	$(MAKE) --no-print-directory docs
	$(MAKE) --no-print-directory unit

quick: .venv/ready  ## what to run before a commit: check, and one case of every contract
	$(MAKE) --no-print-directory --jobs 2 check contracts

contracts: .venv/ready
	$(BIN)/pytest --first --dist worksteal $(patsubst %,tests/test_%.py,$(CONTRACTS))

check: .venv/ready  ## lint, format, types, and who may import whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

unit: .venv/ready  ## tests, and the examples in docstrings, README and docs
	@sh tests/programs.sh
	$(BIN)/pytest

smoke: .venv/ready  ## start every benchmark, validation and attack at its smallest size, without rivals
	$(QUICK) $(BIN)/python benchmarks/smoke.py

programs:  ## a browser and Java, which some tests need: installed where they are missing and may be, or else skipped
	@sh tests/programs.sh

bench: .venv/ready  ## speed, as ratios against named rivals measured in the same run
	$(BIN)/python benchmarks/run.py

hostile: .venv/ready  ## long attacks on all of it: steps, kills, flipped bits, requests, interruptions, threads
	$(BIN)/python hostile/main.py
	$(BIN)/pytest -m hostile tests

docs: .venv/ready  ## the site, into docs/_build/html: every example is run, and every link within it checked
	rm -rf docs/_build
	$(QUICK) $(BIN)/sphinx-build -W --keep-going -q -j auto docs docs/_build/html

package: .venv/ready  ## the wheel and the source, into dist/
	rm -rf dist
	$(BIN)/python -m build --quiet

verdicts: .venv/ready  ## the page "Does it reproduce?", from five seeds: more than an hour
	$(BIN)/astonish reproduce --thorough --out figures/thorough
	$(BIN)/python docs/verdicts.py figures/thorough

validate: .venv/ready  ## compare with published numbers and data that are not shipped, in folders of DATA
	$(BIN)/python -m validation.liakoni2021 --data $(DATA)/liakoni2021
	$(BIN)/python -m validation.ada_prob --data $(DATA)/ada_learn
	$(BIN)/python -m validation.squires1976 --data $(DATA)/squires1976
	$(BIN)/python -m validation.cbm_rl --data $(DATA)/cbm_rl
	$(BIN)/python -m validation.searches --data $(DATA)
	$(BIN)/python -m benchmarks.scores.nab_choice --data $(DATA)/nab
	ASTONISH_DATA=$(DATA) $(BIN)/pytest -m published

clean:  ## remove what these commands made
	rm -rf .venv lowest.txt figures dist docs/_build

.venv/made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "astonish needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	touch $@

.venv/user: .venv/made pyproject.toml $(CONSTRAINTS)
	$(INSTALL) ".[cli,frames,plots]"
	touch $@

.venv/ready: .venv/made pyproject.toml $(CONSTRAINTS)
	$(INSTALL) ".[all]" --group dev
	touch .venv/user $@

lowest.txt: .venv/made pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --all-extras --group dev pyproject.toml --output-file $@
