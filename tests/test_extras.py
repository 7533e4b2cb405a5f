"""Without its extra a feature says what to install; everything else runs without any extra."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from support.tiers import by_tier

ROOT = Path(__file__).parent.parent
SERVICE = tomllib.loads((ROOT / "aggregator" / "service" / "pyproject.toml").read_text())["project"]
EXTRAS = {
    "arrow": ("pyarrow",),
    "oidc": ("authlib", "joserfc"),
    "otel": ("opentelemetry",),
    "postgres": ("psycopg", "psycopg_pool"),
    "query": ("matplotlib", "pandas"),
    "spark": ("pyspark",),
}
"""The modules that an extra brings."""

COMMAND = "from deniable_aggregator.cli import main; main(['init', '--data', 'data', '--json'])"
FEATURES = {
    "arrow": "from deniable_aggregator.query.rows import Rows; Rows([], {}).to_arrow()",
    "oidc": COMMAND,
    "otel": "import logging; logging.basicConfig()\n"
    "from deniable_aggregator.operations.tracing.exporters import tracer_from_environment\n"
    "tracer_from_environment()",
    "postgres": COMMAND,
    "query": "from deniable_aggregator.query.rows import Rows; Rows([], {}).to_pandas()",
    "spark": "from deniable_aggregator.spool.spark import SparkEngine\n"
    "list(SparkEngine()(bytes, ['a']))",
}
"""The shortest way into each extra."""

SETTINGS = {
    "oidc": {
        "DENIABLE_OIDC_ISSUER": "https://id.example.org",
        "DENIABLE_OIDC_CLIENT_ID": "deniable",
        "DENIABLE_OIDC_ROLES": "staff=viewer",
    },
    "otel": {"OTEL_TRACES_EXPORTER": "otlp"},
    "postgres": {"DENIABLE_STORE": "postgresql://db.example.org/deniable"},
}


PROGRAM = """
import contextlib, io, json, os, sys, traceback
answers = []
for code, module, settings in json.load(sys.stdin):
    sys.modules[module], before = None, dict(os.environ)
    os.environ.update(settings)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(code, {})
        except (Exception, SystemExit):
            traceback.print_exc()
    answers.append(said.getvalue())
    del sys.modules[module]
    os.environ.clear()
    os.environ.update(before)
print(json.dumps(answers))
"""
"""A module that is None cannot be imported. Nothing has imported it before its turn."""


def run(cases: Sequence[tuple[str, str, Mapping[str, str]]], folder: Path) -> list[str]:
    """What a new process says to each code, without the module and with the settings."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answers: list[str] = json.loads(ran.stdout)
    return answers


def test_every_extra_has_its_modules_and_its_feature_here() -> None:
    assert set(SERVICE["optional-dependencies"]) == set(EXTRAS) == set(FEATURES)


MODULES = [(extra, name) for extra in EXTRAS for name in EXTRAS[extra] if name != "matplotlib"]
"""Only plot() takes matplotlib: `test_query` has it."""


@pytest.mark.slow
@pytest.mark.deeper
def test_a_missing_library_is_answered_with_its_extra(tmp_path: Path) -> None:
    one_each = [(extra, EXTRAS[extra][-1]) for extra in EXTRAS]
    missing = by_tier([case for case in MODULES if case in one_each], MODULES)
    cases = [(FEATURES[extra], module, SETTINGS.get(extra, {})) for extra, module in missing]
    for (extra, module), said in zip(missing, run(cases, tmp_path), strict=True):
        assert f'pip install "deniable-aggregator[{extra}]"' in said, f"without {module}: {said}"
