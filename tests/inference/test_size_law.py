"""What a fit says of the law MTTF = 1 / (N r)."""

import numpy as np
import pytest
import xarray as xr

from meantime.errors import InputError
from meantime.inference import size_law


def _with_slopes(sized, slopes, level=None):
    """Replace the slopes of a fit by known ones, a little spread."""
    rng = np.random.default_rng(0)
    tree = sized.copy()
    posterior = tree["posterior"].to_dataset()
    posterior["slope"] = posterior["slope"] * 0 + np.asarray(slopes) + 0.001 * rng.standard_normal(4)
    if level is not None:
        posterior["level"] = posterior["level"] * 0 + np.asarray(level)
        posterior["cluster_deviation"] = posterior["cluster_deviation"] * 0
    tree["posterior"] = xr.DataTree(posterior)
    return tree


@pytest.mark.parametrize(
    ("slope", "verdict", "positive"),
    [(0.0, "holds.", None), (0.2, "too kind to large jobs", 1.0), (-0.2, "too hard on large jobs", 0.0)],
)
def test_verdicts(sized, slope, verdict, positive):
    found = size_law(_with_slopes(sized, [slope] * 4))
    assert verdict in found.attrs["sentence"]
    assert float(found["overall"].sel(figure="median")) == pytest.approx(slope, abs=0.005)
    assert positive is None or float(found["overall_positive"]) == positive
    assert float(found["overall_negligible"]) == (slope == 0)


def test_the_overall_slope_is_that_of_the_summed_rate(sized):
    """One component carries nearly all failures: its slope is the overall one."""
    found = size_law(_with_slopes(sized, [0.3, -0.3, -0.3, -0.3], level=[-5.0, -20.0, -20.0, -20.0]))
    assert float(found["overall"].sel(figure="median")) == pytest.approx(0.3, abs=0.005)
    assert found["positive"].values.tolist() == [1, 0, 0, 0]


def test_undecided(sized):
    found = size_law(sized)
    assert found["slope"].dims == ("component", "figure")
    lower, upper = (float(found["overall"].sel(figure=name)) for name in ("lower", "upper"))
    assert lower < 0.05 < upper  # the truth of the table
    assert "Per doubling of the job size" in found.attrs["sentence"]


def test_other_models_have_no_slope(plain):
    with pytest.raises(InputError, match="fit 'component_size'"):
        size_law(plain)
