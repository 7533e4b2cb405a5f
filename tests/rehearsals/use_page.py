"""The page at /hello: it is there, it is in the menu, and it asks for the role that it names."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from support.builders.api_world import opened

if __name__ == "__main__":
    with opened(Path(mkdtemp())) as world:
        page = world.page("/hello?name=Ada")
        assert page.status_code == 200, page.text
        assert "Good day, Ada." in page.text
        assert 'href="/hello"' in world.page("/health").text
        stranger = world.page("/hello", None)
        assert "/sign-in" in str(stranger.location), stranger.status
