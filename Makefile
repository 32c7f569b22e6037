# make run: talk (sets up what is missing first).   make test thorough: everything that CI checks.

PYTHON ?=
LLM ?=
ECHO ?=
BIN := .venv/bin
export PYTHON LLM ECHO

.PHONY: help setup satellite setup-dev run test thorough check quick search portable bench audit lock clean

help:
	@echo "make run      the demo: a recorded conversation, answered, every millisecond accounted for"
	@echo "make test     format, lint, types and the tests"
	@echo "make thorough the long tests: a soak, whole programs, the wheel, more browsers, clients of others, Docker, Ray"
	@echo "make quick    the fast tests only"
	@echo "make check    format, lint and types only"
	@echo "make search   the property tests and those with random faults, with many more examples"
	@echo "make portable the tests with real weights, with the arithmetic of three kinds of processors"
	@echo "make bench    the measurements behind the README's figures"
	@echo "make setup    what the others do first: .venv from the pinned lock (make setup PYTHON=python3.12 for another;"
	@echo "              LLM=no: without a language model)"
	@echo "make satellite  .venv with only what \`repartee talk --server\` needs with a wake word (ECHO=cancel: and the echo"
	@echo "              canceller, to interrupt by voice through an open loudspeaker)"
	@echo "make audit    the locked packages against known vulnerabilities (AUDIT='--data all.zip': without the network)"
	@echo "make lock     renew the locks from pyproject.toml (needs uv)"
	@echo "make clean    remove .venv, caches and the demo's sound; your own data: .venv/bin/repartee uninstall, before it"

setup:
	@deploy/setup.sh

satellite:
	@deploy/setup.sh --satellite

setup-dev:
	@deploy/setup.sh --dev

run: setup
	@$(BIN)/repartee demo

# Hundreds of tests start the program: what Python compiled is kept, also where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE

# First what computes, then what keeps pace with real time and mostly waits: servers, browsers and programs with a sound
# card. Each file runs in one of three processes, because even the first ones wait for programs and servers. Last, what
# measures latency alone. All run, whatever the ones before find. Three processes share two cores, and browsers and
# sound servers fail by themselves now and then: a test that fails is repeated with nothing beside it, and that result
# counts. Both are printed. `thorough` runs what `test` leaves out: long runs, whole programs, more browsers, clients.

THREE := -n 3 --dist loadfile --no-loadscope-reorder
WAITING := \(real_time\|calm\)
MARKED = $$(grep -rl --include="test_*.py" "mark.$(1)" tests)
PYTEST = $(BIN)/python -m pytest -o cache_dir=.pytest_cache/$(1)
ALONE = --last-failed --last-failed-no-failures=none

# Phase $(1) with its own cache of failures, tests $(2) in files $(3), in processes $(4).
PHASE = $(call PYTEST,$(1)) $(4) -m "$(2)" $(3) || $(call PYTEST,$(1)) $(ALONE) || status=$$?

test: check
	@status=0; \
	$(call PHASE,computing,not (thorough or real_time or calm or alone),,$(THREE)); \
	$(call PHASE,waiting,(real_time or calm) and not (thorough or alone),$(call MARKED,$(WAITING)),$(THREE)); \
	$(call PHASE,alone,alone and not thorough,$(call MARKED,alone),); \
	exit $$status

thorough: check
	@status=0; \
	$(call PHASE,thorough_computing,thorough and not (real_time or calm or alone),$(call MARKED,thorough),$(THREE)); \
	$(call PHASE,thorough_waiting,thorough and (real_time or calm) and not alone,$(call MARKED,thorough),$(THREE)); \
	$(call PHASE,thorough_alone,thorough and alone,$(call MARKED,thorough),); \
	exit $$status

check: setup-dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy --strict

quick: setup-dev
	$(BIN)/python -m pytest $(THREE) -m "not (slow or thorough)"

search: setup-dev
	$(BIN)/python -m pytest --hypothesis-profile=search --timeout=600 \
		$$(grep -rlE --include="test_*.py" "@given|random_faults import" tests)

# CTranslate2 computes differently on each: without vector instructions, with AVX2, and with AVX-512 where it exists.
# The soak is left out: memory over time does not depend on it.
portable: setup-dev
	@set -e; for isa in GENERIC AVX2 $$(grep -qsw avx512f /proc/cpuinfo && echo AVX512); do \
	    echo "== $$isa"; SOAK_MINUTES=0 CT2_FORCE_CPU_ISA=$$isa $(BIN)/python -m pytest -m weights \
	        $$(grep -rl --include="test_*.py" "mark.weights" tests); done

# Those that need nothing beyond the repository; bench/README.md names the others.
BENCHES := vad scale piper demo serve turn_taking

# With FIELD=DIR, a folder of recordings with a manifest.jsonl, turn taking is measured on the two kinds with many
# speakers and natural pauses, and docs/performance.md gets its tables. With SPEECH=DIR, a folder of clean speech and
# noise, it also gets the table of speech during a reply.
FIELD :=
NATURAL := --group dictation --group "telephone sentence"
SPEECH :=
OVERLAPS := $(if $(SPEECH),--overlaps --speech $(SPEECH) --most 40)
OPTIONS_turn_taking := $(if $(FIELD),--field $(FIELD) $(NATURAL) $(OVERLAPS) --doc docs/performance.md)

bench: setup-dev
	@set -e; $(foreach name,$(BENCHES),echo "== bench.$(name)"; $(BIN)/python -m bench.$(name) $(OPTIONS_$(name));)

# Sends names and versions of packages to the service of the OSV database. Without its data it says so.
AUDIT :=

audit: setup-dev
	@$(BIN)/python deploy/audit.py $(AUDIT)

# Keeps the pins that still fit; `make lock UPGRADE=--upgrade` takes the newest. For all systems at once, and without
# a word of which index they came from. What is tested is what runs: the development lock decides.
UPGRADE :=
LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet $(UPGRADE)

lock:
	$(LOCK) pyproject.toml --group build --group dev --output-file requirements-dev.lock
	$(LOCK) pyproject.toml --extra desktop --extra local --group build --constraint requirements-dev.lock --output-file requirements.lock
	$(LOCK) --group build --group satellite --constraint requirements-dev.lock --output-file requirements-satellite.lock
	$(BIN)/python deploy/satellite_wheels.py
	$(foreach wanted,$(wildcard tests/clients/*/requirements.in),$(LOCK) $(wanted) --output-file $(wanted:.in=.lock);)
	$(foreach part,component newer,$(LOCK) --python-version 3.13 tests/clients/home_assistant/requirements-$(part).in --output-file tests/clients/home_assistant/requirements-$(part).lock;)
	cd tests/clients/javascript && npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find assistant audio declarations llm repartee web tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f out/demo.wav out/trace.jsonl
	@[ ! -d out ] || rmdir out 2>/dev/null || echo "left: other files in out/"
	@echo "left: traces/, and models, settings and conversations in your own folders, which \`repartee uninstall\` removes"
