# make test   set up and run all tests that `pytest` runs (the README's test line)
# make bench  the benchmarks of the exact engine, as ratios within one run
# make mutants  mutation testing of the core with mutmut (an hour or so; not part of CI)
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup test bench mutants
setup: $(BIN)/.installed

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

test: setup
	$(BIN)/python -m pytest -n auto

bench: setup
	$(BIN)/python -m benchmarks

mutants: setup
	$(BIN)/pip install --quiet 'mutmut>=3'
	$(BIN)/mutmut run
	$(BIN)/mutmut results
