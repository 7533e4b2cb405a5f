"""How the site is built: `just docs`. The folder of the sources is the repository's root.

So a link between two Markdown files leads to the same file on the repository's host and here.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

HERE = Path(__file__).parent
logging.getLogger("deniable_aggregator").setLevel(logging.WARNING)
sys.path.insert(0, str(HERE))  # site_pages and site_reference, in this folder

project = "deniable"
author = "the deniable contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "site_pages"]

root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "*.md",
    "aggregator/**.md",
    "client/**.md",
    "deploy/*.md",
    "shared/*.md",
    "tests/README.md",
    "tests/support/README.md",
    "tests/benchmarks/RESULTS.md",
]
exclude_patterns = [
    ".*",
    "**/.*",
    "**/CHANGELOG.md",
    "**/changelog.d",
    "**/dist",
    "**/node_modules",
    "**/build",
    "**/docs/dbt",
]

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
toc_object_entries = False  # thousands of functions in the menu of each page: a minute of work
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
default_role = "code"  # one backtick, as in our docstrings
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other projects: their pages are not here
suppress_warnings = [
    "misc.highlighting_failure",  # a snippet may hold `...` or bytes
    "ref.python",  # one name in two packages
    "myst.header",  # a page for the repository's host may skip a level
]

smartquotes = False  # two hyphens begin an option

html_theme = "furo"
html_title = "deniable"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["root"]  # the address of the site leads to its first page
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"
