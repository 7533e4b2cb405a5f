"""`Database` of sqlite-utils, without pandas.

sqlite-utils loads pandas where it is installed, to know its types. No row here has one, and each
process would take half a second and 79 MB for it.
"""

from __future__ import annotations

import sys

__all__ = ["Database"]

_absent = "pandas" not in sys.modules
if _absent:
    sys.modules["pandas"] = None  # type: ignore[assignment]  # None hides a module
try:
    from sqlite_utils import Database
finally:
    if _absent:
        del sys.modules["pandas"]
