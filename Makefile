# The developer's commands. They need make and Python 3.11 to 3.13; everything else goes into .venv.

# Tried from left to right. To use another one: make PYTHON=/path/to/python3.12 run
PYTHON ?= python3 python3.13 python3.12 python3.11
# Extra arguments: for pytest in test, the benchmarks in bench, the duration in soak, uv in lock
ARGS ?=

IN_VENV := .venv/bin/python
FITS := import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
INSTALL := $(IN_VENV) -m pip install --quiet --quiet --disable-pip-version-check --no-input \
	--require-hashes --no-deps --only-binary :all: -r
COMPILE := $(IN_VENV) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header $(ARGS)
PEERS := fastmcp contextforge litellm

# If the Python of .venv is missing or of another version, remove the stamp files so that .venv is created again.
ifneq ($(wildcard .venv/.base .venv/.dev),)
STALE := $(shell $(IN_VENV) -c '$(FITS)' >/dev/null 2>&1 || rm -f .venv/.base .venv/.dev)
endif

.PHONY: help run test test-all chaos conformance check fix docs changelog bench bench-peers bench-search soak lock clean clean-data
.DEFAULT_GOAL := help

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

run: .venv/.base ## Install what is missing and serve on PORT (8000); Ctrl-C stops everything
	@exec $(IN_VENV) manage.py start

test: .venv/.suite ## Run the suite on SQLite and the marked tests on PostgreSQL; ARGS go to pytest
	@exec $(IN_VENV) -m tools.run_tests $(ARGS)

test-all: .venv/.suite ## Run all tests on both databases, chaos, changing releases, small benchmarks, conformance; nightly and before a release
	@exec $(IN_VENV) -m tools.run_tests --all $(ARGS)

chaos: .venv/.dev ## Kill processes during 100,000 keyed writes; ARGS="--seed 7 --points 40 --writes 2500"
	@exec $(IN_VENV) -m tools.chaos $(ARGS)

conformance: .venv/.dev ## Run the official conformance suite of MCP against a gateway; needs npm
	@exec $(IN_VENV) -m tools.conformance

check: .venv/.dev ## Check lint, types, imports and generated files, as CI does; changes nothing
	@exec $(IN_VENV) -m tools.check

fix: .venv/.dev ## Fix lint, format the code and regenerate the docs
	@$(IN_VENV) -m ruff check --fix; status=$$?; $(IN_VENV) -m ruff format && $(IN_VENV) manage.py docs && exit $$status

docs: .venv/.dev ## Build the site of docs/ with search in var/site
	@NO_MKDOCS_2_WARNING=1 $(IN_VENV) -m mkdocs build --strict && echo "Open var/site/index.html, or serve it:" \
		"$(IN_VENV) -m http.server --directory var/site"

changelog: .venv/.dev ## Show the changes that the next release will list, from the fragments in changelog.d/
	@exec $(IN_VENV) -m towncrier build --draft --version next

bench: .venv/.dev .venv/production/.base ## Run the benchmarks, print each figure and write var/bench.json; ARGS choose which
	@exec $(IN_VENV) -m benchmarks.run $(ARGS)

bench-peers: $(PEERS:%=.venv/peers/%/.installed) ## Install the gateways that bench compares with

bench-search: .venv/.dev ## Measure search on a set of tools and queries: EVALS=folder
	@if [ -z "$(EVALS)" ]; then echo "Name a folder with tools.jsonl and queries.jsonl (benchmarks/search.py describes" \
		"them): make bench-search EVALS=path/to/folder" >&2; exit 2; fi
	@DJANGO_SETTINGS_MODULE=benchmarks.settings $(IN_VENV) manage.py bench_search "$(EVALS)"

soak: .venv/.dev .venv/production/.base ## Send calls for half an hour, check memory, p99 and events; ARGS="--minutes 4"
	@exec $(IN_VENV) -m benchmarks.soak $(ARGS)

lock: .venv/.dev ## Update the pins in requirements/; ARGS=--upgrade takes the newest versions
	@$(COMPILE) pyproject.toml --output-file requirements/base.txt
	@$(COMPILE) pyproject.toml --extra dev --constraint requirements/base.txt --output-file requirements/dev.txt
	@for peer in $(PEERS); do $(COMPILE) requirements/peers/$$peer.in --output-file requirements/peers/$$peer.txt; done

clean: ## Remove .venv and all caches, but not var/
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

# dev.txt contains every pin of base.txt (make check compares them), so it installs base, too.
.venv/.dev: requirements/base.txt requirements/dev.txt
	@$(make-venv)
	@echo "Installing requirements/dev.txt into .venv"
	@$(INSTALL) requirements/dev.txt
	@touch .venv/.base $@

# The packages of production, for the servers of the benchmarks: development packages that others import if they are there
# would add 8 MB to each worker.
.venv/production/.base: requirements/base.txt .venv/.dev
	@$(IN_VENV) -m venv .venv/production
	@$(INSTALL:.venv/%=.venv/production/%) requirements/base.txt
	@touch $@

# Gateways that the benchmarks compare with, each in an environment of its own: their requirements exclude ours. The tests
# need none of them.
.venv/peers/%/.installed: requirements/peers/%.txt .venv/.dev
	@$(IN_VENV) -m venv .venv/peers/$*
	@echo "Installing $< into .venv/peers/$*"
	@$(INSTALL:.venv/%=.venv/peers/$*/%) $<
	@touch $@

# The JSON Schema Test Suite, which we do not ship. If no package index can be reached, the tests run without it. The
# stamp file is written only after a successful download, so that the next run tries again.
.venv/.suite: .venv/.dev requirements/suite.txt
	@if $(IN_VENV) -m tools.fetch_json_schema_suite; then touch $@; fi

# Keeps a working .venv. One that is incomplete or belongs to another Python is created again.
define make-venv
if $(IN_VENV) -c '$(FITS)' 2>/dev/null && $(IN_VENV) -m pip --version >/dev/null 2>&1; then exit 0; fi; \
for python in $(PYTHON); do \
	if "$$python" -c '$(FITS)' 2>/dev/null; then \
		echo "Creating .venv with $$("$$python" --version) ($$python)"; \
		rm -rf .venv && exec "$$python" -m venv .venv; \
	fi; \
done; \
echo "No Python 3.11 to 3.13 with venv was found (tried: $(PYTHON)). Install one, on Debian with python3-venv," \
	"or name it: make PYTHON=/path/to/python3.12 run" >&2; \
exit 1
endef
