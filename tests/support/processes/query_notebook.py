"""Runs aggregator/service/docs/query.ipynb.

cd tests && python -m support.processes.query_notebook      writes its outputs again
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat as untyped
from nbclient import NotebookClient

from support.processes.published_service import Published, published

__all__ = ["NOTEBOOK", "executed", "stored"]

nbformat: Any = untyped

NOTEBOOK = Path(__file__).parents[3] / "aggregator" / "service" / "docs" / "query.ipynb"
CELL_SECONDS = 600


def stored() -> Any:
    """As it lies there, with its outputs."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(service: Published) -> Any:
    """The notebook with the outputs of this run; raises where a cell does."""
    notebook = stored()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    environ = {"DENIABLE_URL": service.url, "DENIABLE_TOKEN": service.token}
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", record_timing=False
    )
    with tempfile.TemporaryDirectory() as folder:
        client.execute(cwd=folder, env={**os.environ, **environ})
    return notebook


def rewrite() -> None:
    with tempfile.TemporaryDirectory() as folder, published(Path(folder)) as service:
        notebook = executed(service)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    NOTEBOOK.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    rewrite()
