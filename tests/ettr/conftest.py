"""What the comparisons with simulation share."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats


@pytest.fixture(scope="session")
def standard_normal() -> Callable[[np.ndarray], None]:
    """Check that differences in Monte Carlo standard errors are standard normal, about 200 of them or fewer.

    False alarms: more than 5 of 200 beyond 3 once in 70,000 times, one beyond 4.7 once in 2,000 times,
    the sum of squares outside its bounds once in 1,000 times.
    """

    def check(z: np.ndarray) -> None:
        assert np.isfinite(z).all()
        assert (abs(z) > 3).sum() <= 5, np.flatnonzero(abs(z) > 3)
        assert abs(z).max() < 4.7, (abs(z).argmax(), z[abs(z).argmax()])
        assert stats.chi2(z.size).cdf((z**2).sum()) == pytest.approx(0.5, abs=0.4995)

    return check
