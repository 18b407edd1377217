"""The figures of a report that say how a model was judged: back-test and calibration, where they are given."""

import numpy as np
import xarray as xr

from meantime.intervals import PROBABILITY
from meantime.report.figures import backtest_coverage, sbc_ranks
from meantime.report.numbers import count, label
from meantime.report.picture import Picture


def judgements(backtested: xr.Dataset | None, calibrated: xr.Dataset | None) -> dict[str, Picture]:
    """Return the pictures of a back-test and of a calibration, by name.

    Parameters
    ----------
    backtested
        What `meantime.inference.backtest` returns.
    calibrated
        What `meantime.inference.calibrate` returns.
    """
    pictures = {}
    if backtested is not None:
        model = str(backtested.attrs["model"])
        known = backtested["log_score"].sel(forecaster=model).notnull().values
        inside = int(backtested["covered"].sel(forecaster=model).values[known].sum())
        pictures["backtest"] = Picture(
            draw=lambda width: backtest_coverage(backtested, width=width),
            caption=f"Back-test: data held out from the fit, and predicted. Of {count(int(known.sum()))} counts "
            f"{count(inside)} lay inside the {100 * PROBABILITY:.0f} % interval of {label(model)}.",
            description="Held-out counts beside their predicted intervals, and the share inside them for the model and "
            "for plain baselines.",
        )
    if calibrated is not None:
        quantities = int(np.size(calibrated["quantity"].values))
        pictures["calibration"] = Picture(
            draw=lambda width: sbc_ranks(calibrated, width=width),
            caption="Calibration by simulation: where the true value lay among the draws of fits of simulated data. A "
            "curve inside the band is as it should be.",
            description=f"Distribution of ranks less the diagonal, with the band of uniform ones, for {quantities} "
            "quantities.",
        )
    return pictures
