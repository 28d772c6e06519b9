# Everything runs from .venv, which is made, and made anew, as the requirements ask.
# Programs that are missing are installed with brew, or by root with apt-get; else they are named.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8501
PROCESSES ?= 2

VENV := .venv
CONSTRAINTS := constraints.txt
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -c $(CONSTRAINTS)

# $(call system,NAMES) installs packages of the operating system, or names them.
system = if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy $(1); \
	elif command -v brew >/dev/null; then brew install $(1); \
	else echo "Please install" $(1)", then run make again:" \
		"sudo apt-get install" $(1)", say." >&2; exit 1; fi

LATEX := texlive-latex-base texlive-latex-recommended texlive-pictures

# The tests start dozens of processes: each takes what the first has compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run crowd test test-all test-newest test-oldest check shots editor runtime clean

run: $(VENV)/run.stamp
	$(BIN)/python -m ncd serve --host $(HOST) --port $(PORT)

# The app in several processes behind one address, for a crowd.
crowd: $(VENV)/run.stamp
	@command -v caddy >/dev/null || { $(call system,caddy); }
	$(BIN)/python -m ncd crowd --host $(HOST) --port $(PORT) --processes $(PROCESSES)

# What must pass before a change lands: large products of cases are sampled by a seed.
# The browser's workers share one server, and wait for it often: three keep two cores busy.
# What fails is run once more, alone: on a busy machine a browser or a process can be late.
AGAIN := --last-failed --last-failed-no-failures none
TYPES = $(BIN)/mypy
test: $(VENV)/system.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/oxlint
	$(TYPES) & types=$$!; ( \
		$(BIN)/pytest -n auto -m "not browser" --durations=15 $(CASES) || \
		$(BIN)/pytest -m "not browser" $(AGAIN) $(CASES) \
	); tests=$$?; wait $$types && exit $$tests
	$(BIN)/pytest -n 3 --dist worksteal -m browser --durations=15 $(CASES) tests/browser || \
		$(BIN)/pytest -m browser $(AGAIN) $(CASES) tests/browser

# The same with every case.
test-all: CASES := --all
test-all: test

# The same with the newest versions that the requirements permit, in an environment made anew: to
# run by hand now and then, as constraints.txt hides what they change. Of torch it is the same build.
test-newest:
	rm -rf build/newest
	mkdir -p build
	grep '^torch==' constraints.txt > build/torch.txt
	$(MAKE) VENV=build/newest CONSTRAINTS=build/torch.txt build/newest/system.stamp
	build/newest/bin/python -m pip freeze > build/newest.txt
	$(MAKE) VENV=build/newest CONSTRAINTS=build/torch.txt test

# The same with the oldest versions that the requirements permit, and the newest of what those need.
# Of torch it is the same build: older ones for a CPU are in no index but PyTorch's own. So the lower
# bound of torch is not tested here. Nor are types checked: old libraries know fewer of their own.
# CASES="--few 1 tests/run" runs some of the tests, and the browser's.
test-oldest:
	rm -rf build/oldest build/uv
	mkdir -p build && $(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install --disable-pip-version-check -q uv
	grep '^torch==' constraints.txt > build/torch.txt
	build/uv/bin/uv pip compile -q --resolution lowest-direct --all-extras -c build/torch.txt \
		--python build/uv --no-annotate pyproject.toml -o build/oldest.txt
	$(MAKE) VENV=build/oldest CONSTRAINTS=build/oldest.txt TYPES=true test

# The fast ones, and one case of each, for every commit.
check: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/oxlint
	$(BIN)/mypy
	$(BIN)/pytest -n auto -m "not browser and not slow" --few 1

# A picture of every page, light and dark, into shots/.
shots: $(VENV)/system.stamp
	$(BIN)/python -m tools.load.page_shots

# The script of the text editor, anew from its parts on npm, into assets/editor/.
editor:
	cd tools/editor && npm ci && npm run build

# ONNX Runtime Web, which runs systems in the pages of the static site, anew from npm.
RUNTIME := onnxruntime-web@1.30.0
runtime:
	mkdir -p build/runtime && cd build/runtime && tar xzf "$$(npm pack --silent $(RUNTIME))"
	sed '/sourceMappingURL/d' build/runtime/package/dist/ort.wasm.bundle.min.mjs > assets/runtime/ort.mjs
	gzip -9 -n -c build/runtime/package/dist/ort-wasm-simd-threaded.wasm > assets/runtime/ort.wasm.gz

clean:
	rm -rf .venv build *.egg-info shots .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/run.stamp: requirements.txt $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12, say.")'
	@$(PYTHON) -c 'import ensurepip' || { $(call system,python3-venv); }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -r requirements.txt
	touch $@

$(VENV)/dev.stamp: requirements-dev.txt requirements-ray.txt $(VENV)/run.stamp
	$(INSTALL) -r requirements.txt -r requirements-dev.txt -r requirements-ray.txt
	touch $@

# Graphviz draws the autograd graphs; Chromium's headless shell, which draws no window, is the
# browser of the tests. Where it is no package, Playwright brings its own. Without LaTeX the tests
# that compile a figure are skipped.
$(VENV)/system.stamp: $(VENV)/dev.stamp
	@missing=; \
	command -v dot >/dev/null || missing="$$missing graphviz"; \
	command -v caddy >/dev/null || missing="$$missing caddy"; \
	if grep -qsx ID=debian /etc/os-release; then \
		command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
			missing="$$missing chromium-headless-shell"; \
	fi; \
	[ -z "$$missing" ] || { $(call system,$$missing); }
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
		$(BIN)/playwright install --only-shell chromium
	@command -v pdflatex >/dev/null || ! command -v apt-get >/dev/null || [ "$$(id -u)" != 0 ] || { \
		$(call system,--no-install-recommends $(LATEX)); }
	touch $@
