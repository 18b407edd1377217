"""Mean and variance of the wall-clock hours of one run, in closed form."""

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.tasks import as_run, run_moments
from meantime.ettr.waits import Waits


@array_function("last_write")
def wallclock_moments(
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    productive: ArrayLike,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    detection_sd: ArrayLike = 0.0,
    queue_sd: ArrayLike = 0.0,
    hang_share: ArrayLike = 0.0,
    hang_timeout: ArrayLike = 0.0,
    last_write: bool = True,
) -> tuple[Array, Array]:
    r"""Mean and variance of the wall-clock hours of one run, both exact.

    A task of length x that starts again at every failure fails a geometric number of times F, with
    mean m = e^(lam x) - 1 and variance m + m^2, and each failure costs an independent time C, so::

        E[task] = x + m E[C]        Var[task] = m Var[C] + (m + m^2) E[C]^2

    For the restart C is a truncated exponential time on (0, u0) plus the wait D after a failure, for a
    segment a truncated exponential time on (0, tau + w) plus D plus a whole restart. First restart and
    segments are independent, so their means and variances add up; the mean is that of `renewal`. Of
    the wait only mean and variance matter here, whatever its distribution::

        E[D]   = (1 - h) detection + h hang_timeout + queue
        Var[D] = (1 - h) detection_sd^2 + h (1 - h) (hang_timeout - detection)^2 + queue_sd^2

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, lam.
    interval
        Productive hours between checkpoints, tau, positive; more than `productive`: a single segment.
    write
        Hours during which a checkpoint blocks the run, w.
    restart
        Hours to initialise and load the last checkpoint, u0.
    productive
        Productive hours of the run, finite.
    detection
        Mean hours from a failure to its being noticed.
    queue
        Mean hours in the queue, at submission and after each failure.
    detection_sd
        Standard deviation of the detection in hours.
    queue_sd
        Standard deviation of one stay in the queue in hours.
    hang_share
        Share h of the failures that show as a standing run, noticed by a time-out in place of `detection`.
    hang_timeout
        Hours of that time-out.
    last_write
        Whether the run ends with a checkpoint write.

    Returns
    -------
    tuple
        Mean (hours) and variance (hours squared), each of the broadcast shape of the arguments.
        Infinite where they exceed the floating type.

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning (NumPy input only).
    """
    waits = Waits(detection, queue, detection_sd, queue_sd, hang_share, hang_timeout)
    return run_moments(as_run(hazard, interval, write, restart, productive, last_write, waits))
