"""Public results as a page, and in a frame of another site."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.processes.chromium import THEMES, WIDTHS, Window, axe_found
from support.processes.dashboard_site import Site
from support.tiers import by_tier, grid

pytestmark = pytest.mark.processes


@contextmanager
def other_site(html: str) -> Iterator[str]:
    """The address of a server that answers with this page."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


FRAMED = by_tier(
    ("settings", "minutes", "quiet", "published"),
    ("settings", "browsers", "minutes", "devices", "hostile", "quiet", "sealed", "published"),
)


@pytest.mark.deeper
@pytest.mark.parametrize("width", grid(WIDTHS, by_default=[min(WIDTHS)]))
def test_a_chart_to_embed_is_readable_fits_and_breaks_no_rule(
    window: Callable[..., Window], width: int
) -> None:
    tab = window(width=width, known=False)
    for turn, name in enumerate(FRAMED, WIDTHS.index(width)):
        tab.page.goto(f"{tab.site.address}/embed/{name}?theme={THEMES[turn % 2]}")
        assert axe_found(tab.page) == [], name
        assert tab.overflow() <= 0, name
        assert tab.violations() == [], name
        assert tab.errors == [], name


def test_a_chart_follows_the_theme_of_the_system(window: Callable[..., Window]) -> None:
    tab = window(known=False)
    colours = set()
    for system in THEMES:
        tab.page.emulate_media(color_scheme=system)  # type: ignore[arg-type]  # a str; playwright lists the themes
        tab.page.goto(f"{tab.site.address}/embed/settings")
        colours.add(tab.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


def test_another_site_frames_the_chart_and_its_link_opens_the_public_page(
    window: Callable[..., Window], site: Site
) -> None:
    tab = window(known=False)
    html = f'<iframe src="{site.address}/embed/settings" width="400" height="400"></iframe>'
    with other_site(html) as address:
        tab.page.goto(address)
        link = tab.page.frame_locator("iframe").get_by_role("link")
        with tab.page.context.expect_page() as opened:
            link.press("Enter")
    opened.value.wait_for_load_state()
    assert opened.value.url == f"{site.address}/public/settings"
    assert tab.page.context.cookies() == []


def test_a_public_page_needs_no_sign_in_and_the_chart_is_on_it(
    window: Callable[..., Window],
) -> None:
    tab = window(known=False)
    tab.open("/public/settings")
    assert tab.page.locator("[data-chart][data-drawn]").count() == 2
    assert tab.page.get_by_role("link", name="Sign in").is_visible()
    tab.page.click("text=Put this chart on your own page")
    assert "/embed/settings" in tab.page.locator("#snippet").inner_text()


@pytest.mark.parametrize(
    "name",
    grid(
        ["settings", "browsers", "minutes", "devices", "published"],
        by_default=["published"],
    ),
)
def test_the_first_public_chart_is_on_the_first_screen(
    window: Callable[..., Window], name: str
) -> None:
    tab = window(known=False)
    for width, most in ((1280, 340), (390, 560)):
        tab.resize(width)
        tab.open(f"/public/{name}")
        assert chart_top(tab) < most, width


def chart_top(tab: Window) -> float:
    """Where the first chart begins, in pixels from the top of the page."""
    top: float = tab.page.evaluate(
        "document.querySelector('[data-chart]').getBoundingClientRect().top + scrollY"
    )
    return top


def test_a_read_only_link_opens_its_question_and_leaves_the_address_bar(
    window: Callable[..., Window],
) -> None:
    admin = window(role="admin")
    admin.open("/collections/settings/share")
    admin.page.fill("#label", "Board")
    admin.page.click("text=Make a link")
    admin.settle()
    address = admin.page.locator("#secret").inner_text()
    assert "/shared#dn_" in address
    reader = admin  # in the same tab, as a stranger: a second one would start a process
    reader.page.context.clear_cookies()
    reader.page.goto(address)
    reader.page.wait_for_url("**/collections/settings-*")
    reader.settle()
    assert "dn_" not in reader.page.url
    assert reader.page.evaluate("document.referrer") in ("", f"{reader.site.address}/shared")
    assert reader.page.get_by_role("heading", name="Which settings").is_visible()
    assert (reader.errors, reader.violations()) == ([], [])


@pytest.mark.exhaustive
def test_the_page_of_shared_links_is_readable_without_a_link(
    window: Callable[..., Window],
) -> None:
    for width in WIDTHS:
        tab = window(width=width, known=False)
        tab.open("/shared")
        for theme in THEMES:
            tab.theme(theme)
            assert tab.unreadable() == []
            assert tab.overflow() <= 0
        assert tab.page.locator("#secret").is_visible()


def test_a_note_is_drawn_on_the_chart_over_time(window: Callable[..., Window]) -> None:
    tab = window()
    tab.open("/collections/settings")
    assert tab.page.locator("#over-time svg text", has_text="released 2.0").count() == 1


def test_an_axis_of_shares_has_round_ticks_also_below_zero(window: Callable[..., Window]) -> None:
    tab = window()
    tab.open("/public/settings")
    tab.page.evaluate(
        """() => {
          const twin = document.querySelector("#over-time [data-chart]").nextElementSibling;
          const chart = JSON.parse(twin.textContent);
          chart.lines[0].value[1] = -0.05;
          chart.lines[0].upper[1] = 0.9;
          twin.textContent = JSON.stringify(chart);
        }"""
    )
    tab.theme("dark")
    labels = tab.page.locator("#over-time svg text").all_text_contents()
    shares = [label for label in labels if label.endswith("%")]
    assert shares == [f"{each}\u202f%" for each in ("−25", "0", "25", "50", "75", "100")]
