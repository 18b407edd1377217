"""The planner page in use: dragged, typed into, shared, saved, on a desktop and on a phone."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from meantime.forecast import Plan, forecast, to_csv
from meantime.forecast.schema import checked
from meantime.report import write_planner

pytestmark = pytest.mark.slow

COLOURS = """() => {
  const canvas = document.querySelector("canvas");
  const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let i = 0; i < bytes.length; i += 4) seen.add(bytes.slice(i, i + 4).join());
  return [...seen];
}"""
"""Colours of the chart as drawn."""
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def path(size_fit: xr.DataTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_planner(size_fit, tmp_path_factory.mktemp("planner") / "planner.html")


@pytest.fixture(scope="module")
def context(browser: Any) -> Iterator[Any]:
    opened = browser.new_context(viewport=DESKTOP, accept_downloads=True)
    yield opened
    opened.close()


class Watch:
    """A page, with what it said to the console and asked of the network."""

    def __init__(self, page: Any, path: Path, link: str = "") -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri() + link)

    def number(self, name: str) -> float:
        return float(self.page.input_value(f"#{name}"))

    def text(self, name: str) -> str:
        self.frame()
        return str(self.page.inner_text(f"#{name}")).replace("\u00a0", " ")

    def frame(self) -> None:
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.fixture
def watch(context: Any, path: Path) -> Iterator[Watch]:
    """The page; afterwards it must have been silent, and have asked for nothing but itself."""
    watched = Watch(context.new_page(), path)
    yield watched
    assert watched.complaints == []
    assert [url for url in watched.requests if not url.startswith(("blob:", path.as_uri()))] == []
    watched.page.close()


def test_dragging_a_slider_moves_field_and_figures(watch: Watch) -> None:
    box = watch.page.locator("#gpus-slider").bounding_box()
    before = watch.text("ettr")
    middle = box["y"] + box["height"] / 2
    knob = box["x"] + box["width"] * 32 / 80
    watch.page.mouse.move(knob, middle)
    watch.page.mouse.down()
    watch.page.mouse.move(box["x"] + box["width"] * 0.7, middle, steps=5)
    watch.page.mouse.up()
    watch.frame()
    assert 65_536 < watch.number("gpus") < 262_144
    assert float(watch.text("ettr")) < float(before)
    assert f"On {watch.number('gpus'):,.0f} GPUs" in watch.text("sentence")


def test_arrow_keys_move_a_slider_and_say_so(watch: Watch) -> None:
    watch.page.focus("#restart-slider")
    before = watch.number("restart")
    watch.page.keyboard.press("ArrowRight")
    watch.page.keyboard.press("ArrowRight")
    assert watch.number("restart") > before
    assert watch.page.get_attribute("#restart-slider", "aria-valuetext") == f"{watch.number('restart'):g} min"


def test_typing_a_number_gives_the_forecast_of_it(watch: Watch, size_fit: xr.DataTree) -> None:
    watch.page.fill("#gpus", "131072")
    watch.page.uncheck("#optimal")
    watch.page.fill("#interval", "30")
    watch.page.fill("#queue", "15")
    watch.frame()
    plan = Plan(checkpoint_interval="30min", queue="15min")
    want = forecast(size_fit, [131_072], plan).isel(gpus=0)
    assert watch.text("ettr") == f"{float(want['ettr'].sel(figure='median')):.3g}"
    assert watch.text("mttf") == f"{60 * float(want['mttf'].sel(figure='median')):.3g} min"
    assert "the largest job in them had 4,096 GPUs" in watch.text("extrapolated")
    watch.page.fill("#gpus", "4096")
    watch.frame()
    assert not watch.page.is_visible("#extrapolated")


@pytest.mark.parametrize("text", ["", "12", "2000000", "1500.5"])
def test_a_number_that_cannot_be_is_refused_in_words(watch: Watch, text: str) -> None:
    before = watch.text("ettr")
    watch.page.fill("#gpus", text)
    watch.frame()
    assert watch.page.get_attribute("#gpus", "aria-invalid") == "true"
    assert watch.text("gpus-hint") == "A whole number from 1,024 to 1,000,000"
    assert watch.text("ettr") == before
    watch.page.fill("#gpus", "8192")
    watch.frame()
    assert watch.page.get_attribute("#gpus", "aria-invalid") is None
    assert watch.text("gpus-hint") == "1,024 nodes of 8 GPUs"


def test_the_best_interval_can_be_left_and_taken_again(watch: Watch) -> None:
    best = watch.number("interval")
    watch.page.fill("#interval", "120")
    watch.frame()
    assert not watch.page.is_checked("#optimal")
    worse = float(watch.text("ettr"))
    watch.page.check("#optimal")
    watch.frame()
    assert watch.number("interval") == best
    assert float(watch.text("ettr")) > worse


def test_measures_are_compared_with_the_plan(watch: Watch) -> None:
    assert not watch.page.is_visible("#pool")
    without = watch.text("ettr")
    watch.page.fill("#queue", "30")
    watch.frame()
    queued = watch.text("ettr")
    watch.page.fill("#spares", "8")
    watch.page.check("#asynchronous")
    watch.page.fill("#x-0", "0.2")
    watch.frame()
    assert watch.page.is_visible("#pool")
    assert watch.page.is_visible("#blocking")
    assert f"plan alone {queued}" in watch.text("ettr-note")
    assert float(watch.text("ettr")) > float(queued)
    assert "The measures make it" in watch.text("sentence")
    assert watch.text("spares-hint") == "64 GPUs stand by idle."
    watch.page.click("#reset")
    watch.frame()
    assert watch.text("ettr") == without


def test_a_link_carries_the_whole_plan(watch: Watch, context: Any, path: Path) -> None:
    watch.page.fill("#gpus", "24576")
    watch.page.fill("#write", "12")
    watch.page.fill("#interval", "20")
    watch.page.fill("#spares", "3")
    watch.page.check("#asynchronous")
    watch.page.fill("#x-0", "0.4")
    watch.page.click("#copy")
    link = watch.page.input_value("#link")
    other = Watch(context.new_page(), path, "#" + link.partition("#")[2])
    assert other.page.evaluate("meantime.current()") == watch.page.evaluate("meantime.current()")
    for name in ("ettr", "days", "days-note", "sentence"):
        assert other.text(name) == watch.text(name)
    other.page.evaluate("location.hash = 'gpus=2048&write=-1&restart=never&x.nothing=1&optimal=1'")
    other.frame()
    assert (other.number("gpus"), other.number("write"), other.number("restart")) == (2048, 30, 5)
    assert other.complaints == []
    other.page.close()


def saved(watch: Watch, button: str) -> str:
    with watch.page.expect_download() as download:
        watch.page.click(button)
    return Path(download.value.path()).read_text("utf-8")


def test_saved_json_keeps_to_the_schema(watch: Watch) -> None:
    watch.page.fill("#gpus", "24576")
    watch.page.fill("#fewer_restart", "0.5")
    watch.frame()
    content = json.loads(saved(watch, "#json"))
    document: Any = checked(content)
    assert document.schema_ == "meantime.forecast/1"
    assert [row.gpus for row in document.rows[::2]] == sorted([24_576, *(2**power for power in range(10, 20))])
    assert [row["measures"] for row in content["rows"][:2]] == [[], ["restart x 0.5"]]
    shown = next(row for row in document.rows if row.gpus == 24_576 and row.measures)
    assert f"{shown.ettr.median:.3f}" == watch.text("ettr")
    assert document.rows[0].plan.checkpoint_interval == "optimal"
    assert content["planner"]["settings"]["gpus"] == 24_576


def test_saved_csv_has_the_columns_of_the_command(watch: Watch, size_fit: xr.DataTree) -> None:
    rows = list(csv.reader(io.StringIO(saved(watch, "#csv"))))
    want = next(csv.reader(io.StringIO(to_csv(forecast(size_fit, [1024], Plan(checkpoint_interval="1h"))))))
    assert rows[0] == [*want, "measures"]
    assert {len(row) for row in rows} == {len(rows[0])}


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_is_wider_than_the_screen(browser: Any, path: Path, viewport: dict[str, int]) -> None:
    context = browser.new_context(viewport=viewport)
    watched = Watch(context.new_page(), path, "#gpus=1000000&spares=9&asynchronous=1&queue=600&x.pcie=0.5")
    assert watched.page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    watched.page.evaluate("document.getElementById('x-0').scrollIntoView()")
    box = watched.page.locator("#ettr").bounding_box()
    assert 0 <= box["y"] < viewport["height"], "the figures stay in view while a control is moved"
    assert watched.complaints == []
    context.close()


def test_a_scale_from_one_gpu(browser: Any, size_fit: xr.DataTree, tmp_path: Path) -> None:
    path = write_planner(size_fit, tmp_path / "planner.html", smallest=1, largest=512, gpus=8)
    watched = Watch(browser.new_page(), path, "#gpus=1")
    want = forecast(size_fit, [1], Plan(checkpoint_interval="1h"))["mttf"].sel(figure="median").item() / 24
    assert watched.text("mttf") == f"{want:,.0f} d"
    assert watched.text("gpus-hint") == "1 node of 8 GPUs"
    assert not watched.page.is_visible("#extrapolated")
    assert watched.complaints == []
    watched.page.close()


def test_every_control_has_a_name_and_is_reached_by_tab(watch: Watch) -> None:
    assert watch.page.evaluate(
        """[...document.querySelectorAll("input, button")].filter(one => !(
             one.textContent || one.labels?.length || document.getElementById(one.getAttribute("aria-labelledby") ?? "")
           )).map(one => one.id)"""
    ) == []  # fmt: skip
    assert watch.page.evaluate("""[...document.querySelectorAll("[tabindex]")].every(one => one.tabIndex <= 0)""")
    watch.page.focus("#gpus")
    watch.page.keyboard.press("Tab")
    assert watch.page.evaluate("document.activeElement.id") == "gpus-slider"


def test_the_keyboard_alone_makes_a_plan(watch: Watch) -> None:
    """Tab goes through the controls as they stand, the focus in sight; space and the keys of sliders set them."""
    order = watch.page.evaluate(
        """[...document.querySelectorAll("#form input, #form summary")]
             .filter(one => one.offsetParent && !one.closest("details:not([open]) > :not(summary)"))
             .map(one => one.id || one.tagName)"""
    )
    watch.page.focus("#gpus")
    for name in order:
        seen = watch.page.evaluate(
            """() => { const one = document.activeElement, style = getComputedStyle(one);
                       return [one.id || one.tagName, style.outlineStyle, parseFloat(style.outlineWidth)]; }"""
        )
        assert seen[0] == name
        assert seen[1] != "none", name
        assert seen[2] >= 1, name
        watch.page.keyboard.press("Tab")
    before = watch.text("ettr")
    watch.page.focus("#optimal")
    watch.page.keyboard.press("Space")
    assert not watch.page.is_checked("#optimal")
    watch.page.focus("#interval-slider")
    watch.page.keyboard.press("End")
    assert watch.number("interval") == 720
    assert watch.text("ettr") != before
    watch.page.focus("#asynchronous")
    watch.page.keyboard.press("Space")
    watch.frame()
    assert watch.page.is_visible("#blocking")


def test_dark_and_light_follow_the_screen(browser: Any, path: Path) -> None:
    paper = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport=DESKTOP, color_scheme=scheme)
        watched = Watch(context.new_page(), path)
        watched.frame()
        paper[scheme] = watched.page.evaluate("getComputedStyle(document.body).backgroundColor")
        drawn = watched.page.evaluate(COLOURS)
        assert ({"light": "0,114,178,255", "dark": "92,179,234,255"})[scheme] in drawn
        context.close()
    assert paper == {"light": "rgb(255, 255, 254)", "dark": "rgb(23, 27, 33)"}


def test_hostile_names_stay_text(browser: Any, hostile_fit: xr.DataTree, tmp_path: Path) -> None:
    path = write_planner(hostile_fit, tmp_path / "planner.html", title="<img src=x onerror=alert(4)>")
    page = browser.new_page()
    watched = Watch(page, path)
    page.on("dialog", lambda dialog: watched.complaints.append(dialog.message))
    assert page.locator("h1").inner_text() == "<img src=x onerror=alert(4)>"
    assert "<script>alert(1)</script>" in page.inner_text("#x-0-label")
    page.fill("#x-0", "0.5")
    page.click("#copy")
    link = page.input_value("#link")
    page.goto(path.as_uri() + "#" + link.partition("#")[2])
    page.reload()
    assert watched.number("x-0") == 0.5
    row = list(csv.DictReader(io.StringIO(saved(watched, "#csv"))))[-1]
    assert row["measures"] == "<script>alert(1)</script> x 0.5"
    assert page.evaluate("document.scripts.length") == 2
    assert watched.complaints == []
    page.close()
