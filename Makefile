# Each target sets up what it needs by itself; demo and test need Python 3.11 or newer, make and git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TYPES := .cache/types/tokeneconomizer
PACKAGES := console domain hosts projections scheduler writers
DEMO_FLAGS ?=
SMOKE_LEDGER ?= 1
AGENTS_FLAGS ?=
BENCH_FLAGS ?=
SOAK_FLAGS ?= --faults 100000

.PHONY: help setup demo test check format test-agents bench soak lock clean

help: ## Show the targets.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(INSTALLED) ## Make .venv with te in it.
	@echo "te is ready: $(BIN)/te --help"

# uv when it is here and reaches its index, else pip; both install what uv.lock pins.
$(INSTALLED): pyproject.toml uv.lock requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11: name a newer one, as in make PYTHON=python3.11"; exit 1; }
	@if command -v uv >/dev/null 2>&1 && \
	  UV_PYTHON_DOWNLOADS=never uv sync --quiet --frozen --python "$$(command -v $(PYTHON))"; then :; else \
	  echo "installing with pip"; \
	  $(PYTHON) -m venv --clear $(VENV) && \
	  export PIP_DISABLE_PIP_VERSION_CHECK=1 && $(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-dev.txt && \
	  $(BIN)/python -m pip install --quiet --no-deps --editable .; fi
	@touch $@

demo: $(INSTALLED) ## Show the main job on a recorded session (DEMO_FLAGS=--fast: without pauses).
	@$(BIN)/te demo $(DEMO_FLAGS)

test: $(INSTALLED) ## Run the tests.
	@$(BIN)/pytest --numprocesses 2

$(TYPES):
	@mkdir -p $(dir $@) && ln -sfn ../.. $@

check: $(INSTALLED) $(TYPES) ## Check style, types and imports.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy $(addprefix -p tokeneconomizer.,$(PACKAGES))
	@$(BIN)/lint-imports --no-cache

format: $(INSTALLED) ## Format the code.
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

test-agents: $(INSTALLED) ## Run the real Claude Code, Codex, Copilot CLI, Pi and opencode on scripted models (needs npm).
	@TOKENECONOMIZER_SMOKE_LEDGER=$(SMOKE_LEDGER) $(BIN)/pytest -m agents tests/agents -p no:randomly \
	  --numprocesses 2 --dist worksteal $(AGENTS_FLAGS)

bench: $(INSTALLED) ## Measure, as ratios within one run.
	@$(BIN)/python tests/bench/run.py $(BENCH_FLAGS)

soak: $(INSTALLED) ## Simulate agents, faults and restarts for long (SOAK_FLAGS="--faults N --seed N").
	@$(BIN)/python tests/faults/soak_links.py
	@$(BIN)/python tests/faults/soak_processes.py
	@$(BIN)/python tests/faults/soak.py $(SOAK_FLAGS)

lock: ## Pin the newest allowed versions (needs uv).
	uv lock --upgrade
	uv export --quiet --frozen --no-emit-project --format requirements-txt --output-file requirements-dev.txt

clean: ## Remove what the targets made.
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build *.egg-info
