# What we run. CI (.ci/run) and the commit hooks (.pre-commit-config.yaml) call these recipes: nothing is checked in two ways.

set positional-arguments

# List the recipes.
@default:
    just --list --unsorted

# Install what a contributor needs, and the commit hooks.
setup:
    uv sync --group lint --group deploy --group release
    uv run --no-sync prek install

# Check the style, and change nothing.
lint:
    uv run --no-sync ruff check .
    uv run --no-sync ruff format --check .

# Check who imports whom, that each distribution declares what it imports, and that something calls what is defined.
imports:
    uv run --no-sync lint-imports --no-logo
    uv run --no-sync deptry --no-ansi --config shared/pyproject.toml shared
    uv run --no-sync deptry --no-ansi --config client/pyproject.toml client
    uv run --no-sync deptry --no-ansi --config aggregator/central/pyproject.toml aggregator/central
    uv run --no-sync deptry --no-ansi --config aggregator/estimators/pyproject.toml aggregator/estimators
    uv run --no-sync deptry --no-ansi --config aggregator/gateway/pyproject.toml aggregator/gateway
    uv run --no-sync deptry --no-ansi --config aggregator/service/pyproject.toml aggregator/service
    uv run --no-sync vulture

# Check the types: of everything, again of what others import, and that the client hides none.
types:
    uv run --no-sync mypy
    uv run --no-sync pyright
    uv run --no-sync pyright --ignoreexternal --verifytypes deniable_client

# Mend the style where a program can.
fmt:
    uv run --no-sync ruff check --fix .
    uv run --no-sync ruff format .

# Run the tests, or those that are named: just test tests/client -k consent
test *arguments:
    uv run pytest "$@"

# Run what starts nothing and takes no time, one case of each test: a minute.
fast *arguments:
    uv run pytest -m fast "$@"

# Run whole grids, storms, histories of years and audits of samples: ten minutes to half an hour.
exhaustive *arguments:
    uv run pytest -m exhaustive "$@"

# Run soaks, a thousand browsers, the longest audits, and the same integers on Spark (Java 17): three hours, each week.
long:
    uv sync --inexact --package deniable-aggregator --extra spark
    uv run pytest -n0 -m "long or spark"

# What spends and keeps a budget is tested by these, too.
guards := "tests/service/operations/test_wrong_database.py tests/service/operations/test_backup.py tests/service/operations/test_backed_up_keys.py tests/service/access/test_audit_acts.py tests/service/collections/test_archiving.py"

# Check, test and build the web client. Needs Node.js 20; nothing else here does.
web:
    npm --prefix client/web ci --no-audit --no-fund
    npm --prefix client/web run lint
    npm --prefix client/web run test
    npm --prefix client/web run build

# Show the branches of the client and of releases that their tests leave out. There must be none.
coverage:
    uv run --group coverage pytest --cov --cov-report=term-missing:skip-covered tests/client tests/central tests/service/releases {{ guards }}

# Build the documentation's site in dist/site. A warning is an error; so is a link that leads nowhere.
docs folder="dist/site":
    uv sync --quiet --inexact --group docs
    uv run --no-sync sphinx-build --quiet --fail-on-warning --keep-going --jobs auto --conf-dir docs . {{ folder }}

# Install each wheel alone and run its fast tests.
alone:
    .ci/alone

# Build the wheels twice, from two folders, and compare them byte for byte.
wheels folder="dist":
    .ci/wheels {{ folder }}

# Install each distribution with the oldest versions that it accepts, and run its tests.
oldest:
    .ci/alone --oldest

# Everything that must hold before a change lands.
ci:
    .ci/run

# Start a service with the answers of people who do not exist.
demo:
    uv run deniable demo

# Show what the fragments say that the next release brings, and change nothing.
changelog version="0.1.0":
    .ci/changelog --draft {{ version }}

# Move the fragments into the changelogs, for a release.
release version:
    .ci/changelog --yes {{ version }}

# Write what each distribution installs: a CycloneDX file next to its wheel.
sbom folder="dist":
    .ci/sbom {{ folder }}
