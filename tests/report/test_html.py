"""The report: one safe, accessible, self-contained file that says what the fit says."""

import datetime as dt
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import xarray as xr

from meantime.datasets import measure_runs
from meantime.errors import InputError
from meantime.forecast import FasterRestart, Plan, forecast, mitigate
from meantime.report import sections, write_report
from meantime.report.html import render
from meantime.report.plans import GPUS

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
JOBS = pl.DataFrame(
    [
        {"job_id": name, "attempt": attempt, "cluster": "RSC-1", "submit": START, "n_gpus": 8, "state": state,
         "start": START + dt.timedelta(hours=begin), "end": START + dt.timedelta(hours=end)}
        for name, attempt, begin, end, state in (
            ("<script>alert(5)</script>", 1, 0, 100, "COMPLETED"),
            ("b", 1, 0, 40, "NODE_FAIL"),
            ("b", 2, 41, 100, "COMPLETED"),
        )
    ]
)  # fmt: skip
"""Two runs, one of which a node interrupts."""
LIMIT = 3_000_000
"""Largest size of a report in bytes."""
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "a", "div", "nav", "ol", "li", "main", "header", "section",
    "footer", "h1", "h2", "h3", "p", "span", "dl", "dt", "dd", "table", "thead", "tbody", "tfoot", "tr", "th", "td",
    "figure", "figcaption", "svg", "g", "path", "use", "text", "defs", "clippath", "rect",
}  # fmt: skip
VOID = {"meta"}


class Page(HTMLParser):
    """What a browser finds in a page: elements with their attributes, and the texts between."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts).replace("\u00a0", " "))


@pytest.fixture(scope="module")
def html(size_fit: xr.DataTree) -> str:
    return render(size_fit)


@pytest.fixture(scope="module")
def hostile(hostile_fit: xr.DataTree) -> str:
    return render(hostile_fit, title="<img src=x onerror=alert(4)>")


@pytest.mark.parametrize("which", ["html", "hostile"])
def test_the_page_is_well_formed_and_runs_nothing(which: str, request: pytest.FixtureRequest) -> None:
    page = Page(request.getfixturevalue(which))
    assert page.open == []
    assert {tag for tag, _ in page.elements} <= ALLOWED
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], tag


@pytest.mark.parametrize("which", ["html", "hostile"])
def test_the_page_asks_for_nothing(which: str, request: pytest.FixtureRequest) -> None:
    html = request.getfixturevalue(which)
    page = Page(html)
    for _, attributes in page.elements:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "@import" not in html
    assert "javascript:" not in html
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", html))
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none';")
    assert "script" not in str(policy)


def test_hostile_names_are_shown_as_text(hostile: str, hostile_names: list[str]) -> None:
    page = Page(hostile)
    for name in hostile_names[:3]:
        assert name in page.text
    for name in ("<img src=x onerror=alert(4)>", "<script>alert(2)</script>", "<script>alert(3)</script>"):
        assert name in page.text, name
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", hostile)


def test_ids_are_unique_and_links_lead_somewhere(html: str) -> None:
    page = Page(html)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        targets = [attributes["href"][1:]] if attributes.get("href") else []  # type: ignore[index]
        targets += (attributes.get("aria-labelledby") or "").split()
        assert set(targets) <= set(ids)
    assert len([a for a in page.all("a") if a["href"] != "#summary"]) == 8


def test_the_page_is_accessible(html: str) -> None:
    page = Page(html)
    assert page.all("html")[0]["lang"] == "en-GB"
    assert len(page.all("h1")) == 1
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    assert all(svg["role"] == "img" and len(str(svg["aria-label"])) > 40 for svg in page.all("svg"))
    assert len(page.all("svg")) == 12
    assert all("scope" in cell for cell in page.all("th"))
    assert all("aria-labelledby" in table for table in page.all("table"))
    assert all("tabindex" in box for box in page.all("div") if box.get("role") == "region")


@pytest.mark.slow
def test_the_size_is_within_the_limit(html: str, hostile: str, make_fit: object) -> None:
    many = make_fit(clusters=tuple(f"c{i}" for i in range(22)), components=[f"part {i}" for i in range(200)], draws=20)  # type: ignore[operator]
    for page in (html, hostile, render(many)):
        assert len(page.encode()) < LIMIT


def test_the_first_table_is_the_forecast(html: str, size_fit: xr.DataTree) -> None:
    expected = forecast(size_fit, gpus=[*GPUS], plan=Plan(restart="5min", checkpoint_write="30s"))
    found = re.search(r'<th scope="row">16,384.*?</tr>', html, re.S)
    assert found is not None
    numbers = [float(value) for value in re.findall(r"<td>(\d[\d.]*)", found[0])]
    median = expected.sel(figure="median", gpus=16384)
    wanted = [median["mttf"] * 60, median["ettr"], median["ettr_run"], median["chosen_interval"] * 60,
              median["failures_per_day"], median["days_to_finish"]]  # fmt: skip
    assert numbers == pytest.approx([float(value) for value in wanted], rel=5.1e-3)


def test_rates_are_in_the_table_as_counted_and_fitted(html: str, size_fit: xr.DataTree) -> None:
    data = size_fit["fit_data"]
    n = int(data["failures"].sel(component="infiniband_link").sum())
    raw = 1000 * n / float(data["exposure"].sum())
    table = html[html.index('id="rates-caption"') :]
    row = re.search(r'<tr><th scope="row">InfiniBand link</th><td>(\d+)</td><td>([\d.]+)</td><td>([\d.]+)</td>', table)
    assert row is not None
    rate = (size_fit["posterior"]["rate"] * data["exposure"]).sum("job_size") / data["exposure"].sum("job_size")
    fitted = 1000 * float(np.median(rate.sel(component="infiniband_link")))
    assert [float(value) for value in row.groups()] == pytest.approx([n, raw, fitted], rel=5.1e-3)


@pytest.mark.slow
def test_measures_are_ranked_by_what_they_gain(html: str, size_fit: xr.DataTree) -> None:
    """The first row of the table is the measure that the summary names; its gain is that of mitigate."""
    plan = Plan(restart="5min", checkpoint_write="30s")
    gain = mitigate(size_fit, 131_072, plan, [FasterRestart(factor=0.5)])["gain_alone"].sel(figure="median").item()
    table = html[html.index('id="fix-caption"') :]
    row = re.search(r'<tr><th scope="row">Halve the restart time</th><td>([\d.]+) ', table)
    assert row is not None
    assert float(row[1]) == pytest.approx(gain, abs=6e-4)
    gains = [float(value) for value in re.findall(r"failures</th><td>([\d.]+) ", table)]
    assert len(gains) == 5
    assert gains == sorted(gains, reverse=True)
    first = re.search(r'<tbody>\s*<tr><th scope="row">([^<]+)<', table)
    assert first is not None
    assert f"{first[1]}: at 131,072 GPUs that alone raises the expected ETTR" in Page(html).text


@pytest.mark.slow
def test_a_log_adds_runs_and_losses(size_fit: xr.DataTree) -> None:
    """Two runs of 8 GPUs: 100 h, of which the first attempt of the second lost 0.9 h and 5 min of restart each."""
    page = Page(render(size_fit, gpus=[1024], jobs=JOBS))
    text = page.text
    assert "The log holds 2 runs." in text
    assert "Failures of the infrastructure ended 1 attempts" not in text
    assert "Failures of the infrastructure ended 1 attempt and cost it 4.00 GPU-hours" in text
    assert "<script>alert(5)</script>" in text
    assert "script" not in {tag for tag, _ in page.elements}
    assert len(page.all("svg")) == 18
    row = re.search(r"Runs ETTR 90 % interval 8 2 ([\d.]+)", text)
    assert row is not None
    assert float(row[1]) == pytest.approx(
        measure_runs(JOBS)["productive"].sum() / measure_runs(JOBS)["wallclock"].sum(), abs=6e-4
    )


def test_tables_name_what_they_leave_out(make_fit: object) -> None:
    names = [f"part {index}" for index in range(75)]
    tree = make_fit(components=names, draws=20)  # type: ignore[operator]
    total = int(tree["fit_data"]["failures"].sum())
    for table in (sections.failures_by_size(tree), sections.rate_table(tree, "RSC-1")):
        assert len(table.rows) == 61
        assert table.rows[-1][0] == "15 others together"
    counted = [int(row[1].replace(",", "")) for row in sections.rate_table(tree, "RSC-1").rows]
    assert sum(counted) == total
    everything = [int(row[-1].replace(",", "")) for row in sections.failures_by_size(tree).rows]
    assert sum(everything) == total


def test_an_unconverged_fit_is_announced_first(html: str, hostile: str) -> None:
    assert "did not converge" in Page(hostile).text.split("Summary")[1]
    assert 'role="alert"' in hostile
    assert hostile.index('role="alert"') < hostile.index('id="summary"')
    assert 'role="alert"' not in html


def test_a_fit_of_counts_has_a_report(component_fit: xr.DataTree) -> None:
    text = Page(render(component_fit, gpus=[16384])).text
    assert "Failures and forecast: Llama 3" in text
    assert "The rate of a node does not depend on the size of the job." in text
    assert re.search(r"Faulty GPU accounts for 4[78] % of all failures", text)  # 148 of 311 as counted


@pytest.mark.slow
def test_several_clusters_say_which_one_is_meant(two_fit: xr.DataTree) -> None:
    assert "Forecasts are for RSC-1, one of 2 clusters" in Page(render(two_fit, gpus=[1024])).text
    assert "Forecasts are for RSC-2" in Page(render(two_fit, gpus=[1024], cluster="RSC-2")).text
    assert "not in the data" in Page(render(two_fit, gpus=[1024], cluster="new")).text


def test_the_same_fit_and_seed_give_the_same_file(size_fit: xr.DataTree, html: str) -> None:
    assert render(size_fit) == html


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": "nowhere"}, "cluster 'nowhere' is not in the fit; expected one of RSC-1 or 'new'"),
        ({"gpus": [0]}, "expected whole numbers of GPUs"),
        ({"plans": {"a": Plan(queue=["0s", "1h"])}}, "lists several values of queue"),
        ({"plans": {str(i): Plan() for i in range(9)}}, "expected 1 to 6"),
    ],
)
def test_bad_options_write_nothing(
    size_fit: xr.DataTree, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    with pytest.raises(InputError, match=message):
        write_report(size_fit, target, **options)  # type: ignore[arg-type]
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_does_not_exist_is_refused(size_fit: xr.DataTree, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.*cannot be written"):
        write_report(size_fit, tmp_path / "nowhere" / "report.html", gpus=[1024])


def test_a_tree_that_is_no_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_report(xr.DataTree(), tmp_path / "report.html")
