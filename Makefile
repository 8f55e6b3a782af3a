# Every target sets up what it needs: a virtual environment, pinned packages, the native build.
# Stamp files remember what was done, so a second run starts in seconds.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

VENV := $(CURDIR)/.venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check --no-input --retries 5 --timeout 60

# The environment's own tools come first, also where PATH was not set at all.
export PATH := $(VENV)/bin:$(or $(PATH),/usr/local/bin:/usr/bin:/bin)
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
# Without its bytecode, each process of Python compiles this package again (1.0 s against 0.5 s to
# import it), and each worker of pytest all tests (34 s against 12 s until the first one runs).
unexport PYTHONDONTWRITEBYTECODE

WORKERS ?= 2
# One more than there are cores, because the tests of Spark mostly wait.
TEST_WORKERS ?= 3
WERROR ?= OFF
ENGINE ?= all
TESTS ?= tests
BENCH ?=
PAPERS ?=
FUZZ ?=
CRASH ?=
SIMULATE ?=
SOAK ?=
SANITIZE_TESTS ?= tests
SANITIZE_LEAN ?= OFF
SANITIZE_FUZZ ?= 5000
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(WORKERS)

CPP_FILES = $(shell find cpp -name '*.hpp' -o -name '*.cpp')
PYTHON_DIRS = $(wildcard src tests tools benchmarks examples)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- set-up -----------------------------------------------------------------------------------

# Shows how far a command is, and what it wrote if it failed.
PROGRESS := $(PY) tools/progress.py

$(VENV)/.made: tools/ensure_venv.sh
	@echo "Making .venv (usually 5 s)"
	@sh tools/ensure_venv.sh $(VENV)
	@touch $@

# Packages that come only as source are built with the pinned setuptools, not with today's.
$(VENV)/.build: requirements/build.txt $(VENV)/.made
	@$(PROGRESS) "Installing requirements/build.txt" "15 s" -- $(PIP) -r $<
	@touch $@

$(VENV)/.%: requirements/%.txt requirements/demo.txt requirements/spark.txt $(VENV)/.build
	@$(PROGRESS) "Installing requirements/$*.txt" "$(or $(USUAL_$*),20 s)" -- \
	  $(PIP) --no-build-isolation --use-pep517 -r $<
	@touch $@
USUAL_spark := 1 minute: Spark is large
USUAL_dev := 30 s, 90 s with Spark

# Folders are listed too: their time changes when a file comes or goes. pip is verbose for its
# progress: nobody sees the rest. WERROR=ON makes warnings errors, as .ci/run does.
NATIVE := $(shell find cpp/include cpp/bindings 2>/dev/null) CMakeLists.txt pyproject.toml
$(VENV)/.native: $(NATIVE) $(VENV)/.build
	@$(PROGRESS) "Building the native module" "2.5 minutes on 2 cores, seconds after a small change" -- \
	  $(PY) -m pip install -v --disable-pip-version-check --no-input --no-build-isolation --no-deps \
	  -C cmake.define.SLIDEFOLD_WERROR=$(WERROR) -e .
	@touch $@

.PHONY: java
java: ## Install Java 17 if it is missing and that is allowed
	@sh tools/ensure_java.sh

# ---- run --------------------------------------------------------------------------------------

# What is installed and what is built do not wait for each other. Without Spark and Java:
# ENGINE=local.
DEMO_local := $(VENV)/.demo
DEMO_all := $(VENV)/.spark
.PHONY: demo
demo: $(VENV)/.build ## Real flights through a pipeline, on every engine (ENGINE=local: no Spark)
	@$(MAKE) --no-print-directory -j 2 $(or $(DEMO_$(ENGINE)),$(error ENGINE is all or local)) \
	  $(VENV)/.native
	@$(if $(filter all,$(ENGINE)),sh tools/ensure_java.sh 2>/dev/null || true)
	@echo "Running the demo (usually $(if $(filter all,$(ENGINE)),80 s,25 s))"
	@$(PY) -m slidefold.cli demo --out build/demo $(if $(filter local,$(ENGINE)),--no-spark)

.PHONY: test
test: ctest pytest ## Every feature and engine, C++ and Python

# What `make test` leaves out: every case of the long suites, everything under the sanitizers, random
# histories and damaged states, and streams that are killed.
.PHONY: test-all
test-all: ## Everything there is, in hours: before an issue is called resolved
	@HYPOTHESIS_PROFILE=long $(MAKE) --no-print-directory ctest pytest EXHAUSTIVE=ON
	@$(MAKE) --no-print-directory sanitize fuzz simulate crash test-oldest-spark
	@$(MAKE) --no-print-directory crash CRASH="--cluster --kills 50"
	@$(MAKE) --no-print-directory fuzz FUZZ=--state

# The tests marked `exhaustive` are the long rest of a suite whose short slice always runs.
EXHAUSTIVE ?= OFF
SELECTED := $(if $(filter ON,$(EXHAUSTIVE)),,-m "not exhaustive")
.PHONY: pytest
pytest: java $(VENV)/.dev $(VENV)/.native ## The Python tests (TESTS=... selects, EXHAUSTIVE=ON all)
	@echo "Running the Python tests (usually 8 minutes on 2 cores)"
	@$(PY) -m pytest -q -n $(TEST_WORKERS) $(SELECTED) $(TESTS)

# The native module is the one that was built: both environments have the same Python. Old PySpark
# leaves sockets open, and its warnings about them are not ours.
OLDEST := $(CURDIR)/build/spark-oldest
$(OLDEST)/.made: requirements/spark-oldest.txt tools/ensure_venv.sh $(VENV)/.made
	@PYTHON=$(PY) sh tools/ensure_venv.sh $(OLDEST)
	@$(subst $(VENV),$(OLDEST),$(PIP)) $$(grep -E '^(setuptools|wheel)==' $<)
	@$(PROGRESS) "Installing requirements/spark-oldest.txt" "1 minute: Spark is large" -- \
	  $(subst $(VENV),$(OLDEST),$(PIP)) --no-build-isolation --use-pep517 -r $<
	@touch $@
.PHONY: test-oldest-spark
test-oldest-spark: java $(OLDEST)/.made $(VENV)/.native ## A short set on the oldest Spark and packages
	@rm -rf $(OLDEST)/site && mkdir -p $(OLDEST)/site && cp -r src/slidefold $(OLDEST)/site
	@cp $$($(PY) -c "import slidefold._native_ext as native; print(native.__file__)") \
	  $(OLDEST)/site/slidefold
	@echo "Running the short set of Spark tests (usually 1 minute)"
	@PATH=$(OLDEST)/bin:$$PATH PYTHONPATH=$(OLDEST)/site $(OLDEST)/bin/python -m pytest -q \
	  -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning \
	  tests/spark/test_portable.py tests/spark/test_bad_sessions.py

# -O1 compiles in half the time of -O3, and the tests are short.
.PHONY: ctest
ctest: $(VENV)/.build ## The C++ tests
	@cmake -S . -B build/tests -G Ninja --log-level=ERROR -DSLIDEFOLD_PYTHON=OFF \
	  -DSLIDEFOLD_WERROR=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 >/dev/null
	@$(PROGRESS) "Building the C++ tests" "1 minute, seconds after a small change" -- \
	  cmake --build build/tests
	@ctest --test-dir build/tests --output-on-failure --parallel $(WORKERS)

.PHONY: bench
bench: $(VENV)/.bench $(VENV)/.native ## The benchmarks (BENCH=... passes arguments)
	@$(PY) -m benchmarks $(BENCH)

.PHONY: papers
papers: $(VENV)/.bench $(VENV)/.native ## The papers' experiments and one report (PAPERS=--quick is short)
	@$(PY) -m benchmarks.papers $(PAPERS)

.PHONY: bench-spark
bench-spark: java $(VENV)/.spark $(VENV)/.bench $(VENV)/.native ## Spark batch against Spark's own windows
	@$(PY) -m benchmarks $(BENCH) spark_batch spark_chunks spark_memory spark_questions spark_small

.PHONY: bench-stream
bench-stream: java $(VENV)/.spark $(VENV)/.bench $(VENV)/.native ## Spark streams against what Spark offers
	@$(PY) -m benchmarks $(BENCH) stream

.PHONY: bench-serve
bench-serve: $(VENV)/.bench $(VENV)/.native ## A service under load, beside Redis if it is installed
	@$(PY) -m benchmarks $(BENCH) serve

.PHONY: fuzz
fuzz: $(VENV)/.native ## Random histories, damaged states (FUZZ=... passes arguments)
	@$(PY) -m tools.fuzz $(FUZZ)

.PHONY: crash
crash: java $(VENV)/.dev $(VENV)/.native ## Kill a Spark stream 200 times (CRASH=... passes arguments)
	@$(PY) -m tools.crash $(CRASH)

.PHONY: soak
soak: java $(VENV)/.dev $(VENV)/.native ## Ten minutes of a stream that must not grow (SOAK=...)
	@$(PY) -m tools.soak $(SOAK)

.PHONY: simulate
simulate: $(VENV)/.dev $(VENV)/.native ## Aborted attempts at a stream, without Spark (SIMULATE=...)
	@$(PY) -m tools.crash.simulation $(SIMULATE)

# The pages and pictures that are generated are written first; a test finds them stale. The banner
# that is turned off says that mkdocs-material is kept up until May 2027, and who comes after it.
.PHONY: docs
docs: $(VENV)/.docs $(VENV)/.native ## The documentation as a site in build/site
	@$(PY) -m tools.docs
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "docs: build/site/index.html"

# ---- check ------------------------------------------------------------------------------------

.PHONY: lint
lint: $(VENV)/.dev ## Style, types and import rules
	@$(PY) -m ruff check --quiet $(PYTHON_DIRS)
	@$(PY) -m ruff format --check --quiet $(PYTHON_DIRS)
	@$(PY) -m mypy --no-error-summary $(PYTHON_DIRS)
	@clang-format --dry-run -Werror $(CPP_FILES)
	@$(PY) tools/check_includes.py cpp
	@$(PY) tools/check_english.py
	@found=$$(PYTHONPATH=src lint-imports --no-logo --cache-dir build/import_linter 2>&1) \
	  || { echo "$$found"; exit 1; }
	@echo "lint: all clean"

.PHONY: format
format: $(VENV)/.dev ## Format Python and C++ in place
	@$(PY) -m ruff check --quiet --fix-only $(PYTHON_DIRS)
	@$(PY) -m ruff format --quiet $(PYTHON_DIRS)
	@clang-format -i $(CPP_FILES)

# The sanitized module lies in a package of its own, which sitecustomize.py puts before the
# installed one. The sanitizers must be in the process before Python; libstdc++ too, or they would
# not see exceptions being thrown. Python allocates with malloc, so that its objects are watched, but
# leaks by design, so that leaks are not. pytest must not capture what the sanitizers write. -O0
# compiles in a third of the time of -O1 (12 s against 34 s for one algorithm's bindings).
SANITIZE := $(CURDIR)/build/sanitize
.PHONY: sanitize
sanitize: $(VENV)/.dev ## All native code under ASan and UBSan (SANITIZE_TESTS=...)
	@cmake -S . -B $(SANITIZE) -G Ninja --log-level=ERROR -DPython_EXECUTABLE=$(PY) \
	  -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0 -DSLIDEFOLD_LEAN=$(SANITIZE_LEAN) \
	  -DSLIDEFOLD_WERROR=ON -DSLIDEFOLD_SANITIZE=address,undefined >/dev/null
	@$(PROGRESS) "Building with ASan and UBSan" "6 minutes, 3 with SANITIZE_LEAN=ON" -- \
	  cmake --build $(SANITIZE)
	@UBSAN_OPTIONS=print_stacktrace=1 \
	  ctest --test-dir $(SANITIZE) --output-on-failure --parallel $(WORKERS)
	@rm -rf $(SANITIZE)/site && mkdir -p $(SANITIZE)/site
	@cp -r src/slidefold tools/sanitize/sitecustomize.py $(SANITIZE)/site
	@cmake --install $(SANITIZE) --prefix $(SANITIZE)/site >/dev/null
	@run="env LD_PRELOAD=$$(ldd $(SANITIZE)/site/slidefold/_native_ext*.so \
	    | awk '/lib(asan|ubsan|stdc\+\+)\.so/ { print $$3 }' | paste -sd: -) \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  PYTHONMALLOC=malloc PYTHONPATH=$(SANITIZE)/site $(PY)"; \
	  $$run -m pytest -q -n $(WORKERS) --capture=sys -m "not slow and not exhaustive and not footprint" $(SANITIZE_TESTS) && \
	  $$run -m tools.fuzz --state --operations $(SANITIZE_FUZZ) --workers $(WORKERS)

.PHONY: clean
clean: ## Remove everything that was built or installed here
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
