"""The words at the head of a report agree with the draws."""

import numpy as np
import pytest
import xarray as xr

from meantime.forecast import Plan
from meantime.report.measures import fix_first, fix_table
from meantime.report.plans import curve_sizes, default_plans, describe, forecast_plans
from meantime.report.words import answers, headlines, short_table

SIZES = [1024, 16384]


def priced(gains: tuple[float, ...] = (0.02, 0.05), likely: float = 0.97) -> xr.Dataset:
    """Two measures as `price_measures` gives them; an interval is a fifth of the median to either side."""
    figures = np.outer(gains, [1, 1, 0.8, 1.2])
    coords = {"gpus": [16384], "figure": ["mean", "median", "lower", "upper"],
              "mitigation": ["halve <b>ib_link failures", "halve the restart time"][: len(gains)]}  # fmt: skip
    many, one = ("gpus", "mitigation", "figure"), ("gpus", "figure")
    return xr.Dataset(
        {
            "ettr_before": (one, [[0.80] * 4]),
            "ettr_after": (one, [[0.86] * 4]),
            "gain_alone": (many, figures[None]),
            "gain_shapley": (many, 0.9 * figures[None]),
            "gpu_hours_saved_per_day": (many, 24 * 16384 * 0.9 * figures[None]),
            "probability_best": (("gpus", "mitigation"), [[1 - likely, likely][: len(gains)]]),
        },
        coords=coords,
    )


def said(tree: xr.DataTree, cluster: str = "RSC-1") -> dict[str, str]:
    plans = default_plans()
    forecasts = forecast_plans(tree, SIZES, plans, cluster=cluster, seed=1)
    found = answers(tree, forecasts, plans, SIZES, cluster, priced())
    return {answer.question: answer.text.replace("\u00a0", " ") for answer in found}


def tilted(tree: xr.DataTree, slope: float, spread: float) -> xr.DataTree:
    """The same fit with slopes drawn about another value."""
    changed = tree.copy(deep=True)
    posterior = changed["posterior"].to_dataset()
    rng = np.random.default_rng(0)
    level = slope + spread * rng.standard_normal(posterior["slope_mean"].shape)
    posterior["slope"] = posterior["slope"] * 0 + xr.DataArray(level, dims=("chain", "draw"))
    changed["posterior"] = xr.DataTree(posterior)
    return changed


def test_the_most_frequent_component_comes_first(size_fit: xr.DataTree) -> None:
    text = said(size_fit)["What fails most?"]
    assert text.startswith("InfiniBand link accounts for")
    data = size_fit["fit_data"]
    portion = float(data["failures"].sel(component="infiniband_link").sum() / data["failures"].sum())
    stated = float(text.split("accounts for ")[1].split(" %")[0])
    assert stated == pytest.approx(100 * portion, abs=1.5)  # the fit shrinks it by less than that


def test_a_lead_that_may_be_chance_is_called_so(make_fit: object) -> None:
    tree = make_fit(components=["left", "right"], node_days=2000)  # type: ignore[operator]
    posterior = tree["posterior"].to_dataset()
    rng = np.random.default_rng(1)
    posterior["rate"] = posterior["rate"] * 0 + 0.001 * (1 + 0.2 * rng.standard_normal(posterior["rate"].shape))
    tree["posterior"] = xr.DataTree(posterior)
    text = said(tree)["What fails most?"]
    odds = float(text.split("first is ")[1].split(" %")[0])
    assert 40 < odds < 70


@pytest.mark.parametrize(
    ("slope", "spread", "words"),
    [
        (0.0, 0.01, "Twice the nodes halve that time"),
        (
            0.2,
            0.02,
            "In larger jobs nodes fail more often, with each doubling of the job the rate of a node changes by +22",
        ),
        (-0.2, 0.02, "In larger jobs nodes fail less often"),
        (0.0, 0.2, "the data do not decide"),
    ],
)
def test_the_law_is_judged_by_the_slope(size_fit: xr.DataTree, slope: float, spread: float, words: str) -> None:
    assert words in said(tilted(size_fit, slope, spread))["How long does a job run between failures today?"]


def test_extrapolation_is_owned_up_to(size_fit: xr.DataTree) -> None:
    text = said(size_fit)["How sure is this?"]
    assert "No job in the data used more than 4,096 GPUs" in text
    assert "The figures for 16,384 GPUs reach up to 4 times further" in text
    assert "passed all of its checks" in text


def test_an_unconverged_fit_is_not_recommended(hostile_fit: xr.DataTree, hostile_names: list[str]) -> None:
    assert "did not converge" in said(hostile_fit, hostile_names[0])["How sure is this?"]


def test_an_unknown_largest_job_is_owned_up_to(component_fit: xr.DataTree) -> None:
    tree = component_fit.copy(deep=True)
    tree["fit_data"].attrs["largest_job_gpus"] = 0
    text = said(tree, "Llama 3")
    assert "is not known, so every size counts as extrapolated" in text["How sure is this?"]
    assert "the smallest size asked about" in text["How long does a job run between failures today?"]


def test_every_plan_is_spoken_of(size_fit: xr.DataTree) -> None:
    text = said(size_fit)["What should we expect at larger sizes?"]
    assert all(name in text for name in default_plans())


def test_a_new_cluster_has_words_and_a_table(two_fit: xr.DataTree) -> None:
    assert said(two_fit, "new")["What fails most?"]
    plans = {"one": Plan()}
    forecasts = forecast_plans(two_fit, SIZES, plans, cluster="new", seed=1)
    assert len(headlines(two_fit, forecasts, SIZES, "new")) == 3
    known = short_table(forecast_plans(two_fit, SIZES, plans, cluster="RSC-1", seed=1)["one"], SIZES)
    new = short_table(forecasts["one"], SIZES)
    assert [row.gpus for row in new] == [row.gpus for row in known] == ["1,024", "16,384"]
    assert new[0].mttf_range != known[0].mttf_range
    assert all(" to " in row.days_range and " to " in row.failures_range for row in known)


def test_the_figure_of_a_size_beyond_the_data_is_marked(two_fit: xr.DataTree) -> None:
    sizes = [1024, 10_000_000]
    forecasts = forecast_plans(two_fit, sizes, {"one": Plan()}, cluster="RSC-1", seed=1)
    assert [item.extrapolated for item in headlines(two_fit, forecasts, sizes, "RSC-1")] == [False, False, True]


def test_plans_are_said_in_words() -> None:
    plan = Plan(restart="2min", checkpoint_write="10s", checkpoint_interval="1h", queue="30min", productive="7d")
    assert describe(plan).replace("\u00a0", " ") == (
        "7 days of work, restart 2 min, a checkpoint every 1 h, writing one takes 10 s, queue 30 min"
    )


def test_curves_pass_through_the_sizes_asked() -> None:
    powers = [2**power for power in range(10, 17)]
    halfway = [3 * 2**power for power in range(9, 16)]
    assert curve_sizes([100_000, 1000]) == sorted([512, 768, 1000, 100_000, *powers, *halfway])
    assert curve_sizes([8]) == [1, 2, 4, 8]
    assert curve_sizes([300]) == [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 300]


def test_what_to_fix_first_is_what_gains_most_alone() -> None:
    text = fix_first(priced()).replace("\u00a0", " ")
    assert text.startswith(
        "Halve the restart time: at 16,384 GPUs that alone raises the expected ETTR from 0.800 to 0.850 "
        "(a gain of 0.040 to 0.060). The probability that no other of the 2 measures priced gains more is 97 %."
    )
    assert "Next comes: halve <b>ib link failures (+0.020)." in text
    assert "All together reach 0.860 and save about 24,800 GPU-hours a day." in text  # 24 x 16,384 x 0.9 x 0.07
    assert [row[0] for row in fix_table(priced()).rows] == ["Halve the restart time", "Halve <b>ib link failures"]
    assert fix_table(priced()).rows[0][1:3] == ("0.050 (0.040 to 0.060)", "0.045")


def test_where_nothing_gains_nothing_is_urged() -> None:
    assert fix_first(priced((0.0005, 0.001))).startswith("At 16,384\u00a0GPUs little is left to gain")
