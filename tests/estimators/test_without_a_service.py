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
def test_the_first_examples_need_no_service() -> None:
    page, readme = (
        re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.M | re.S)
        for name in ("docs/explanation/how-it-works.md", "aggregator/estimators/README.md")
    )
    programs, end = (page[0], "".join(readme)), "-- end of program --\n"
    code = BLOCKED + "".join(f"exec({each!r}, {{}})\nprint({end!r}, end='')\n" for each in programs)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *printed, rest = done.stdout.split(end)
    assert [bool(re.search(r"\d", each)) for each in printed] == [True, True]
    assert rest == ""
