# Everything is set up in .venv here; nothing of the machine's own Python is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check samples slow bench docs clean

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("fixaudit needs Python 3.11 or newer; set PYTHON=") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)          ## set up and run the main job on a sample
	$(BIN)/fixaudit demo

test: $(STAMP)          ## set up and pass the tests
	$(BIN)/pytest -n auto
	$(BIN)/fixaudit test

check: $(STAMP)         ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

samples: $(STAMP)       ## install, start and call the samples before and after fixing (needs node, npm, the network)
	$(BIN)/python tests/start_samples.py

slow: $(STAMP)          ## suites that take minutes: real pre-commit, long fuzzing, mutation of rules
	$(BIN)/pytest -m slow
	$(BIN)/fixaudit test --mutate

bench: $(STAMP)         ## ratios to peers in one run; see benchmarks/README.md
	$(BIN)/python benchmarks/run.py

docs: $(STAMP)          ## write what is generated: schemas
	$(BIN)/python -m fixaudit.rulebook.schema
	$(BIN)/python -m fixaudit.configuration

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
