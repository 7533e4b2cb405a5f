"""A notebook's way from payloads to an estimate, where no service is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BLOCKED = """
import sys
for name in ("click", "deniable_aggregator", "deniable_client", "flask", "httpx", "sqlite_utils"):
    sys.modules[name] = None  # importing it fails
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["docs/explanation/how-it-works.md", "aggregator/estimators/README.md"]
)
def test_the_first_examples_need_no_service(page: str) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    code = BLOCKED + "".join(examples if "estimators" in page else examples[:1])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d", done.stdout)
