"""The alert rules: promtool takes them, each fires when it should, all speak of real metrics."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import site_reference
from support.processes.installed_programs import program

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "deniable.rules.yml"
CASES = RULES.with_name("deniable.rules.test.yml")


def test_promtool_accepts_the_rules_and_each_fires_when_it_should() -> None:
    promtool = program("promtool", "apt-get install prometheus")
    for command in (["check", "rules", RULES.name], ["test", "rules", CASES.name]):
        said = subprocess.run(
            [promtool, *command], cwd=RULES.parent, capture_output=True, text=True
        )
        assert said.returncode == 0, said.stdout + said.stderr


def test_of_every_alert_it_is_tested_when_it_fires_and_when_it_is_silent() -> None:
    alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
    names = re.findall(r"name: (\w+) (fires|is silent)", CASES.read_text())
    assert len(alerts) >= 10
    assert sorted(names) == sorted((name, way) for name in alerts for way in ("fires", "is silent"))


def test_the_rules_speak_of_metrics_that_there_are() -> None:
    page = site_reference.expanded((ROOT / "docs" / "reference" / "metrics.md").read_text())
    documented = re.findall(r"^\| `(deniable_\w+)` \|", page, re.M)
    used = set(re.findall(r"\bdeniable_\w+", RULES.read_text()))
    assert len(used) > 10
    assert {name.removesuffix("_bucket") for name in used} <= set(documented)
