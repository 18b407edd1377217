# `make demo` and `make test` need git, make and a Python from 3.12 to 3.14, and nothing else: the
# first target that needs it makes .venv and installs requirements.lock into it. See `make help`.

PY := .venv/bin/python
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint format types layers docs wheel smoke check lock bench clean FORCE

help: ## say what the targets do
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

setup: $(STAMP) ## make .venv and install the locked packages

# The stamp holds the folder that it was made for: a moved or copied tree installs afresh.
ifneq "$(shell cat $(STAMP) 2>/dev/null)" "$(CURDIR)"
$(STAMP): FORCE
endif
$(STAMP): requirements.lock pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh

demo: $(STAMP) ## from real failure logs to a forecast, with a report in out/
	.venv/bin/meantime demo --output out

test: $(STAMP) ## run the tests on all cores; PYTEST_ARGS="-m 'not slow'" leaves the slow ones out
	$(PY) -m pytest -n auto $(PYTEST_ARGS)

lint: $(STAMP) ## ruff: rules and format
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: $(STAMP) ## let ruff put the format right
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: $(STAMP) ## mypy
	$(PY) -m mypy

layers: $(STAMP) ## import-linter: who may import whom
	.venv/bin/lint-imports

docs: $(STAMP) ## build docs/_build/html, running every example; a warning is an error
	rm -rf docs/_build docs/reference/generated
	$(PY) -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html

wheel: $(STAMP) ## build the sdist, and from it the wheel, in dist/
	rm -rf dist
	$(PY) -m build --no-isolation --outdir dist .

smoke: wheel ## install the wheel in a clean environment and use it from outside the tree
	sh scripts/smoke.sh

check: lint types layers test docs smoke ## everything that .ci/run checks

# All extras but spark: pyspark is a source package of 450 MB, which only its own tests need (see .ci/run).
LOCKED := nutpie dask dev docs

lock: $(STAMP) ## resolve requirements.lock anew; LOCK_ARGS=--upgrade takes newer versions
	$(PY) -m uv pip compile pyproject.toml $(LOCKED:%=--extra %) --universal --python-version 3.12 --generate-hashes \
		--strip-extras --no-emit-index-url --custom-compile-command "make lock" --quiet \
		--output-file requirements.lock $(LOCK_ARGS)

bench: $(STAMP) ## run the benchmarks and print their figures
	@for script in benchmarks/[!_]*.py; do echo "== $$script"; $(PY) "$$script" || exit 1; done

clean: ## remove what was built, but not .venv
	rm -rf out dist build docs/_build docs/reference/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find meantime tests docs benchmarks scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
