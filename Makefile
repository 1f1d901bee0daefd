# make help: what there is. Every target makes its environment first, and again when pyproject.toml has changed.
PYTHON ?= python3
BIN := .venv/bin
DOCS := .venv-docs/bin
LOWEST := .venv-lowest/bin

.PHONY: help setup test test-models test-proofs test-scale test-shells test-browser test-notebook test-packaging test-lowest docs pages screenshots api bench mutants
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

setup: $(BIN)/.installed ## make the environment .venv

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

test: setup ## all tests that `pytest` runs: the fast tier, and the README's test line
	$(BIN)/python -m pytest -n auto --dist loadfile

test-models: setup ## the tests that need torch and transformers
	$(BIN)/pip install --quiet --editable '.[torch,gguf]'
	$(BIN)/python -m pytest tests/models tests/foreign tests/testing tests/test_rules.py tests/acceptance/test_batches.py
	$(BIN)/python -m pytest -n auto -m slow tests/foreign
	$(BIN)/python -m pytest tests/documents -k 'empirical or inspect or precision'

test-proofs: setup ## build and recheck the Rocq proofs (needs coq and mathcomp)
	$(MAKE) -C proofs/rocq -j2
	$(MAKE) -C proofs/rocq assumptions
	$(MAKE) -C proofs/rocq coqchk
	$(MAKE) -C proofs/rocq mutants
	$(BIN)/python -m pytest -n auto -m slow tests/test_certificates.py tests/test_certificate_kinds.py tests/test_proofs.py

test-shells: setup ## completion in bash, zsh and fish (what is not installed is skipped)
	$(BIN)/python -m pytest tests/test_terminal.py -k 'completes or other_shells'

test-browser: setup ## the HTML reports in a headless chromium (needs one: apt-get install chromium)
	$(BIN)/python -m pytest -m browser tests/browser

test-notebook: setup ## execute docs/tour.ipynb and compare what it shows
	$(BIN)/pip install --quiet --editable '.[notebook]'
	$(BIN)/python -m pytest -m notebook tests/html

screenshots: setup ## draw the screenshots in docs/how-to/pictures anew (needs a chromium)
	$(BIN)/python -m tests.browser.screenshots

test-packaging: setup ## build the wheel and the sdist, and use each in an empty environment
	$(BIN)/python -m pytest -m slow tests/packaging

test-lowest: ## the core with the oldest dependencies that are allowed (.ci/lowest.txt)
	$(PYTHON) -m venv .venv-lowest
	$(LOWEST)/pip install --quiet --editable '.[testing]' --constraint .ci/lowest.txt
	$(LOWEST)/python -m pytest tests/test_engines.py tests/test_rules.py tests/test_model_files.py tests/test_terminal.py \
	  tests/decoders tests/acceptance/test_optimal_acceptance.py

docs: ## the documentation, warnings as errors, and its links: docs/_build/html
	$(PYTHON) -m venv .venv-docs
	$(DOCS)/pip install --quiet --editable '.[docs]'
	$(DOCS)/python -m sphinx -q -W --keep-going -E -b html docs docs/_build/html
	$(DOCS)/python docs/check_site.py docs/_build/html

pages: setup ## write what is generated and committed: claims, proofs, pictures, the example transcript
	$(BIN)/python -m proofs.pages
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/how-to/transcript.py

api: setup ## renew tests/public_api.txt, the list of public names
	$(BIN)/python -m tests.public_api

test-scale: setup ## work in pieces on a Dask cluster of two workers, one of them killed
	$(BIN)/pip install --quiet --editable '.[dask]'
	$(BIN)/python -m pytest -m slow tests/test_dask.py

bench: setup ## the benchmarks of the exact engine, as ratios within one run
	$(BIN)/pip install --quiet --editable '.[torch]'
	$(BIN)/python -m benchmarks

mutants: setup ## mutation testing of the core with mutmut (an hour or so; not part of CI)
	$(BIN)/pip install --quiet 'mutmut>=3'
	$(BIN)/mutmut run
	$(BIN)/mutmut results
