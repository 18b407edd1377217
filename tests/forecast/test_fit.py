"""From counts through an exact fit to a forecast, against the Gamma posterior on paper."""

import json

import numpy as np
import pytest
import scipy.stats
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Plan, forecast, notes, to_json
from meantime.inference import fit

FAILURES, NODE_DAYS = 185, 28_800.0


def table(*, clusters: tuple[str, ...] = ("A",), largest: int = 4096, gpus_per_node: int = 8) -> xr.Dataset:
    count = len(clusters)
    return xr.Dataset(
        {
            "failures": (("cluster", "component"), np.tile([[100, 85]], (count, 1))),
            "exposure": ("cluster", np.full(count, NODE_DAYS)),
        },
        coords={"cluster": list(clusters), "component": ["gpu", "network"]},
        attrs={
            "gpus_per_node": gpus_per_node,
            "exposure_kind": "busy",
            "source": "counts of this test",
            "largest_job_gpus": largest,
            "provenance": "{}",
        },
    )


def test_counts_become_the_forecast_of_their_gamma_posterior() -> None:
    """MTTF = 24 / (nodes rate), rate ~ Gamma(0.5 + failures, 125 + node-days).

    Seed 21, 4,000 independent draws: a 5 % quantile at probability 0.05 +- 5 x 0.0034; false alarm 6e-7 each.
    """
    posterior = scipy.stats.gamma(0.5 + FAILURES, scale=1 / (125 + NODE_DAYS))
    result = forecast(fit(table(), "constant", seed=21), [1024, 131072], Plan(), seed=21)
    for gpus in (1024, 131072):
        mttf = result["mttf"].sel(gpus=gpus)
        for figure, probability in (("lower", 0.95), ("median", 0.5), ("upper", 0.05)):
            error = 5 * np.sqrt(probability * (1 - probability) / 4000)
            least, most = (24 / (gpus / 8) / posterior.ppf(p) for p in (probability + error, probability - error))
            assert least < float(mttf.sel(figure=figure)) < most, f"{figure}, seed 21"
    assert result["extrapolated"].values.tolist() == [False, True]
    assert result["nodes"].values.tolist() == [128, 16384]


def test_the_forecast_says_where_it_comes_from() -> None:
    tree = fit(table(gpus_per_node=4), "constant", seed=5)
    content = json.loads(to_json(forecast(tree, [1024], Plan(), seed=5)))
    assert content["model"]["model"] == "constant"
    assert content["model"]["data_digest"].startswith("sha256:")
    assert "meantime" in content["model"]["versions"]
    assert content["seed"] == 5
    assert any("4 GPUs and one of the plan 8" in text for text in content["notes"])


def test_clusters_are_asked_for_by_name() -> None:
    tree = fit(table(clusters=("A", "B")), "constant", seed=5)
    with pytest.raises(InputError, match="A, B"):
        forecast(tree, [1024])
    one = forecast(tree, [1024], cluster="B")
    assert json.loads(one.attrs["model"])["cluster"] == "B"


def test_an_unconverged_fit_is_said_so_first() -> None:
    tree = fit(table(), "constant", seed=5)
    record = json.loads(tree.attrs["meantime"])
    record["diagnostics"]["converged"] = False
    tree.attrs["meantime"] = json.dumps(record)
    assert "did not converge" in notes(forecast(tree, [131072]))[0]
    assert len(notes(forecast(tree, [131072]))) == 2


def test_a_tree_that_is_no_fit_is_refused() -> None:
    with pytest.raises(InputError, match="not a fit"):
        forecast(xr.DataTree(), [1024])
