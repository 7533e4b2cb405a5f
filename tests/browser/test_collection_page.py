"""The page of a collection in a browser: the API's numbers, and an address for every view."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from support.processes.chromium import WIDTHS, Window
from support.processes.dashboard_site import HOSTILE, Site
from support.tiers import grid

if TYPE_CHECKING:
    from playwright.sync_api import Dialog

pytestmark = pytest.mark.processes


@pytest.fixture
def tab(window: Callable[..., Window]) -> Window:
    return window()


def page_of(site: Site, name: str, query: str = "") -> str:
    return f"/collections/{site.collections[name]}{query}"


def estimates(site: Site, name: str, query: str = "") -> dict[str, dict[str, float]]:
    answer = site.get(f"/v1/collections/{site.collections[name]}/estimates{query}")
    assert answer.status_code == 200, answer.text
    return {row["label"]: row for row in answer.json()["estimates"]}


def asked(tab: Window) -> dict[str, list[str]]:
    return parse_qs(urlsplit(tab.page.url).query)


def shown(tab: Window) -> dict[str, float]:
    """Label → the estimate on the page, to the last digit."""
    return {label: row[0] for label, row in tab.numbers("estimates").items()}


def drawn_from(tab: Window) -> dict[str, Any]:
    """What the first chart is drawn from."""
    found: dict[str, Any] = tab.page.evaluate(
        "JSON.parse(document.querySelector('[data-chart]').nextElementSibling.textContent)"
    )
    return found


def open_options(tab: Window) -> None:
    tab.page.click(".options > summary")


def chart_top(tab: Window) -> float:
    """Where the first chart begins, in pixels from the top of the page."""
    top: float = tab.page.evaluate(
        "document.querySelector('[data-chart]').getBoundingClientRect().top + scrollY"
    )
    return top


@pytest.mark.parametrize(
    "name",
    grid(
        ["settings", "browsers", "minutes", "devices", "drinks"],
        by_default=["minutes"],
    ),
)
def test_the_first_chart_is_on_the_first_screen(
    window: Callable[..., Window], site: Site, name: str
) -> None:
    tab = window()
    for width, most in ((1280, 400), (390, 844 - 200)):
        tab.resize(width)
        tab.open(page_of(site, name))
        assert chart_top(tab) < most, width


@pytest.mark.exhaustive
def test_arrow_keys_go_to_the_period_before_and_back(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "settings"))
    tab.page.click("text=Newest day")
    tab.settle()
    newest = asked(tab)["from"]
    tab.page.keyboard.press("ArrowLeft")
    tab.page.wait_for_url(lambda url: f"from={newest[0]}" not in url)
    tab.settle()
    assert asked(tab)["from"] < newest
    tab.page.keyboard.press("ArrowRight")
    tab.page.wait_for_url(lambda url: f"from={newest[0]}" in url)
    tab.settle()
    open_options(tab)
    tab.page.focus("#from")
    tab.page.keyboard.press("ArrowLeft")
    assert asked(tab)["from"] == newest


def test_a_wrong_day_is_said_at_its_field_and_its_correction_takes_it_away(
    tab: Window, site: Site
) -> None:
    tab.open(page_of(site, "settings"))
    open_options(tab)
    for day, said, invalid in (("11/10/2026", "Write a day like", "true"), ("", "", None)):
        tab.page.fill("#from", day)
        with tab.page.expect_response(lambda answer: "/collections/" in answer.url):
            tab.page.dispatch_event("#from", "change")
        tab.settle()
        tab.until(f"document.querySelector('#wrong-from').textContent.startsWith('{said}')")
        assert tab.page.get_attribute("#from", "aria-invalid") == invalid
    assert tab.drawing() == 2
    assert [error for error in tab.errors if "400" not in error] == []


def test_the_estimates_of_the_page_are_those_of_the_api_to_the_last_digit(
    tab: Window, site: Site
) -> None:
    for name in ("settings", "browsers", "hostile"):
        tab.open(page_of(site, name))
        told = estimates(site, name)
        assert shown(tab) == {label: told[label]["frequency"] for label in shown(tab)}
        assert len(shown(tab)) == min(len(told), 10)
        drawn = drawn_from(tab)
        assert {row["label"]: row["value"] for row in drawn["rows"]} == shown(tab)
        assert drawn["rows"][0]["lower"] == told[drawn["rows"][0]["label"]]["lower"]


def test_choosing_epochs_changes_numbers_and_address_without_a_new_page(
    tab: Window, site: Site
) -> None:
    tab.open(page_of(site, "settings"))
    before = shown(tab)
    open_options(tab)
    tab.page.evaluate("window.stayed = true")
    day = tab.page.evaluate("new Date(Date.now() - 3 * 864e5).toISOString().slice(0, 10)")
    with tab.page.expect_response(lambda answer: f"to={day}" in answer.url):
        tab.page.fill("#to", day)
        tab.page.dispatch_event("#to", "change")
    tab.page.wait_for_url(f"**to={day}*")
    tab.settle()
    told = estimates(site, "settings", f"?to={day}")
    assert shown(tab) == {label: row["frequency"] for label, row in told.items()} != before
    assert asked(tab) == {"to": [day]}
    assert tab.page.evaluate("window.stayed") is True
    assert tab.drawing() == 2


@pytest.mark.exhaustive
def test_a_projected_view_has_an_address_that_opens_it_again(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "browsers"))
    open_options(tab)
    tab.page.click(".options label:has([value=projected])")
    tab.page.wait_for_url("**show=projected*")
    tab.settle()
    told = estimates(site, "browsers", "?projection=simplex")
    projected = {label: row["projected"] for label, row in told.items()}
    assert shown(tab) == {label: projected[label] for label in shown(tab)}
    assert asked(tab) == {"show": ["projected"]}
    tab.open(tab.page.url.removeprefix(site.address))
    assert tab.page.locator("[name=show][value=projected]").is_checked()
    assert shown(tab) == {label: projected[label] for label in shown(tab)}


@pytest.mark.exhaustive
def test_significant_only_shows_what_the_api_calls_significant(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "browsers"))
    open_options(tab)
    tab.page.click(".options label:has([value=significant])")
    tab.page.wait_for_url("**show=significant*")
    tab.settle()
    told = estimates(site, "browsers", "?significant=holm")
    sure = {label for label, row in told.items() if row["significant"]}
    assert 0 < len(sure) < 25
    assert shown(tab).keys() <= sure
    assert len(shown(tab)) == (len(sure) if len(sure) <= 12 else 10)


@pytest.mark.exhaustive
def test_the_way_back_shows_the_earlier_view(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "settings"))
    before = shown(tab)
    open_options(tab)
    tab.page.click(".options label:has([value=projected])")
    tab.page.wait_for_url("**show=projected*")
    tab.settle()
    tab.page.go_back()
    tab.page.wait_for_url(lambda url: "show" not in url)
    tab.until("document.querySelector('[name=show][value=raw]').checked")
    tab.settle()
    assert shown(tab) == before


@pytest.mark.exhaustive
def test_wider_confidence_gives_the_intervals_of_the_api(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "settings", "?confidence=0.99"))
    told = estimates(site, "settings", "?confidence=0.99")
    drawn = drawn_from(tab)
    for row in drawn["rows"]:
        assert (row["lower"], row["upper"]) == (
            told[row["label"]]["lower"],
            told[row["label"]]["upper"],
        )
    assert tab.page.input_value("#confidence") == "0.99"


def test_lines_over_time_are_the_estimates_of_each_epoch(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "settings", "?label=beta"))
    answer = site.get(
        f"/v1/collections/{site.collections['settings']}/estimates?group_by=epoch"
    ).json()
    beta = [
        row["frequency"]
        for document in answer["epochs"]
        for row in document["estimates"]
        if row["label"] == "beta"
    ]
    assert [row[1] for row in tab.numbers("over-time").values()] == beta


DATES = """() => {
  const drawing = document.querySelector("[data-name=over-time] .drawing").getBoundingClientRect();
  return [...document.querySelectorAll("[data-name=over-time] svg text")]
    .filter((text) => /^[0-9]{4}-/.test(text.textContent))
    .map((text) => [text.textContent, text.getBoundingClientRect()])
    .filter(([, place]) => place.left >= drawing.left && place.right <= drawing.right)
    .map(([day]) => day);
}"""


@pytest.mark.exhaustive
def test_the_first_and_the_last_day_of_the_time_axis_are_whole(
    window: Callable[..., Window], site: Site
) -> None:
    for width in WIDTHS:
        tab = window(width=width)
        tab.open(page_of(site, "settings"))
        days = list(tab.numbers("over-time"))
        shown = sorted(tab.page.evaluate(DATES))
        assert (shown[0], shown[-1]) == (days[0], days[-1][:10]), width


def test_lines_of_a_record_have_plain_labels(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "devices"))
    key = tab.page.inner_text("[data-name=over-time] .key")
    assert "windows, large" in key
    assert "=" not in key


def test_a_cross_tabulation_is_the_table_of_the_api(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "devices"))
    told = estimates(site, "devices", "?marginal=os,screen")
    assert tab.numbers("estimates") == {
        os: [told[f"os={os}, screen={screen}"]["frequency"] for screen in ("small", "large")]
        for os in ("linux", "mac", "windows")
    }
    assert "Do they go together?" in tab.page.inner_text("#view")


def test_numbers_show_mean_and_quantiles_of_the_api(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "minutes"))
    answer = site.get(f"/v1/collections/{site.collections['minutes']}/estimates").json()
    quantities = [answer["mean"], *answer["quantiles"]]
    told = [row[0] for row in tab.numbers("quantities").values()]
    assert told == [each["value"] for each in quantities]


@pytest.mark.exhaustive
def test_the_median_is_drawn_over_time_beside_the_mean(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "minutes"))
    tab.page.click("#over-time .chips >> text=Median")
    tab.page.wait_for_url("**label=p50**")
    tab.settle()
    assert tab.page.locator("#over-time .key li").all_inner_texts() == ["Mean", "Median"]
    assert tab.drawing() == 2
    assert tab.unreadable() == tab.errors == []


@pytest.mark.exhaustive
def test_texts_are_found_and_given_ones_are_counted(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "drinks"))
    told = estimates(site, "drinks")
    assert shown(tab) == {label: row["frequency"] for label, row in told.items()}
    assert {"tea", "coffee"} <= shown(tab).keys()
    tab.open(page_of(site, "drinks", "?candidate=tea,%20milk"))
    told = estimates(site, "drinks", "?candidate=tea&candidate=milk")
    assert shown(tab) == {label: row["frequency"] for label, row in told.items()}
    assert tab.page.locator("#over-time").count() == 0


def test_the_files_of_a_chart_hold_what_the_api_answers(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "settings", "?confidence=0.9"))
    figure = tab.page.locator("figure").first
    held, names = {}, {}
    for kind in ("CSV", "JSON"):
        href = figure.get_by_text(kind, exact=True).get_attribute("href")
        answer = tab.page.context.request.get(f"{site.address}{href}")
        held[kind], names[kind] = answer.body(), answer.headers["content-disposition"]
    told = estimates(site, "settings", "?confidence=0.9")
    rows = csv.DictReader(io.StringIO(held["CSV"].decode()))
    assert {row["label"]: float(row["frequency"]) for row in rows} == {
        label: row["frequency"] for label, row in told.items()
    }
    address = f"/v1/collections/{site.collections['settings']}/estimates?confidence=0.9"
    assert held["JSON"] == site.get(address).content
    assert names["CSV"] == 'attachment; filename="settings.csv"'


def test_a_chart_can_be_kept_as_a_picture(tab: Window, site: Site, tmp_path: Path) -> None:
    tab.open(page_of(site, "settings"))
    for kind in ("SVG", "PNG"):
        with tab.page.expect_download() as download:
            tab.page.locator("figure").first.get_by_text(kind, exact=True).click()
        download.value.save_as(tmp_path / kind)
    assert "dark_mode" in (tmp_path / "SVG").read_text()
    assert (tmp_path / "PNG").read_bytes().startswith(b"\x89PNG")


def test_texts_of_a_manifest_are_shown_as_texts_and_do_nothing(tab: Window, site: Site) -> None:
    spoken: list[str] = []

    def noted(dialog: Dialog) -> None:
        spoken.append(dialog.message)
        dialog.dismiss()

    tab.page.on("dialog", noted)
    for path in ("/", page_of(site, "hostile"), page_of(site, "hostile", "?view=table")):
        tab.open(path)
        assert HOSTILE in tab.page.inner_text("main")
        assert tab.page.locator("img[src=x]").count() == 0
    tab.page.remove_listener("dialog", noted)
    assert spoken == tab.violations() == tab.errors == []


def test_no_reports_and_releases_only_are_said_as_such(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "quiet"))
    assert "Waiting for the first report" in tab.page.inner_text("#view")
    tab.page.click("[data-copy=snippet]")
    assert "client.record" in tab.page.evaluate("getSelection().toString()")
    tab.open(page_of(site, "sealed"))
    assert "Only releases may be read" in tab.page.inner_text("#view")
    tab.page.click("text=Go to Releases")
    tab.page.wait_for_url("**/releases")


@pytest.mark.exhaustive
def test_a_search_narrows_the_list_while_one_types(tab: Window, site: Site) -> None:
    tab.open(page_of(site, "browsers"))
    tab.page.locator("#q").press_sequentially("07")
    tab.page.wait_for_url("**q=07*")
    tab.settle()
    assert shown(tab).keys() == {"browser 07"}
    assert tab.page.evaluate("document.activeElement.id") == "q"


def test_a_stranger_reads_nothing_but_what_is_asked(
    window: Callable[..., Window], site: Site
) -> None:
    tab = window(known=False)
    tab.open("/")
    assert "settings" in tab.page.inner_text("main")
    assert "Reports today" not in tab.page.inner_text("main")
    tab.open(page_of(site, "settings"))
    assert urlsplit(tab.page.url).path == "/sign-in"
    assert tab.page.locator("figure").count() == 0


def test_a_link_lets_somebody_in_to_the_page_and_signing_out_ends_it(
    window: Callable[..., Window], site: Site
) -> None:
    tab = window(known=False)
    tab.open(f"/sign-in?link={site.link}")
    assert tab.unreadable() == []
    tab.page.click("main button[type=submit]")
    tab.open(page_of(site, "settings"))
    assert "Grace" in tab.page.inner_text("header")
    assert tab.drawing() == 2
    tab.page.click("text=Sign out")
    tab.page.wait_for_url("**/sign-in")
    tab.open(page_of(site, "settings"))
    assert urlsplit(tab.page.url).path == "/sign-in"
    assert tab.violations() == tab.errors == []
