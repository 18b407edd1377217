"""From failure rates of nodes to the hazard and the mean time to failure of a job."""

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.units import HOURS_PER_DAY


@array_function(eager=True)
def hazard_of(nodes: ArrayLike, rate_per_node_day: ArrayLike) -> Array:
    """Hazard of a job: its nodes fail independently, and one failed node stops the job.

    ``lam = nodes x rate / 24``, the nodes being in series (Kokolis et al. 2025, arXiv 2410.21680).

    Parameters
    ----------
    nodes
        Number of nodes of the job.
    rate_per_node_day
        Failures per node-day, all components together (not per 1,000 node-days).

    Returns
    -------
    Array
        Failures per hour, broadcast shape of the arguments.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number.
    """
    return nodes * rate_per_node_day / HOURS_PER_DAY


@array_function(eager=True)
def mttf(hazard: ArrayLike) -> Array:
    """Mean time to failure of a job, ``1 / hazard``.

    Parameters
    ----------
    hazard
        Failures per hour.

    Returns
    -------
    Array
        Hours, shape of `hazard`; infinite where the hazard is zero.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number.
    """
    return 1 / hazard
