# Pyroclast: `make demo` runs the main job, `make test` passes the tests; `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYROCLAST_HOME ?= .pyroclast
export PYROCLAST_HOME

.DEFAULT_GOAL := help
.PHONY: help demo up stack stack-down status test coverage e2e prove prove-schema prove-remedies prove-chaos prove-containment prove-tenant prove-overload compare-engines support-matrix check lint types imports fix parts acls compose manifests audit bench bench-scheduler bench-cluster bench-overload clean install

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

# A new service needs another installation: its command and its path are found by hatch_build.py.
$(STAMP): pyproject.toml constraints.txt hatch_build.py $(wildcard services/*/vc/*/__main__.py)
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Pyroclast needs Python 3.11 or newer; this is %d.%d. Set PYTHON=/path/to/python3.11." % sys.version_info[:2])'
	@echo "installing into $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(STAMP) ## create .venv and install

demo: $(STAMP) ## run the example jobs on the embedded cluster, show them, exit 0 when all completed
	@$(BIN)/pyroclast demo

up: $(STAMP) ## start the embedded stack and keep it up; Ctrl-C stops it
	@$(BIN)/pyroclast up

stack: $(STAMP) ## each service in its own process on real Kafka and Redis; CLUSTER=kubernetes for a real API server
	@$(BIN)/pyroclast stack

stack-down: $(STAMP) ## stop what `make stack` started
	@$(BIN)/pyroclast stack-down

status: $(STAMP) ## show each process of the stack: health, memory, lag, event age
	@$(BIN)/pyroclast status

test: $(STAMP) ## run the tests; parts that are absent are skipped with a sentence
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal --ignore tests/e2e $(PYTEST_ARGS)

coverage: $(STAMP) ## lines and branches that unit tests, properties and simulations run (report in htmlcov)
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal --cov --cov-report term:skip-covered --cov-report html \
	  $(or $(COVERED),tests/unit tests/properties tests/simulation) $(PYTEST_ARGS)

e2e: $(STAMP) ## hurt the real stack: kills, pauses, outages (PYROCLAST_E2E=full for the whole counts)
	@$(BIN)/python -m pytest -s tests/e2e $(PYTEST_ARGS)

prove: prove-schema prove-remedies prove-chaos prove-containment prove-tenant prove-overload ## run all proofs, ten minutes each where no SEEDS are given (samples of them run with the tests)

prove-remedies: $(STAMP) ## random waiting jobs: what explain proposes starts each of them (SEEDS=from-to; 0-2999 have 10,000 jobs)
	@$(BIN)/python -m tests.proofs.remedies $(ARGS)

prove-chaos: $(STAMP) ## random histories of deaths, losses and faults: every job completes once (SEEDS=from-to)
	@$(BIN)/python -m tests.proofs.chaos $(ARGS)

prove-containment: $(STAMP) ## 1,000,000 odd inputs at every boundary: none stops a service (SEEDS=from-to)
	@$(BIN)/python -m tests.proofs.containment $(ARGS)

prove-tenant: $(STAMP) ## random objects of a hostile tenant: the jobs of others start all the same (SEEDS=from-to)
	@$(BIN)/python -m tests.proofs.tenant $(ARGS)

prove-overload: $(STAMP) ## slow API servers (SEEDS=from-to), then real servers with 25 and 67 % of the CPU taken (BASE=commit)
	@$(BIN)/python -m tests.proofs.overload $(ARGS)
	@$(BIN)/python -m bench.bench_overload $(if $(BASE),--base $(BASE))

compare-engines: $(STAMP) ## the engine of the checkout OLD against this one, on 20,000 random clusters (SEEDS=from-to)
	@$(BIN)/python -m tests.proofs.engine_comparison $(OLD) $(NEW) $(if $(SEEDS),--seeds $(SEEDS)) $(ARGS)

prove-schema: $(STAMP) ## every field, annotation and configuration key has the answer that the support table gives it
	@PYROCLAST_PROVE=full $(BIN)/python -m pytest -q tests/unit/support $(PYTEST_ARGS)

support-matrix: $(STAMP) ## write docs/support-matrix.md from the support table
	@$(BIN)/python -m vc.model.support > docs/support-matrix.md

check: lint types imports ## ruff, mypy --strict, import-linter

lint: $(STAMP) ## format and lint rules of ruff
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

# mypy expands no wildcards in mypy_path, and each service is a path of its own.
types: $(STAMP) ## mypy --strict
	@MYPYPATH=$$(echo services/* | tr ' ' ':') $(BIN)/mypy libs services tests bench

imports: $(STAMP) ## layer contracts of import-linter
	@$(BIN)/lint-imports --no-logo

fix: $(STAMP) ## let ruff repair what it can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

parts: $(STAMP) ## get the real servers for the tests: Kafka, Redis, kube-apiserver, Jaeger (minutes, cached)
	@$(BIN)/python -m vc.parts get

acls: $(STAMP) ## write the chart's ACLs of Kafka and Redis from the access table
	@mkdir -p deploy/helm/pyroclast/acls
	@$(BIN)/pyroclast acls kafka --prefix TOPIC_PREFIX > deploy/helm/pyroclast/acls/kafka-acls.sh
	@$(BIN)/pyroclast acls redis > deploy/helm/pyroclast/acls/users.acl

compose: $(STAMP) ## write the services of docker-compose.yml from the table of services
	@$(BIN)/python -m tests.architecture.compose_services > .docker-compose.new && mv .docker-compose.new docker-compose.yml

manifests: $(STAMP) ## render the Helm chart to deploy/manifests, for people without Helm
	@$$($(BIN)/python -c 'from vc.parts import obtain; print(obtain("helm").path)') template volcano deploy/helm/pyroclast \
	  --namespace volcano-system --kube-version 1.30.0 > deploy/manifests/pyroclast.yaml

audit: $(STAMP) ## known vulnerabilities of the exact versions, where an index of them can be reached
	@test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)/audit && \
	  $(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; }
	@$(VENV)/audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --strict \
	  --progress-spinner off > $(VENV)/audit/report 2>&1; code=$$?; \
	if grep -qE 'not found on PyPI|ConnectionError' $(VENV)/audit/report; \
	then echo "nothing was checked: no index of vulnerabilities can be reached from here"; \
	else cat $(VENV)/audit/report; exit $$code; fi

bench: $(STAMP) ## measure; tables here, JSON in bench/results
	@$(BIN)/python -m bench

bench-scheduler: $(STAMP) ## sessions at 100 to 10,000 nodes, and how long the event loop stands still
	@$(BIN)/python -m bench.bench_scheduler 100 1000 5000 10000
	@$(BIN)/python -m bench.bench_loop_lag

bench-cluster: $(STAMP) ## measure any cluster with vcjobs: ARGS='--kubeconfig FILE …'; --help lists the rest
	@$(BIN)/python -m bench.cluster $(ARGS)

bench-overload: $(STAMP) ## beside processes that take 25 and 67 % of the CPU; BASE=commit measures its quiet time too
	@$(BIN)/python -m bench.bench_overload $(if $(BASE),--base $(BASE)) $(ARGS)

clean: ## remove what make made in this folder
	rm -rf $(VENV) $(PYROCLAST_HOME) bench/results .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage htmlcov build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
