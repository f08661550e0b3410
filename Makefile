# Every command a user or developer of Benchlab needs. `make` alone lists them.

PYTHON ?= python3
REPORT ?= sysbench_local
ARGS ?=
PYTEST_ARGS ?=
export PYTHON REPORT
# Each task is a process; where this is set, each would compile Benchlab anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo up down test test-long check format lock bench study soak docs pictures clean

help: ## List these commands
	@sed -n 's/^\([a-z][a-z-]*\):.* ## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## Install what Benchlab needs: Debian packages, .venv, database servers
	@bin/setup packages requirements benchlab servers

setup-dev: setup
	@bin/setup test-packages celery-requirements logins test-requirements

demo: setup ## Compare two database releases on this machine (REPORT=sysbench_local ARGS=...)
	@.venv/bin/python -m benchlab_airflow.local.demo $(REPORT) $(ARGS)

up: setup ## Start the Airflow UI and scheduler on this machine, in the background
	@.venv/bin/python -m benchlab_airflow.local.services up

down: ## End what `make up` started
	@.venv/bin/python -m benchlab_airflow.local.services down

test: setup-dev ## Run the checks and all tests (PYTEST_ARGS=... is passed to pytest)
	@bin/check
	@.venv/bin/python -m tests.layers $(PYTEST_ARGS)

test-long: setup-dev ## The same with the long tests, and the core's tests with Python 3.13
	@bin/check
	@.venv/bin/python -m tests.layers --long $(PYTEST_ARGS)
	@bin/test-python 3.13

check: setup-dev ## Formatting, lint, types, dead code, import rules, configurations, generated files, secrets
	@bin/check

format: setup-dev ## Format the code and repair what ruff can repair
	@.venv/bin/ruff format
	@.venv/bin/ruff check --fix

lock: setup-dev ## Compile requirements*.in into pinned and hashed requirements*.txt (UPGRADE=1 for newer)
	@bin/lock $(if $(UPGRADE),--upgrade)

bench: setup-dev ## Measure Benchlab's own speed; writes build/bench
	@.venv/bin/python -m tools.bench $(ARGS)

study: setup-dev ## Simulate what the verdicts and the long view promise; writes build/study
	@.venv/bin/python -m tools.study

soak: setup-dev ## Run 50 local campaigns and 200 simulated fleets, and name what they leave behind
	@.venv/bin/python -m tools.soak $(ARGS)

docs: setup ## Write docs/RELIABILITY.md, and the pages of all DAGs and published plans into build/docs
	@.venv/bin/python -m tools.docs

pictures: setup-dev ## Renew the pictures in docs/pictures, of pages of a made-up team
	@BENCHLAB_SCREENSHOTS=$(CURDIR)/docs/pictures .venv/bin/python -m pytest tests/browser -k pictures

clean: ## Remove .venv, stamps and caches; results and database servers in .benchlab stay
	@rm -rf .venv .benchlab/stamps* .benchlab/python-* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .kingfisher_cache .hypothesis build
	@find . -name __pycache__ -prune -exec rm -rf {} +
	@find . -name '*.egg-info' -prune -exec rm -rf {} +
