"""A posterior as the next prior."""

import json

import numpy as np
import pytest

from meantime.cli.priors import chosen_priors, read_priors
from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.inference import fit, priors_from, save_fit


def _table(failures, days):
    return build_table([[failures]], [days], cluster=["A"], component=["gpu"])


def test_two_quarters_are_one_half_year():
    """`constant`, one cluster: the posterior after both is that of both together, exactly."""
    first = fit(_table(30, 9_000.0), "constant")
    second = fit(_table(11, 4_000.0), "constant", priors=priors_from(first))
    both = fit(_table(41, 13_000.0), "constant")
    for name in ("shape", "rate"):
        assert float(second["exact"][name][0]) == pytest.approx(float(both["exact"][name][0]))


def test_widening_keeps_the_mean():
    first = fit(_table(30, 9_000.0), "constant")
    near, wide = priors_from(first), priors_from(first, widen=2.0)
    assert wide.shape / wide.rate == pytest.approx(near.shape / near.rate)
    assert wide.shape == pytest.approx(near.shape / 4)


@pytest.mark.slow
def test_moments_are_kept(trees):
    """Each prior against the moments of the posterior it stands for."""
    sized = priors_from(trees["component_size"])
    posterior = trees["component_size"]["posterior"]
    assert np.log(sized.total_rate / 4) == pytest.approx(float(posterior["mu"].mean()))
    assert sized.level_sd == pytest.approx(float(posterior["mu"].std()))
    for prior, name in (("component_sd", "sigma_component"), ("cluster_sd", "sigma_cluster"), ("cell_sd", "sigma_cell"),
                        ("slope_mean_sd", "slope_mean"), ("slope_sd", "slope_sd")):  # fmt: skip
        assert getattr(sized, prior) ** 2 == pytest.approx(float((posterior[name] ** 2).mean()))
    pool = priors_from(trees["component_gamma"])
    rate = trees["component_gamma"]["posterior"]["pool_rate"]
    assert pool.rate_shape / pool.rate_rate == pytest.approx(float(rate.mean()))
    assert pool.rate_shape / pool.rate_rate**2 == pytest.approx(float(rate.var()))
    plain = priors_from(trees["component"])
    assert plain.level_sd < 1.5  # something was learnt
    assert priors_from(trees["constant"]).rate > 0


def test_what_cannot_be_carried(exact, tmp_path):
    with pytest.raises(InputError, match="1 or more"):
        priors_from(exact, widen=0.5)
    save_fit(exact, tmp_path / "last.nc")
    with pytest.raises(InputError, match="expected one of 'component'"):
        chosen_priors(None, tmp_path / "last.nc", "component")
    with pytest.raises(InputError, match="choose one"):
        chosen_priors(tmp_path / "a.toml", tmp_path / "last.nc", "component")
    assert chosen_priors(None, tmp_path / "last.nc", "constant").shape > 0


def test_priors_of_a_file(tmp_path):
    toml, text = tmp_path / "p.toml", tmp_path / "p.json"
    toml.write_text("shape = 2.0\nrate = 500.0\n")
    text.write_text(json.dumps({"shape": 2.0, "rate": 500.0}))
    assert read_priors(toml) == read_priors(text) == {"shape": 2.0, "rate": 500.0}
    tree = fit(_table(3, 1_000.0), "constant", priors=read_priors(toml))
    assert float(tree["exact"]["shape"][0]) == 5.0
    for content in ("shape = ", "[1, 2"):
        toml.write_text(content)
        with pytest.raises(InputError, match="no TOML"):
            read_priors(toml)
    with pytest.raises(InputError, match="cannot be read"):
        read_priors(tmp_path / "none.toml")
