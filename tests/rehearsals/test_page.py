"""A page is a module and a template of one name: pages are found by being there."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.builders.project_copy import AGGREGATOR, Tree

pytestmark = pytest.mark.exhaustive

USES = Path(__file__).parent / "use_page.py"
DASHBOARD = f"{AGGREGATOR}/web/dashboard"
MODULE = '''
"""A page of tests."""

from __future__ import annotations

from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.web.dashboard.page import Context, Page


class HelloArguments(Arguments, frozen=True):
    """Whom it greets."""

    name: str = "you"


def view(query: HelloArguments) -> Context:
    """Only the name."""
    return {"name": query.name}


PAGE = Page(path="/hello", title="Hello", view=view, query=HelloArguments, menu=90)
'''
TEMPLATE = """
{% extends "layout.html" %}
{% block main %}<div class="heading"><h1>Good day, {{ name }}.</h1></div>{% endblock %}
"""


def test_a_page_is_a_module_and_a_template(tmp_path: Path) -> None:
    tree = Tree.copied_to(tmp_path)
    tree.add(f"{DASHBOARD}/pages/hello.py", MODULE)
    tree.add(f"{DASHBOARD}/templates/pages/hello.html", TEMPLATE)
    assert tree.changes() == {
        f"{DASHBOARD}/pages/hello.py": "added",
        f"{DASHBOARD}/templates/pages/hello.html": "added",
    }
    tree.lint(f"{DASHBOARD}/pages/hello.py")
    tree.run(str(USES))
