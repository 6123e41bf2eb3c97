# `make` lists the targets. Each sets up what it needs in the same .venv, in any order, from a fresh clone.
#
# Every target is phony: a folder notes/ exists, and build/ may.
.PHONY: help note test engine measure check wheel pins clean
.DEFAULT_GOAL := help
# Two targets at once would run two pips in one environment.
.NOTPARALLEL:

# Without this the bare folder kernels/ shadows another package of that name wherever Python starts here.
export PYTHONSAFEPATH := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The first of these that is 3.11 or later is used; `make note PYTHON=/path/to/python` names another.
PYTHON := python3 python3.11 python3.12 python3.13 python3.14
PART := part-5
MEASURED := measured
BIN := .venv/bin
# In a variable, for a comma would part the arguments of a call.
WITH_ENGINE := .[engine,test]
MADE_FROM := Makefile constraints.txt constraints-engine.txt pyproject.toml setup.py

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1 /p' Makefile | while read -r target text; do printf 'make %-7s %s\n' "$$target" "$$text"; done

note: .venv/.core ## build, check and read Part 5 (another one: make note PART=part-6)
	$(BIN)/notes read $(PART)
	$(BIN)/notes build $(PART)
	$(BIN)/notes check $(PART)

test: .venv/.test ## run the linters, the layer contract and the tests
	$(BIN)/ruff check
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -n auto --dist loadfile

engine: .venv/.engine ## install the embedded engine too, with torch and its weights, so that its tests run
	$(BIN)/python -P -m campaign.engine.weights

measure: .venv/.engine ## measure Part 7's plan on this machine, in a campaign of its own in measured/ (some 20 minutes; resumes)
	@$(call fresh_campaign,$(abspath $(MEASURED)))
	cd $(MEASURED) && exec $(CURDIR)/$(BIN)/notes run part-7
	cd $(MEASURED) && $(CURDIR)/$(BIN)/notes build part-7 && $(CURDIR)/$(BIN)/notes check part-7 && $(CURDIR)/$(BIN)/notes read part-7

check: .venv/.core ## check the text of every part against its data
	$(BIN)/notes check

wheel: .venv/.test ## build the sdist, and from it the wheel, into dist/
	$(BIN)/python -m build --no-isolation

pins: ## write constraints.txt anew from a clean environment with the newest releases
	@set -eu; $(find_python); venv=$$(mktemp -d); trap 'rm -rf "$$venv"' EXIT; \
	"$$python" -m venv "$$venv"; \
	"$$venv/bin/python" -m pip install -qq --upgrade setuptools -e '.[test]'; \
	{ echo "# The versions that are tested, with Python $$("$$python" -c 'import platform; print(platform.python_version())')."; \
	  echo "# Written by \`make pins\`, used by the Makefile; not by hand."; \
	  "$$venv/bin/python" -m pip freeze --all --exclude pip --exclude-editable; } > constraints.txt.new; \
	mv constraints.txt.new constraints.txt

clean: ## remove whatever the other targets made, .venv too
	rm -rf .venv build dist src/*.egg-info .pytest_cache .hypothesis .ruff_cache .import_linter_cache
	find analysis engine kernels notes tests -name __pycache__ -prune -exec rm -rf {} +

# The stamps name what is installed. The others hold the core one, and the engine's that of its tests.
.venv/.core: $(MADE_FROM)
	@$(call set_up,.)
	@touch $@

.venv/.test: $(MADE_FROM)
	@$(call set_up,.[test])
	@touch .venv/.core $@

.venv/.engine: $(MADE_FROM)
	@$(call set_up,$(WITH_ENGINE))
	@touch .venv/.core .venv/.test $@

# Shell text that sets $python, or stops and says what is missing.
define find_python
python=; for each in $(PYTHON); do \
  if "$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$each; break; fi; \
done; \
if [ -z "$$python" ]; then \
  echo "make: none of '$(PYTHON)' runs here as Python 3.11 or later; install one, or name it: make $(or $(MAKECMDGOALS),note) PYTHON=/path/to/python" >&2; exit 2; \
fi; \
if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
  echo "make: $$python cannot make a virtual environment: its module venv or ensurepip is missing. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 2; \
fi
endef

# An environment that a broken run left behind, or that was moved here, is made anew.
define set_up
set -eu; $(find_python); \
echo "Setting up .venv (once; it fetches some 150 MB the first time)"; \
$(BIN)/python -m pip --version >/dev/null 2>&1 || "$$python" -m venv --clear .venv; \
$(BIN)/python -m pip install -qq -c constraints.txt setuptools; \
$(BIN)/python -m pip install -qq -c constraints.txt -c constraints-engine.txt --no-build-isolation -e '$(1)'
endef

# A campaign that is there is gone on with. A new one is made beside its place and moved there once its plan is sealed.
define fresh_campaign
set -eu; if [ -f $(1)/parts/part-7/seal.toml ]; then exit 0; fi; \
if [ -e $(1) ]; then \
  echo "make: $(1) is there, but holds no sealed part-7; expected a campaign of make measure, or nothing. Move it away." >&2; exit 2; \
fi; \
new=$(1).new; rm -rf "$$new"; mkdir -p "$$new/parts/part-7/data"; cp campaign.toml "$$new/"; \
cd parts/part-7; cp plan.toml credits.toml post.md.j2 "$$new/parts/part-7/"; cp data/README.md "$$new/parts/part-7/data/"; \
cores=$$($(CURDIR)/$(BIN)/python -c 'import os; print(os.cpu_count())'); \
fact() { printf '/^.facts."%s"/,/^source/s/^value = .*/value = %s/' "$$1" "$$2"; }; \
sed -e 's/^title = .*/title = "looking an n-gram up, on this machine"/' -e "s/^date = .*/date = $$(date -u +%F)/" \
  -e "$$(fact machine.cores "$$cores")" \
  -e "$$(fact beside '"What else the machine did meanwhile was not written down."')" \
  -e "$$(fact made.by '"AI agents wrote the engine, the tasks and this note; the rows were run by make measure."')" \
  facts.toml > "$$new/parts/part-7/facts.toml"; \
cd "$$new"; git init -q; who=$$(id -un 2>/dev/null || echo nobody); \
git config user.name "$$who"; git config user.email "$$who@localhost"; git config commit.gpgsign false; \
printf '/build/\n.measuring\n' > .gitignore; git add -A; git commit -qm "Plan"; $(CURDIR)/$(BIN)/notes seal part-7; \
mv "$$new" $(1)
endef
