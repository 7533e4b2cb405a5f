"""Without its extra a feature says what to install; everything else runs without any extra."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.tiers import rows

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


def run(code: str, *, without: str, settings: Mapping[str, str], folder: Path) -> str:
    """What a new process prints in which this module cannot be imported."""
    block = f"import sys; sys.modules[{without!r}] = None\n"
    ran = subprocess.run(
        [sys.executable, "-c", block + code],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return ran.stdout + ran.stderr


def test_every_extra_has_its_modules_and_its_feature_here() -> None:
    assert set(SERVICE["optional-dependencies"]) == set(EXTRAS) == set(FEATURES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "module"),
    rows(
        [(extra, module) for extra in EXTRAS for module in EXTRAS[extra] if module != "matplotlib"],
        by_default=[(extra, EXTRAS[extra][-1]) for extra in EXTRAS],
    ),
)
def test_a_missing_library_is_answered_with_its_extra(
    extra: str, module: str, tmp_path: Path
) -> None:
    """Only plot() takes matplotlib: `test_query` has it."""
    settings = SETTINGS.get(extra, {})
    said = run(FEATURES[extra], without=module, settings=settings, folder=tmp_path)
    assert f'pip install "deniable-aggregator[{extra}]"' in said, said
