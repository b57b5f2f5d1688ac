# plugin_host: needs python3 (3.11 or newer) and make. Another interpreter: make run PYTHON=python3.12
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore $(PY) -m pip --quiet
BASE := $(VENV)/installed-base
TEST := $(VENV)/installed-test

.PHONY: run test lint bench docs docs-check clean
.DELETE_ON_ERROR:

# Start the terminal chat with the built-in dice and the offline demo model; whoever sits here is the master.
run: $(BASE)
	@$(VENV)/bin/plugin-host chat --master $(ARGS)

# The whole test suite; make test ARGS="-k config"
test: $(TEST)
	@$(PY) -m pytest $(ARGS)

lint: $(TEST)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

# Every benchmark, one after another; make bench ARGS=--quick
bench: $(TEST)
	@set -e; for file in bench/*.py; do [ -f "$$file" ] || continue; echo "== $$file"; $(PY) "$$file" $(ARGS); done

# Write the generated documents (and config.yaml) anew.
docs: $(BASE)
	@$(PY) -m plugin_host.config.reference
	@$(PY) -m plugin_host.manual

docs-check: $(BASE)
	@$(PY) -m plugin_host.config.reference --check
	@$(PY) -m plugin_host.manual --check
	@echo "docs: up to date"

# Remove what can be made again; the bot's data/ stays.
clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@command -v "$(PYTHON)" >/dev/null || { echo "没有找到 $(PYTHON)。请先安装 Python 3.11 或更新的版本。($(PYTHON) not found: install Python 3.11 or newer.)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "需要 Python 3.11 或更新的版本，这里的 $(PYTHON) 是 $$("$(PYTHON)" -V 2>&1)。可以写：make $(MAKECMDGOALS) PYTHON=python3.12 (Python 3.11 or newer is needed.)" >&2; exit 1; }
	@echo "preparing $(VENV) ..."
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "建不了虚拟环境。Debian / Ubuntu 上先装 python3-venv。(Could not create a virtual environment; on Debian or Ubuntu install python3-venv.)" >&2; exit 1; }

# Stamps: nothing is installed again unless pyproject.toml changed. The interpreter's own time does not matter.
$(BASE): pyproject.toml | $(PY)
	@echo "installing plugin-host ..."
	@$(PIP) install -e .
	@touch $@

$(TEST): pyproject.toml | $(PY)
	@echo "installing plugin-host with the test extras ..."
	@$(PIP) install -e '.[test]'
	@touch $@ $(BASE)
