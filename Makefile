# The front door: every target does the set-up it needs, and only what is still missing.
#
# The build proper is CMake's; see CMakeLists.txt. Variables, from the command line or the
# environment:
#   HAIRPIN_TORCH=DIR  link the LibTorch in DIR instead of the torch wheel
#   JOBS=N             how many compilers run at once (default: by cores and free memory)
#   WERROR=ON          warnings are errors (the presubmit and CI)
BUILD := build
PYTHON := $(CURDIR)/$(BUILD)/venv/bin/python
HAIRPIN_TORCH ?=
WERROR ?= OFF
# A file that includes much of LibTorch takes 1.5 GB to compile.
JOBS ?= $(shell awk -v cores=$$(nproc) '/MemAvailable/ { n = int($$2 / 1500000) } \
          END { print n < 1 ? 1 : n < cores ? n : cores }' /proc/meminfo)
CMAKE_OPTIONS = -DPython3_EXECUTABLE=$(PYTHON) -DHAIRPIN_TORCH=$(HAIRPIN_TORCH) \
                -DHAIRPIN_WERROR=$(WERROR)

# Cached objects serve every clone and every build folder.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.DEFAULT_GOAL := help
.PHONY: help demo build test test-wan bench presubmit everything packages venv model FORCE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build venv ## fine-tune a real model across two processes (examples/icd10)
	$(PYTHON) examples/icd10/run.py

build: $(BUILD)/.configured ## compile build/bin/hairpin
	cmake --build $(BUILD) -j $(JOBS) --target hairpin

test: everything model ## compile everything and run all tests
	ctest --test-dir $(BUILD) --output-on-failure -j 2

test-wan: $(BUILD)/.configured venv ## what needs an emulated network: root and /dev/net/tun (docs/wan.md)
	cmake --build $(BUILD) -j $(JOBS) --target hairpin make_tiny wanem link_probe synthetic_run
	@$(PYTHON) tests/wan/all.py

bench: build model ## speed and memory: beside transformers, and what parallelism costs
	$(PYTHON) benchmarks/run.py
	$(PYTHON) benchmarks/scaling.py

presubmit: packages-lint model ## what a change must pass: format, layers, headers, fast tests
	scripts/presubmit
	$(MAKE) everything WERROR=ON
	ctest --test-dir $(BUILD) --output-on-failure -j 2 -LE slow

everything: $(BUILD)/.configured
	cmake --build $(BUILD) -j $(JOBS)

packages:
	@scripts/install_packages build

packages-%:
	@scripts/install_packages build $*

venv: packages
	@scripts/make_venv $(BUILD)/venv

# The real model that some tests and the benchmark use; the demo makes it itself.
model: venv
	@$(PYTHON) examples/icd10/make_model.py $(BUILD)/demo/model

# With a LibTorch of the user's own, compiling needs no Python environment.
$(BUILD)/.configured: $(BUILD)/.options | packages $(if $(HAIRPIN_TORCH),,venv)
	cmake -S . -B $(BUILD) -G Ninja $(CMAKE_OPTIONS)
	@touch $@

$(BUILD)/.options: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CMAKE_OPTIONS)' | cmp -s - $@ || echo '$(CMAKE_OPTIONS)' > $@
