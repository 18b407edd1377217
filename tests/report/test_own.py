"""What a report says of the models that say more than rates: over time, nodes, lives, repairs, incidents."""

import datetime as dt
import re

import numpy as np
import polars as pl
import pytest

from meantime.datasets import repair_table
from meantime.datasets.simulate import simulate_incidents
from meantime.errors import InputError
from meantime.forecast import Plan, RemoveLemons, forecast, mitigate
from meantime.inference import backtest, fit, node_posterior, rate_over_time, survival_curve
from meantime.report.figures import backtest_coverage, incident_sizes, save_figures
from meantime.report.html import render
from meantime.report.judged import judgements
from meantime.report.measures import fix_table, price_measures
from meantime.report.model_tables import incident_rows
from meantime.report.numbers import three
from meantime.report.own import own_part
from meantime.report.parts import parts_page
from meantime.report.sections import short_source
from meantime.report.style import WIDE

from ..models.tables import small_table
from .conftest import QUICK
from .test_html import Page

FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def incidents():
    return fit(simulate_incidents(seed=2, nodes=[512], days=365, several=0.15, tail=0.8)[0], "incident", **QUICK)


def test_a_walk_is_told_from_its_ends(months_fit):
    """Rates tripled; first and last period, and their ratio, are those of the posterior."""
    text = Page(render(months_fit, gpus=[1024])).text
    rate = 1000 * rate_over_time(months_fit).sum("component")
    first, last = (rate.isel(period=at).values for at in (0, -1))
    assert f"a node failed {three(np.median(last))} times in 1,000 days" in text
    assert f"{three(np.median(last / first))} times as often" in text
    assert "The probability that the rate has risen is" in text
    assert "over the next 90 days" in text
    assert "Rates over time" in text


def test_worst_nodes_are_named_and_their_removal_priced(lemon_fit):
    """The gain of taking them out is that of mitigate with the same nodes."""
    name = lemon_fit["fit_data"]["cluster"].values[0]
    posterior = node_posterior(lemon_fit)
    likely = int((posterior["lemon_probability"] >= 0.5).sum())
    part = own_part(lemon_fit, cluster=str(name), seed=0)
    assert part is not None
    assert part.answer.startswith(f"{likely} of 100 nodes are more likely a lemon than not")
    assert str(posterior["node"].values[int(posterior["lemon_probability"].values.argmax())]) in part.answer
    plan = Plan(restart="5min", checkpoint_write="30s")
    found = price_measures(lemon_fit, 8192, plan, cluster=str(name))
    lemons = f"take the worst {likely} nodes out"
    want = mitigate(lemon_fit, 8192, plan, [RemoveLemons(likely, posterior["rate"])])["gain_alone"].values.ravel()
    np.testing.assert_allclose(found["gain_alone"].sel(mitigation=lemons).values.ravel(), want, rtol=1e-6)
    assert f"Take the worst {likely} nodes out" in [row[0] for row in fix_table(found).rows]


def test_incidents_have_a_page_of_their_own(incidents, tmp_path):
    """MTTF and ETTR of a job on all nodes are those of the tables and of a forecast."""
    text = Page(render(incidents)).text
    last = incident_rows(incidents, "cluster_1")[-1]
    assert f"meets an incident every {three(last['seconds']['median'] / 3600)} h" in text
    ettr = float(forecast(incidents, [4096], Plan(checkpoint_write="30s"))["ettr"].sel(figure="median").item())
    assert f"{ettr:.3f}" in text[text.index("Jobs by nodes") :]
    axes = incident_sizes(incidents).axes[0]
    counts = incidents["fit_data"]["incidents"].values[0]
    np.testing.assert_allclose(axes.lines[1].get_ydata()[0], counts.sum(), rtol=1e-9)  # a year, at least one node
    assert [path.name for path in save_figures(incidents, tmp_path)] == ["incident_sizes.png"]
    with pytest.raises(InputError, match="expected one of cluster_1"):
        render(incidents, cluster="other")


def test_lives_say_whether_age_matters(lives_fit):
    """Shape 1.5: the hazard rises surely; what is alive is the survival curve."""
    text = Page(render(lives_fit)).text
    assert "Yes: the probability that the hazard rises with age is over 99 %" in text
    alive = 100 * float(survival_curve(lives_fit, [5 * 365.0])["survival"].median())
    assert re.search(rf"Still in service {alive:.0f} % at an age of 5 years", text)
    assert "batch=new multiplies the hazard by" in text


def test_repairs_say_how_long_and_escape_their_classes():
    """Medians of log-normal times; a class with a hostile name stays text."""
    rng = np.random.default_rng(8)
    hours, kind = np.exp(rng.normal(1.0, 1.2, 400)), rng.choice(["gpu", "<script>alert(1)</script>"], 400)
    ends = [FIRST + dt.timedelta(hours=float(value)) for value in hours]
    tree = fit(repair_table(pl.DataFrame({"start": [FIRST] * 400, "end": ends, "component": kind})), "repair", **QUICK)
    page = Page(render(tree))
    assert "script" not in {tag for tag, _ in page.elements}
    assert "<script>alert(1)</script>" in page.text
    found = re.search(r"half of the repairs are over within ([\d.]+) h", page.text)
    assert found is not None
    assert float(found[1]) == pytest.approx(float(np.median(hours)), rel=0.15)  # 400 repairs: sd of the median 7.5 %
    with pytest.raises(InputError, match="a log of jobs adds nothing to a report of 'repair'"):
        render(tree, jobs=pl.DataFrame())


def test_other_fits_have_no_such_page(months_fit):
    assert parts_page(months_fit) is None
    assert own_part(months_fit, cluster="new", seed=0) is None


def test_many_files_are_named_in_short(make_fit):
    tree = make_fit(draws=20)
    for source, said in (
        ("/data/logs/jobs.txt", "jobs.txt"),
        ("/data/a.parquet, /data/b.parquet", "a.parquet and b.parquet"),
        (", ".join(f"/data/jobs-{i}.parquet" for i in range(10)), "jobs-0.parquet and 9 other files"),
    ):
        tree["fit_data"].attrs["source"] = source
        assert short_source(tree) == said


def test_a_back_test_given_is_drawn_with_the_checks():
    """Dots at the right are shares of held-out counts inside; `constant` is exact, so this costs no sampling."""
    found = backtest(small_table(clusters=1, sizes=6), "constant", over="job_size", hold=3, seed=7)
    picture = judgements(found, None)["backtest"]
    covered = found["covered"].sel(forecaster="constant").where(found["log_score"].sel(forecaster="constant").notnull())
    total, inside = int(covered.notnull().sum()), int(covered.sum())
    assert f"Of {total} counts {inside} lay inside" in picture.caption
    right = picture.draw(WIDE).axes[1]
    assert right.lines[0].get_xdata()[0] == pytest.approx(inside / total)
    with pytest.raises(InputError, match="this is no back-test"):
        backtest_coverage(found.drop_vars("covered"))
