# Everything here installs what it needs into .venv and target. Needed before: Python 3.11 or later, Rust, a C compiler.

PYTHON ?= python3
CARGO ?= cargo
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WHEELS := target/wheels
# Built together with the command's library, whose features its libraries then share: only its own crate is compiled.
BENCH := $(or $(CARGO_TARGET_DIR),target)/release/wordline-bench
BUILD_BENCH = $(CARGO) build --release $(FEATURES) -p wordline-python -p wordline-bench --bin wordline-bench
# TLS of the live disk: "system" takes the OpenSSL whose headers are installed (libssl-dev, pkg-config), "vendored" compiles one of its own
# (Perl; two and a half minutes of CPU time), "none" leaves it out.
TLS ?= $(shell pkg-config --exists 'openssl >= 1.1.1' 2>/dev/null && echo system || echo none)
FEATURES := $(if $(filter none,$(TLS)),--no-default-features)$(if $(filter vendored,$(TLS)),--features tls-vendored)
REPORT := out/run.html
RELEASE := dist

# The tests use the crates that the program was built from. With OVERFLOW=1 these are compiled once more, with checks for overflow.
CHECKED = --release $(if $(OVERFLOW),--config crates/checked.toml)

# What the installed command is made from: a change in any of these builds it anew.
SOURCES := $(shell find crates python drives studies -type f ! -name '*.so' ! -name '*.pyc' ! -path '*/target/*' ! -path '*/tests/*' \
	! -path 'studies/*README.md' ! -path 'studies/*.svg' ! -path 'studies/*/result.json')
PYTHON_FILES := python studies tests tools benches

.PHONY: build wheel run test test-long miri bench bench-disk bench-growth bench-record docs site figures studies lint format clean
.DEFAULT_GOAL := build

build: $(VENV)/.built ## the command .venv/bin/wordline

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; name one with: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.maturin: $(VENV)/.created
	$(PIP) install 'maturin>=1.9.4,<2'
	@touch $@

# What tests, lint and pages need besides; the program is built and run without.
$(VENV)/.tools: $(VENV)/.created
	$(PIP) install 'ruff>=0.11' 'pytest>=8' 'pytest-xdist>=3.7' 'distributed>=2024.1' 'optuna>=4' 'perfetto>=0.59,<1' 'viztracer>=1.1,<1.2' 'wasmtime>=50' \
		'fio-plot>=1.1.21,<2' 'pyarrow>=18' 'polars>=1.20' 'pandas>=2.2' 'playwright>=1.49' 'mypy>=1.15' 'nbclient>=0.10' 'ipykernel>=6.29' \
		'mkdocs-material>=9.5,<10'
	@touch $@

$(VENV)/.built: $(VENV)/.maturin pyproject.toml Cargo.toml Cargo.lock $(SOURCES)
	@rm -rf $(WHEELS)
	@# It stays on this machine, so the system's libraries are not packed into it.
	$(BIN)/maturin build --release $(FEATURES) --auditwheel skip --interpreter $(BIN)/python --out $(WHEELS)
	@# Twice: the first replaces the same version with the new build, the second brings what it depends on.
	$(PIP) install --force-reinstall --no-deps $(WHEELS)/wordline-*.whl
	$(PIP) install $(WHEELS)/wordline-*.whl
	@touch $@

run: build ## replay the bundled trace of a database and report on it
	@mkdir -p $(dir $(REPORT))
	$(BIN)/wordline run demo traces/pgbench-ext4.csv.zst --report $(REPORT)
	@echo "The full report, for a browser: $(REPORT)"

# Profile-guided optimisation needs LLVM's tool for profiles, of rustc's own version: rustup component add llvm-tools.
PROFDATA = $(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/llvm-profdata)
PGO ?= $(if $(PROFDATA),yes,no)

wheel: $(VENV)/.maturin ## the wheel of a release, with link-time and profile-guided optimisation and an OpenSSL of its own: dist/
	@[ "$(PGO)" = yes ] || echo "Without profile-guided optimisation, which makes most runs faster: rustup component add llvm-tools"
	$(BIN)/maturin build --profile dist --locked --features tls-vendored $(if $(filter yes,$(PGO)),--pgo) --interpreter $(BIN)/python --out $(RELEASE)

test: build $(VENV)/.tools ## the engine's tests, then the program as a user runs it
	$(CARGO) test $(CHECKED) $(FEATURES) --workspace
	$(BUILD_BENCH)
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder tests

test-long: export WORDLINE_LONG = 1
test-long: OVERFLOW = 1
test-long: test miri ## the same with checks for overflow, and many more random configurations and loads, and the instructions of all cases

# Without the component cargo would ask for it, and wait for an answer.
miri: ## the unsafe code under Miri, which finds undefined behaviour
	@if $(CARGO) +nightly miri --version >/dev/null 2>&1 && \
		[ -d "$$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]; then \
		$(CARGO) +nightly miri test --package wordline-base memory::; \
	else \
		echo "The unsafe code is not tested under Miri, which is not installed: rustup +nightly component add miri rust-src"; \
	fi

bench: build ## speed: tables, and bench.json
	$(BUILD_BENCH)
	$(BENCH)
	$(BIN)/python benches/report.py
	$(BIN)/python benches/startup.py
	$(BIN)/python benches/sweep.py

bench-growth: build ## how the cost of a request grows: the second table of bench alone
	$(BUILD_BENCH)
	$(BENCH) --growth

bench-disk: build ## the live disk: error of its delays, requests a second; bench.json gets them
	$(BUILD_BENCH)
	$(BENCH) --disk

bench-record: build ## what a request costs, as the tests compare it: benches/recorded.json; needs valgrind
	$(BUILD_BENCH)
	$(BENCH) --record benches/recorded.json

docs: build ## the references of keys, policies, results, tables and formats, from the code
	$(BIN)/python -m wordline.reference.pages docs

site: $(VENV)/.tools ## the documentation for a browser: out/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

figures: build $(VENV)/.tools ## the figures of the documentation, from runs of the commands on its pages
	$(BIN)/python tools/figures.py

studies: build ## the experiments of the papers: their pages in studies/
	$(BIN)/wordline study --all --sensitivity --out studies

lint: $(VENV)/.tools ## form, warnings, and the rules of the house
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release $(FEATURES) --workspace --all-targets -- -D warnings
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/python tools/house.py

format: $(VENV)/.tools ## rewrites the sources in the form that lint wants
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix $(PYTHON_FILES)
	$(BIN)/ruff format $(PYTHON_FILES)

clean: ## removes all that was built
	$(CARGO) clean
	rm -rf $(VENV) out $(RELEASE) bench.json .pytest_cache .ruff_cache
	find python studies tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
