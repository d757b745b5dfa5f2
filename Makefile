# The only entry point. `make help` lists what a person calls.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

EXPERIMENT ?= quickstart
PROFILE ?= quick
ENGINES ?=
ENGINE ?= leveldb
STUDY ?= $(ENGINE)
RUNNER ?= local
RUNFLAGS ?=
SANITIZERS ?= asan tsan
JOBS ?= $(shell nproc)
# Tests wait more than they compute: for engines, containers and clocks.
TESTERS ?= $(shell expr 2 \* $(JOBS))
STRESS ?= all
HOSTS ?= 2
STRESSFLAGS ?=
FUZZ ?= 10000000
IMAGES ?=
PARTS ?=
STATE ?= nothing else running
PAPER ?= evendb
RECORDS ?=
PUBLISHED ?=
BASE_IMAGE ?=
# The experiment's engines, as commands that prepare them want them named.
ITS_ENGINES = --experiment $(EXPERIMENT) $(if $(ENGINES),--engines $(ENGINES))
KVDYNO := .venv/bin/kvdyno
PY := .venv/bin/python

.PHONY: help experiment tuning plan test test-cpp test-python lint tidy locks format results paper paper-engines paper-records simulations sanitize aarch64 bench-driver bench-chunkstore bench-sampling bench-reads cluster bench-hosts bench-gate bench-gate-plan publish-gate stress fuzz \
        engines engines-ready ready-local engines-test images ready-docker harness-image clean-room packages venv build tests-built lock doctor clean distclean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile
	@printf '\nvariables: EXPERIMENT=%s PROFILE=%s ENGINES=all RUNNER=%s RUNFLAGS= JOBS=%s\n' \
	  '$(EXPERIMENT)' '$(PROFILE)' '$(RUNNER)' '$(JOBS)'
	@printf 'example:   make experiment EXPERIMENT=quickstart PROFILE=small ENGINES=rocksdb,leveldb\n'

experiment: engines-ready  ## Set up, run an experiment, write figures, tables and a report
	@$(KVDYNO) run $(EXPERIMENT) --profile $(PROFILE) --runner $(RUNNER) $(if $(ENGINES),--engines $(ENGINES)) $(RUNFLAGS)

tuning: build  ## Test the hypotheses of STUDY about ENGINE's options, and write the tuning report (STUDY=ENGINE)
	@$(KVDYNO) engines build $(ENGINE)
	@$(KVDYNO) tuning report $(STUDY) --profile $(PROFILE) --runner $(RUNNER) $(RUNFLAGS)

plan: engines-ready  ## Show what an experiment would run, its time and its disk space
	@$(KVDYNO) plan $(EXPERIMENT) --profile $(PROFILE) --runner $(RUNNER) $(if $(ENGINES),--engines $(ENGINES))

test: test-cpp test-python  ## Run all tests, C++ and Python

test-cpp: tests-built
	@ctest --test-dir build --output-on-failure -j $(JOBS)

test-python: tests-built
	@$(PY) -m pytest --numprocesses $(TESTERS) --dist loadfile --no-loadscope-reorder

lint: venv  ## Check formats, lints, types, layers and words
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-cache
	@$(PY) harness/words.py
	@git ls-files 'engines/*.cc' 'engines/*.h' | xargs .venv/bin/clang-format --dry-run -Werror

tidy: venv build/build.ninja  ## Search the C++ sources for mistakes with clang-tidy (minutes)
	@git ls-files 'engines/*.cc' | grep -v -e _test.cc -e /conformance/ -e /testing/ -e /python/ | \
	  xargs -P $(JOBS) -n 4 .venv/bin/clang-tidy -p build --quiet 2>/dev/null

locks: venv build/build.ninja  ## Check with clang that what locks guard is used under them
	@git ls-files 'engines/base/*.cc' 'engines/chunkstore/*.cc' 'engines/sampling/*.cc' | grep -v -e _test.cc -e /testing/ -e /fuzz/ -e /python/ | \
	  xargs -P $(JOBS) -n 4 .venv/bin/clang-tidy -p build --quiet --checks='-*,clang-diagnostic-thread-safety*,modernize-use-override' \
	    --extra-arg=-Wthread-safety --extra-arg=-Wno-deprecated-declarations 2>/dev/null

format: venv  ## Rewrite the sources in the project's format
	@.venv/bin/ruff check --fix-only -q . && .venv/bin/ruff format -q .
	@git ls-files 'engines/*.cc' 'engines/*.h' | xargs .venv/bin/clang-format -i

results: venv  ## Make every committed number again: tables from metrics, then the documents
	@$(KVDYNO) derive && PYTHONPATH=. $(PY) results/quickstart/picture.py && $(KVDYNO) prose

# Sweeps are those of records here, of records in RECORDS, or published ones in PUBLISHED.
paper: venv $(if $(PUBLISHED),paper-engines,$(if $(RECORDS),,paper-records))  ## Measure what a paper lacks (PAPER=, PROFILE=), and make it; RECORDS=dir or PUBLISHED=dir measures nothing
	@harness/setup.sh latex
	@$(KVDYNO) paper $(PAPER) --profile $(PROFILE) $(if $(PUBLISHED),--published $(PUBLISHED),$(if $(RECORDS),--results $(RECORDS),--runner $(RUNNER)) $(filter --uncapped,$(RUNFLAGS)))

PAPER_PARTS = parts=$$($(KVDYNO) paper $(PAPER) --profile $(PROFILE) --experiments) || exit 1; echo "$$parts"

paper-engines: venv
	@$(PAPER_PARTS) | while read name profile; do \
	  $(MAKE) --no-print-directory engines-ready EXPERIMENT=$$name ENGINES= </dev/null || exit 1; done

# Prints time and disk before anything runs. Runs that fail are results (exit status 8): the paper lists them. What measures is a line of its
# own, because `make -n` executes the lines that call make.
paper-records: paper-engines
	@$(KVDYNO) paper $(PAPER) --profile $(PROFILE) --runner $(RUNNER) $(filter --uncapped,$(RUNFLAGS)) --plan
	@$(PAPER_PARTS) | while read name profile; do \
	  { $(KVDYNO) run $$name --profile $$profile --runner $(RUNNER) $(RUNFLAGS) </dev/null || [ $$? = 8 ]; } || exit 1; done

simulations: venv  ## Run the seeded simulations behind results/ again (several minutes); then make results
	@$(PY) results/truth/simulate.py
	@$(PY) results/regression/simulate.py
	@$(PY) results/rows/simulate.py
	@$(PY) results/room/simulated/simulate.py
	@$(PY) results/tuning/strategies/simulate.py

# Tests that take long and start no thread: the thread sanitizer has nothing to find in them.
ONE_THREAD = fuzz|Model\.WithoutThreads|guarantees\.Damage|ExternalDisk\.AFaultAnywhere|Exactness|SkewTest|ZipfTest|CheckTest

sanitize: packages  ## Build with sanitizers and run the C++ tests under them
	@for preset in $(SANITIZERS); do \
	  if [ $$preset = tsan ]; then without='$(ONE_THREAD)'; else without='^$$'; fi; \
	  cmake --preset $$preset >/dev/null && cmake --build --preset $$preset -j $(JOBS) && \
	  ctest --test-dir build-$$preset --output-on-failure -j $(JOBS) -E "$$without" || exit 1; \
	done

# Without the long random tests, and those that would measure QEMU's memory.
aarch64: packages  ## Build the chunk store for aarch64 and run its tests under QEMU (minutes)
	@harness/setup.sh aarch64
	@cmake -S /usr/src/googletest -B build-aarch64/googletest-build -G Ninja --toolchain $(CURDIR)/engines/aarch64.cmake \
	  --install-prefix $(CURDIR)/build-aarch64/googletest >/dev/null
	@cmake --build build-aarch64/googletest-build -j $(JOBS) --target install >/dev/null
	@cmake --preset aarch64 --log-level=WARNING >/dev/null
	@cmake --build build-aarch64 -j $(JOBS) --target chunkstore-tests base_test
	@ctest --test-dir build-aarch64 --output-on-failure -j $(JOBS) -R '^(chunkstore\.|Crc32c\.)' \
	  -E '^chunkstore\.(fuzz|guarantees|package)|MemoryFollowsTheResidentSet'

bench-driver: build  ## Measure the driver's own cost beside the engines' (nothing else may run)
	@$(PY) engines/driver/bench/bench_driver.py --binaries build/bin

bench-chunkstore: build  ## Measure the chunk store's CPU time per operation beside its targets (nothing else may run)
	@cmake --build build -j $(JOBS) --target chunkstore_bench
	@status=0; build/bin/chunkstore_bench || status=$$?; \
	  echo "beside RocksDB and LevelDB: make experiment EXPERIMENT=chunkstore-first PROFILE=small"; exit $$status

bench-sampling: build  ## Measure updates and samples of the sampling index beside its baselines (nothing else may run)
	@cmake --build build -j $(JOBS) --target sampling_bench
	@build/bin/sampling_bench

bench-reads: build  ## Measure reads of blocks together and one after the other (nothing else may run)
	@cmake --build build -j $(JOBS) --target bench_reads
	@file=.kvdyno/bench-reads; trap 'rm -f '$$file EXIT; head -c 1536M /dev/urandom >$$file; sync $$file; \
	  build/bin/bench_reads $$file

bench-gate-plan: venv
	@PYTHONPATH=harness $(PY) -m bench_gate.measure plan

bench-gate: build  ## Measure the gate's false alarms and what it finds, in PARTS of less than an hour (nothing else may run)
	@PYTHONPATH=harness $(PY) -m bench_gate.measure run $(PARTS)

publish-gate: venv  ## Make results/gate/ of what bench-gate measured (STATE="nothing else running")
	@PYTHONPATH=harness $(PY) -m bench_gate.measure publish --state "$(STATE)"

cluster: build  ## Start a Slurm of HOSTS hosts on this machine, to try sweeps over hosts; until Ctrl-C (needs root)
	@PYTHONPATH=tests/python $(PY) -m cluster.serve $(HOSTS)

bench-hosts: build  ## Measure what many hosts cost: four hosts of a real Slurm on this machine (nothing else may run)
	@PYTHONPATH=tests/python $(PY) -m cluster.measure

stress: tests-built  ## Test the chunk store for hours: the long column of its table of guarantees (STRESS=all)
	@mkdir -p build/stress && build/bin/chunkstore_stress $(STRESS) --directory build/stress $(STRESSFLAGS)

fuzz: tests-built  ## Run the chunk store's decoders and the sampling index on FUZZ mutations of their corpus each
	@for corpus in engines/chunkstore/fuzz/corpus/*; do \
	  build/bin/chunkstore_fuzz_$$(basename $$corpus)_replay $$corpus --mutations $(FUZZ) || exit 1; \
	done
	@build/bin/sampling_fuzz_operations_replay engines/sampling/fuzz/corpus/operations --mutations $(FUZZ)

engines: build  ## Build every version of an engine that engines/versions.yaml lists (long)
	@harness/setup.sh versions
	@$(KVDYNO) engines build

# An experiment may name runners itself: it needs drivers here, images, or both.
engines-ready: venv
	@runners=$$($(KVDYNO) engines runners $(ITS_ENGINES) --runner $(RUNNER)); \
	  for runner in $$runners; do $(MAKE) --no-print-directory ready-$$runner; done

ready-local: venv build/build.ninja
	@harness/setup.sh versions $(ITS_ENGINES)
	@$(KVDYNO) engines build $(ITS_ENGINES) --runner $(RUNNER)

engines-test: engines tests-built  ## Run the conformance suite on every version of an engine (long)
	@$(KVDYNO) engines build --test

images: venv  ## Build an image of every engine (IMAGES=), for RUNNER=docker; no registry needed
	@harness/setup.sh docker
	@$(KVDYNO) images build $(if $(IMAGES),--engines $(IMAGES)) $(if $(BASE_IMAGE),--base $(BASE_IMAGE))

ready-docker: venv
	@harness/setup.sh docker
	@harness/setup.sh versions $(ITS_ENGINES)
	@$(KVDYNO) images build $(ITS_ENGINES) --runner $(RUNNER) $(if $(BASE_IMAGE),--base $(BASE_IMAGE))

harness-image: venv  ## Build an image of the harness itself, with LaTeX (minutes)
	@harness/setup.sh docker
	@$(KVDYNO) images harness $(if $(BASE_IMAGE),--base $(BASE_IMAGE))

clean-room: venv  ## Run the two commands of the README in a fresh container (long)
	@harness/setup.sh docker
	@RUNFLAGS='$(RUNFLAGS)' containers/clean-room

doctor: build  ## List what this machine lacks for fair measurements, and the remedy
	@$(KVDYNO) doctor

packages:
	@harness/setup.sh packages

venv: packages
	@harness/setup.sh venv

# One configuration serves both: `build` makes the engines, `tests-built` the tests as well.
build/build.ninja: harness/packages.txt engines/packages.txt $(wildcard engines/adapters/*/packages.txt) | packages
	@cmake --preset release --log-level=WARNING >/dev/null && touch $@

build: venv build/build.ninja  ## Set up everything and build the engines
	@cmake --build build -j $(JOBS) --target engines

tests-built: venv build/build.ninja
	@cmake --build build -j $(JOBS)

lock:  ## Resolve the Python requirements into the lock files (needs uv)
	@for pair in requirements-dev.in:requirements.lock otava.in:otava.lock; do \
	  uv pip compile --python-version 3.11 --universal --generate-hashes -q --no-emit-index-url --no-emit-find-links \
	    --custom-compile-command "make lock" harness/$${pair%:*} -o harness/$${pair#*:} || exit 1; \
	done

clean:  ## Remove builds, stores and snapshots; keep results
	@rm -rf build build-asan build-tsan build-debug build-aarch64 .kvdyno/work .kvdyno/snapshots .kvdyno/snapshots-uncapped

distclean: clean  ## Remove all that set-up made as well; keep results
	@rm -rf .venv .kvdyno
