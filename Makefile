# Everything runs in a private .venv that make creates with pip; nothing else has to be prepared.
PYTHON ?= python3
ROBOT ?= arm
SECONDS ?= 600
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: release demo test coverage test-aarch64 test-embedded test-sanitizers test-viewer browser fuzz bench lint docs pictures format clean

demo: $(VENV)/.ready
	$(BIN)/linkwork demo $(ROBOT)

test: $(VENV)/.ready-test
	$(BIN)/python -m pytest -n auto --dist worksteal

# Lines of src that the tests run; the table is in build/coverage.txt, the total is printed.
coverage: $(VENV)/.ready-test $(VENV)/.ready-coverage
	mkdir -p build
	$(BIN)/python -m pytest -n auto --dist worksteal --cov=linkwork --cov-report=
	$(BIN)/python -m coverage report --skip-covered > build/coverage.txt; tail -n 1 build/coverage.txt

# Exported C under Clang, CMake, the cross-compiler for Cortex-M, and those for 32-bit and 64-bit ARM
# and RISC-V, whose programs QEMU runs; `make test` uses those it finds.
EMBEDDED := clang cmake arm-none-eabi-gcc qemu-arm-static arm-linux-gnueabihf-gcc \
	aarch64-linux-gnu-gcc riscv64-linux-gnu-gcc
test-embedded: $(VENV)/.ready-test
	@for tool in $(EMBEDDED); do command -v $$tool > /dev/null || { \
	  echo "$$tool is missing. On Debian: apt-get install --no-install-recommends \\"; \
	  echo "  clang libclang-rt-14-dev cmake gcc-arm-none-eabi libnewlib-arm-none-eabi \\"; \
	  echo "  qemu-user-static gcc-arm-linux-gnueabihf libc6-dev-armhf-cross \\"; \
	  echo "  gcc-aarch64-linux-gnu libc6-dev-arm64-cross \\"; \
	  echo "  gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"; \
	  exit 1; }; done
	$(BIN)/python -m pytest tests/export/test_export_compilers.py

# Tests on 64-bit ARM, emulated by QEMU in a tree of Debian; as root.
test-aarch64: $(BIN)/python
	$(BIN)/python tools/test_aarch64.py

# The C extensions under GCC's sanitizers: memory and undefined behavior, then threads.
test-sanitizers: $(VENV)/.ready-test
	$(BIN)/python tools/test_sanitizers.py address
	$(BIN)/python tools/test_sanitizers.py thread

# The viewer, in a real browser too; `make test` uses one that it finds.
test-viewer: browser $(VENV)/.ready-test
	$(BIN)/python -m pytest tests/viewer

# Debian's Chromium, if there is no browser.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
		{ apt-get update && apt-get install --yes --no-install-recommends chromium; } || \
		{ echo "install Chromium, as root: apt-get install chromium" >&2; exit 1; }

# Fuzz all readers of files, states, programs and object files for SECONDS in all (Linux).
fuzz: $(VENV)/.ready-test $(VENV)/.ready-fuzz
	$(BIN)/python tools/fuzz.py --seconds $(SECONDS)

bench: $(VENV)/.ready-test $(VENV)/.ready-bench
	$(BIN)/python benchmarks/loading.py
	$(BIN)/python benchmarks/run.py --write-readme

lint: $(VENV)/.ready-test $(VENV)/.ready-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

# An sdist and a wheel for each Python of this machine, each tried in a clean environment.
release: $(VENV)/.ready $(VENV)/.ready-release
	$(BIN)/python tools/release.py

docs: $(VENV)/.ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "the pages are in site/index.html"

# The pictures of the pages, except those of measurements, which `make bench` draws.
pictures: browser $(VENV)/.ready-test
	$(BIN)/python tools/draw_pictures.py
	$(BIN)/python tools/make_viewer_pictures.py
	$(BIN)/python tools/pictures_walk.py

format: $(VENV)/.ready-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) site build .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"

# The package itself, editable; again when a C extension has changed.
$(VENV)/.ready: pyproject.toml setup.py $(wildcard src/linkwork/*/csrc/*.[ch] src/linkwork/*/*/csrc/*.[ch] src/linkwork/bridges/casadi/*.c) | $(BIN)/python
	$(PIP) --editable .
	touch $@

# One more dependency group each: test, lint, docs.
$(VENV)/.ready-%: pyproject.toml $(VENV)/.ready
	$(PIP) --group $*
	touch $@
