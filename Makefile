# The commands people type. Each sets up what it needs in .venv; PYTHON may name another interpreter (3.11 or later).
PYTHON ?= python3
BIN := .venv/bin

.PHONY: reproduce test check unit programs bench docs clean

reproduce: .venv/ready  ## draw all figures of the paper, and check every claim, into figures/
	$(BIN)/astonish reproduce --out figures

test: check unit docs  ## everything that must hold

check: .venv/ready  ## lint, format, types, and who may import whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

unit: .venv/ready programs  ## tests, and the examples in docstrings, README and docs
	$(BIN)/pytest

programs:  ## a browser and Java, which some tests need: installed where they are missing and may be, or else skipped
	@sh tests/programs.sh

bench: .venv/ready  ## speed, as ratios against named rivals measured in the same run
	$(BIN)/python benchmarks/run.py

docs: .venv/ready  ## the site, into docs/_build/html: every example is run, and every link within it checked
	rm -rf docs/_build
	$(BIN)/sphinx-build -W --keep-going -q -j auto docs docs/_build/html

clean:
	rm -rf .venv figures docs/_build

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "astonish needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all]" --group dev
	touch $@
