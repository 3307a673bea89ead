# The developer's commands. They need make and Python 3.11 to 3.13; everything else goes into .venv.

# Tried from left to right; name your own with make PYTHON=/path/to/python3.12 run
PYTHON ?= python3 python3.13 python3.12 python3.11
# Handed on: to pytest by test, to the benchmarks by bench, to uv by lock
ARGS ?=

IN_VENV := .venv/bin/python
FITS := import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
INSTALL := $(IN_VENV) -m pip install --quiet --quiet --disable-pip-version-check --no-input \
	--require-hashes --no-deps --only-binary :all: -r
COMPILE := $(IN_VENV) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header $(ARGS) pyproject.toml

# A .venv whose Python is gone or of another version was not made: without its stamps it is made anew.
ifneq ($(wildcard .venv/.base .venv/.dev),)
STALE := $(shell $(IN_VENV) -c '$(FITS)' >/dev/null 2>&1 || rm -f .venv/.base .venv/.dev)
endif

.PHONY: help run test test-all check fix bench bench-search lock clean clean-data
.DEFAULT_GOAL := help

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

run: .venv/.base ## Set up what is missing and serve on PORT (8000); Ctrl-C stops everything
	@exec $(IN_VENV) manage.py start

test: .venv/.suite ## Run the suite on SQLite, and what databases differ in on PostgreSQL; ARGS go to pytest
	@exec $(IN_VENV) -m tests.run $(ARGS)

test-all: .venv/.suite ## Run everything at length, nightly and before a release: both databases whole, chaos, releases
	@exec $(IN_VENV) -m tests.run --all $(ARGS)

chaos: .venv/.dev ## Kill processes under keyed writes for long; ARGS="--seed 7 --points 40 --writes 2500"
	@exec $(IN_VENV) -m tests.chaos $(ARGS)

check: .venv/.dev ## Run what CI runs beside the tests: lint, types, imports, drift; changes nothing
	@exec $(IN_VENV) -m tests.check

fix: .venv/.dev ## Mend what ruff can mend, format, write the generated docs anew
	@$(IN_VENV) -m ruff check --fix; status=$$?; $(IN_VENV) -m ruff format && $(IN_VENV) manage.py docs && exit $$status

bench: .venv/.dev ## Measure, print a table and write var/bench.json; ARGS choose what
	@exec $(IN_VENV) -m benchmarks.run $(ARGS)

bench-search: .venv/.dev ## Measure search on a set of tools and requests: EVALS=folder
	@if [ -z "$(EVALS)" ]; then echo "Name a folder that holds tools.jsonl and queries.jsonl (benchmarks/search.py says" \
		"what is in them): make bench-search EVALS=path/to/folder" >&2; exit 2; fi
	@DJANGO_SETTINGS_MODULE=benchmarks.settings $(IN_VENV) manage.py bench_search "$(EVALS)"

lock: .venv/.dev ## Pin requirements/ anew from pyproject.toml; ARGS=--upgrade takes the newest versions
	@$(COMPILE) --output-file requirements/base.txt
	@$(COMPILE) --extra dev --constraint requirements/base.txt --output-file requirements/dev.txt

clean: ## Remove .venv and all caches; var/ stays
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -path ./var -prune -o -path ./.git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
	@echo "Kept var/ (the database, secrets and keys of make run); make clean-data removes it."

clean-data: ## Remove var/: the database, secrets and keys of make run
	@rm -rf var

.venv/.base: requirements/base.txt
	@$(make-venv)
	@echo "Installing requirements/base.txt into .venv"
	@$(INSTALL) requirements/base.txt
	@touch $@

# dev.txt holds every pin of base.txt (make check compares them), so base is installed with it.
.venv/.dev: requirements/base.txt requirements/dev.txt
	@$(make-venv)
	@echo "Installing requirements/dev.txt into .venv"
	@$(INSTALL) requirements/dev.txt
	@touch .venv/.base $@

# Cases that are not ours to ship. Where no package index can be reached the tests run without them; a sign of the
# fetch is left only where it succeeded, so that the next run tries again.
.venv/.suite: .venv/.dev requirements/suite.txt
	@if $(IN_VENV) -m tests.suite; then touch $@; fi

# Leaves a .venv that works as it is; one that was broken off or left behind by another Python is made from nothing.
define make-venv
if $(IN_VENV) -c '$(FITS)' 2>/dev/null && $(IN_VENV) -m pip --version >/dev/null 2>&1; then exit 0; fi; \
for python in $(PYTHON); do \
	if "$$python" -c '$(FITS)' 2>/dev/null; then \
		echo "Making .venv with $$("$$python" --version) ($$python)"; \
		rm -rf .venv && exec "$$python" -m venv .venv; \
	fi; \
done; \
echo "No Python 3.11 to 3.13 with venv was found (tried: $(PYTHON)). Install one, on Debian with python3-venv," \
	"or name it: make PYTHON=/path/to/python3.12 run" >&2; \
exit 1
endef
