# make demo      installs, tests two shipped models, then trains and tests a third (five minutes on two cores)
# make test      the tests that need no cluster, browser, object store or third-party trainer
# make test-all  the tests of `make test`, then all others, whose packages it installs (1.2 GB)
# make lint      linter, formatter, type checker, and two checkers of prose
# make check     lint and all tests: what continuous integration runs
# make docs      the documentation as a site in build/site; a broken link fails
# make fuzz      a search for inputs, moments and disks that break something, 30 minutes on two cores
# make bench     throughput figures
# make release   build and check what is uploaded, in dist/; needs Python 3.11, 3.12 and 3.13
# make clean     remove what make made
#
# Everything is installed into .venv, once; a second call installs nothing.

PYTHON ?= python3
BIN := .venv/bin

# Markers of the tests that `make test` leaves to `make test-all`.
LATER := browser or cluster or slow or store or trainer

RELEASE_TOOLS := build==1.6.1 check-wheel-contents==0.6.3 cyclonedx-bom==7.5.0 twine==7.0.0

.PHONY: demo test test-all lint check docs fuzz bench release clean

demo: .venv/installed
	$(BIN)/python -m logicgen.cli.main demo

test: .venv/installed-dev
	$(BIN)/python -m pytest -m 'not ($(LATER))'

test-all: test .venv/installed-all
	$(BIN)/python -m pytest -m '$(LATER)'

lint: .venv/installed-dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m tests.prose
	$(BIN)/proselint check --config .proselintrc.json README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/tasks/*.md

check: lint test-all

docs: .venv/installed-docs
	$(BIN)/python -m mkdocs build --strict

# A piece of it: make fuzz FUZZ='--minutes 2 --only kill'.
fuzz: .venv/installed-dev
	$(BIN)/python -m tests.reliability.fuzz $(FUZZ)

bench: .venv/installed
	$(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/ltl.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/methods.py
	$(BIN)/python benchmarks/decoding.py
	$(BIN)/python benchmarks/automata.py
	$(BIN)/python benchmarks/language.py
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/acceptance.py
	$(BIN)/python benchmarks/report.py

release: .venv/release
	.venv/release/bin/python -m tests.release

.venv/bin/python:
	$(if $(shell $(PYTHON) -c 'import sys; print((3, 11) <= sys.version_info[:2] < (3, 14) or "")'),, \
	  $(error logicgen needs Python 3.11 to 3.13: make PYTHON=python3.12 ...))
	$(PYTHON) -m venv .venv

INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	@echo 'Installing PyTorch and what trains, draws and evaluates (1.5 GB) into .venv ...'
	$(INSTALL) --editable '.[train]'
	@touch $@

.venv/installed-dev: .venv/installed
	@echo 'Installing what the tests need (400 MB) into .venv ...'
	$(INSTALL) --editable '.[dev,test]'
	@touch $@

.venv/installed-all: .venv/installed-dev
	@echo 'Installing what make test-all needs: adapters, Ray, an S3 server, a browser (1.2 GB) into .venv ...'
	$(INSTALL) --editable '.[contracts,test-all]'
	$(INSTALL) --no-deps openrlhf verl
	@touch $@

.venv/installed-docs: .venv/installed
	@echo 'Installing what builds the documentation into .venv ...'
	$(INSTALL) --editable '.[docs]'
	@touch $@

# The tools need other versions of some packages than logicgen's own extras.
.venv/release: .venv/bin/python
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet $(RELEASE_TOOLS)

clean:
	rm -rf .venv build dist *.egg-info runs/demo
