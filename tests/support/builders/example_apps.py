"""The apps of client/examples, and the file that they ship."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from deniable_shared.manifest.app_file import AppFile
from support.builders.client_world import URL, Operator, manifest
from support.builders.manifest_text import manifest_of

__all__ = ["EXAMPLES", "app_file", "load"]

EXAMPLES = Path(__file__).parents[3] / "client" / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def app_file(operator: Operator, path: Path) -> Path:
    """Two questions that never end, as far as a test lives; the path."""
    dates = {"valid_from": "2026-01-01", "expires": "2099-01-01", "repeat": '"once"'}
    text = 'name = "options"\npurpose = "Which options do people use?"\nowner = "o@example.org"\n'
    text += 'epsilon = "1"\nvalid_from = 2026-01-01\nexpires = 2099-01-01\n'
    text += '[domain]\ntype = "bits"\nlabels = ["loud", "short"]\n'
    asked = manifest(**dates), manifest_of(text, ingest=[URL])
    envelopes = tuple(map(operator.sign, asked))
    path.write_bytes(AppFile((URL,), (operator.trust,), envelopes).encode())
    return path
