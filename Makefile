# What people type. Everything lands under build/; nothing is installed elsewhere but system packages (scripts/setup.sh).
#   make serve [MODEL=...] [ARGS="--port 9000"]   fresh clone to running server
#   make test                                     fresh clone to green suite
MODEL ?=
ARGS ?=
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
CTEST = ctest --output-on-failure --no-tests=error -j $(JOBS)

# The modules whose tests run under a sanitizer too.
ASAN = base files text cache server
TSAN = base server

# $(call cmake,PRESET,DIR,TARGETS): configures DIR once (ninja re-runs cmake when it must) and builds it.
cmake = test -f $(2)/build.ninja || cmake --preset $(1); cmake --build $(2) -j $(JOBS) $(if $(3),--target $(3))
# $(call only,MODULES): ctest's pattern for their tests
space := $(subst ,, )
only = -R '^($(subst $(space),|,$(1)))$$'

.PHONY: all setup setup-test build serve chat test asan tsan fuzz fuzz-api golden bench bench-features neon debug screenshot tidy format format-check clean

all: build

setup:
	@scripts/setup.sh

setup-test:
	@scripts/setup.sh test

build: setup
	@$(call cmake,release,build)

serve: build
	@exec build/bin/mlxforge serve $(MODEL) $(ARGS)

chat: build
	@exec build/bin/mlxforge chat $(MODEL) $(ARGS)

# The sanitizer's suite first, so that the last lines are the main suite's summary.
test: setup-test
	@$(call cmake,release,build)
	@$(call cmake,asan,build/asan,$(ASAN:=_test))
	@$(CTEST) --test-dir build/asan $(call only,$(ASAN))
	@$(CTEST) --test-dir build

asan: setup-test
	@$(call cmake,asan,build/asan,$(ASAN:=_test))
	@$(CTEST) --test-dir build/asan $(call only,$(ASAN))

tsan: setup-test
	@$(call cmake,tsan,build/tsan,$(TSAN:=_test))
	@$(CTEST) --test-dir build/tsan $(call only,$(TSAN))

# The CPU kernels' tests for 64-bit Arm, under qemu-user (Debian only).
neon:
	@scripts/setup.sh neon
	@$(call cmake,neon,build/neon,cpu_test)
	@$(CTEST) --test-dir build/neon -R '^cpu$$'

debug: setup
	@$(call cmake,debug,build/debug)

fuzz: setup-test
	@scripts/fuzz.sh $(ARGS)

# Sends a server what Schemathesis makes of its /openapi.json, for five minutes: make fuzz-api ARGS="--max-time 3600"
fuzz-api:
	@scripts/setup.sh fuzz
	@$(call cmake,release,build,mlxforge)
	@build/venv/bin/python scripts/fuzz_api.py $(ARGS)

# Compares any local checkpoint with mlx-lm: make golden MODEL=/models/Llama-3.2-1B
golden: setup-test
	@$(call cmake,release,build)
	@test -n "$(MODEL)" || { echo "golden needs a checkpoint: make golden MODEL=DIR" >&2; exit 2; }
	@build/venv/bin/python reference/golden.py --model "$(MODEL)" $(ARGS)

# mlxforge beside its peers; the first time it builds llama.cpp (ten minutes): make bench ARGS="--rounds 3 --models smollm2"
bench:
	@scripts/setup.sh bench
	@$(call cmake,release,build)
	@build/venv/bin/python bench/run.py $(ARGS)

# What features cost: eight streams with logprobs, penalties and a JSON schema beside eight plain ones
bench-features: setup-test
	@$(call cmake,release,build)
	@build/venv/bin/python bench/features.py $(ARGS)

# docs/chat-page.png anew
screenshot: setup-test
	@$(call cmake,release,build)
	@build/venv/bin/python scripts/screenshot.py

tidy: setup-test
	@$(call cmake,release,build)
	@scripts/tidy.sh $(ARGS)

format:
	@scripts/format.sh

format-check:
	@scripts/format.sh --check

clean:
	rm -rf build
