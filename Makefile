# The two commands of the README, and the few others a contributor types.
# Everything happens in .venv; nothing else on the machine is changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv installs in a quarter of pip's time; a platform without it: make INSTALL='.venv/bin/pip install'
INSTALL ?= $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
# Only the tests need torch. It is installed first, on its own and by pip, which looks where its
# configuration says (uv does not): a build without CUDA is enough, and gigabytes smaller. To take it
# from PyTorch's own index: make test TORCH='torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu'
TORCH ?= torch==2.13.0
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Tests start many processes: what is compiled is kept, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test slow browser lint docs bench jar clean help

help:
	@echo "make demo    install the base package in .venv and run the main job on the bundled collection"
	@echo "make test    install everything in .venv and run the tests"
	@echo "make slow    the slow tests (with those of reports: make slow SLOW='slow or browser')"
	@echo "make browser the tests of reports in chromium (apt-get install chromium)"
	@echo "make lint    ruff, the type checker and the import layers"
	@echo "make docs    the documentation site, in site/; every link is checked"
	@echo "make bench   the benchmarks, against their peers, but those that take hours or collections"
	@echo "make jar     compile the Java bridge (needs a JDK)"
	@echo "make clean   remove .venv and caches"

demo: $(VENV)/.base
	$(BIN)/adducir demo

# Halves of the tests that lie together share what they make.
test: $(VENV)/.full
	$(BIN)/python -m pytest -m 'not slow and not browser' \
	  -n auto --maxprocesses 4 --dist worksteal

SLOW ?= slow
slow: $(VENV)/.full
	$(BIN)/python -m pytest -m '$(SLOW)' -n auto --maxprocesses 4 --dist worksteal

browser: $(VENV)/.all
	$(BIN)/python -m pytest -m browser tests/browser -n auto --maxprocesses 4 --dist worksteal

lint: $(VENV)/.full
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPY_NUM_WORKERS=2 $(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.all
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

bench: $(VENV)/.full
	@for each in startup.py "lucene.py index" "lucene.py index --engine memory --documents 300000" \
	  "lucene.py search" memory_search.py evaluation.py significance.py \
	  candidates.py beam.py "networks.py encoding" "networks.py reranking" \
	  "networks.py weighting" "spans.py speed" report.py; do \
	  echo "== $$each"; $(BIN)/python benchmarks/$$each || exit 1; done

jar: $(VENV)/.full
	$(BIN)/python java/compile.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# What "pip install ." brings: no Java, no torch.
$(VENV)/.base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Adducir needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=python3.11, say.") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) uv
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.full: $(VENV)/.base
	$(PIP) $(TORCH)
	$(INSTALL) --editable ".[dev]"
	@touch $@

# What opens reports in chromium, and what makes the site.
$(VENV)/.all: $(VENV)/.full
	$(INSTALL) --editable ".[browser,docs]"
	@touch $@
