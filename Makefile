# make test   set up and run all tests that `pytest` runs (the README's test line)
# make test-models  the tests that need torch and transformers
# make test-proofs  build and recheck the Rocq proofs (needs coq and mathcomp)
# make bench  the benchmarks of the exact engine, as ratios within one run
# make mutants  mutation testing of the core with mutmut (an hour or so; not part of CI)
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup test test-models test-proofs bench mutants
setup: $(BIN)/.installed

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

test: setup
	$(BIN)/python -m pytest -n auto

test-models: setup
	$(BIN)/pip install --quiet --editable '.[torch,gguf]'
	$(BIN)/python -m pytest tests/models tests/foreign tests/testing tests/test_rules.py tests/acceptance/test_batches.py

test-proofs: setup
	$(MAKE) -C proofs/rocq -j2
	$(MAKE) -C proofs/rocq assumptions
	$(MAKE) -C proofs/rocq coqchk
	$(MAKE) -C proofs/rocq mutants
	$(BIN)/python -m pytest -m slow tests/test_certificates.py tests/test_proofs.py

bench: setup
	$(BIN)/pip install --quiet --editable '.[torch]'
	$(BIN)/python -m benchmarks

mutants: setup
	$(BIN)/pip install --quiet 'mutmut>=3'
	$(BIN)/mutmut run
	$(BIN)/mutmut results
