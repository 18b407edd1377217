"""Nothing is NaN and nothing leaves (0, 1], from 1 GPU to a million and from a second to a year of every duration."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.forecast import (
    AsyncCheckpoint,
    CheaperCheckpoint,
    FasterDetection,
    FasterRestart,
    HotSpares,
    Plan,
    ScaleComponent,
    expected_ettr,
    mitigate_rates,
    stated_rate,
)

DURATIONS = st.floats(0, np.log(365 * 86400)).map(lambda x: f"{np.exp(x):.3f}s")
INTERVALS = st.one_of(st.just("optimal"), DURATIONS)
SIZES = [1, 1000, 1_000_000]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    rate=st.floats(-3, 3).map(lambda x: 10**x),
    spread=st.floats(0.01, 2),
    restart=DURATIONS,
    write=DURATIONS,
    interval=INTERVALS,
    queue=DURATIONS,
    detection=DURATIONS,
    productive=DURATIONS,
    changed=DURATIONS,
    factor=st.floats(0, 1),
)
def test_mitigated_or_not(
    rate: float,
    spread: float,
    restart: str,
    write: str,
    interval: str,
    queue: str,
    detection: str,
    productive: str,
    changed: str,
    factor: float,
) -> None:
    """And what can only help does not harm, but for the rounding of a run that is cut into whole segments."""
    draws = rate * np.exp(spread * np.linspace(-2, 2, 64))
    plan = Plan(
        restart=restart,
        checkpoint_write=write,
        checkpoint_interval=interval,
        queue=queue,
        detection=detection,
        productive=productive,
    )
    several = [
        FasterRestart(changed),
        CheaperCheckpoint(factor=max(factor, 1e-3)),
        FasterDetection(factor=factor),
        AsyncCheckpoint(changed, slowdown=0.5 * factor),
        HotSpares(3, repair=changed),
        ScaleComponent("all", factor),
    ]
    figures = expected_ettr(stated_rate(draws, SIZES), plan)["ettr"].values
    result = mitigate_rates(stated_rate(draws, SIZES), plan, several)
    for values in (figures, result["ettr_before"].values, result["ettr_after"].values):
        assert np.isfinite(values).all()
        assert (values > 0).all()
        assert (values <= 1).all()
    assert np.isfinite(result["gain_shapley"].values).all()
    for name in ("restart", "detection", "hot spares", "all x"):
        label = next(text for text in result["mitigation"].values if name in text)
        gain = result["gain_alone"].sel(mitigation=label, figure="lower").values
        assert (gain > -1e-4 * result["ettr_before"].sel(figure="upper").values - 1e-12).all(), label
