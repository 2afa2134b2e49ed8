# Every target makes its own environment: nothing to do by hand on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow attack lint format bench reproduce clean

demo: $(VENV)/ready-demo
	$(BIN)/python examples/demo.py

# Compiled code is made once, before the workers that share it start. BLAS on one thread:
# there is a worker for every core. Bytecode is kept, whatever the user's settings: half
# of the time to collect tests would go into compiling them.
test test-slow attack: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/ready-test
	$(BIN)/python -m tests.warm_up
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -n 2 --dist worksteal

# What is marked slow, and properties on five times as many examples.
test-slow: $(VENV)/ready-test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 SORCT_TEST_EXAMPLES=5 \
	  $(BIN)/python -m pytest -m "slow or hypothesis" -n 2 --dist worksteal

# Seeded and bounded; `python -m tests.attacks --help` for parts and single cases.
attack: $(VENV)/ready-test
	$(BIN)/python -m tests.warm_up
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.attacks

lint: $(VENV)/ready-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/ready-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/ready-bench
	$(BIN)/python -m benchmarks.run

reproduce: $(VENV)/ready-reproduce
	$(BIN)/python -m experiments.run
	$(BIN)/python -m experiments.frontier --n-jobs 2
	$(BIN)/python -m experiments.regression
	$(BIN)/python -m experiments.forests
	$(BIN)/python -m experiments.fresh

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# One marker per set of extras; a changed pyproject.toml installs again.
$(VENV)/ready-demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/ready-%: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
