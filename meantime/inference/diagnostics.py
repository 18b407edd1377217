"""Convergence diagnostics of many scalars at once: rank-normalised R-hat, bulk and tail ESS.

After Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization:
an improved R-hat" (Bayesian Analysis 16, 2021). All take draws of shape (scalar, chain, draw).
"""

import numpy as np
from scipy import fft
from scipy.special import ndtri

TAIL = (0.05, 0.95)


def summarise(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `rhat`, `ess_bulk` and `ess_tail` of each scalar, with less work than one by one."""
    split = _split(draws)
    folded = np.abs(split - np.median(split, axis=(1, 2), keepdims=True))
    scores = _normal_scores(split)
    return np.maximum(_rhat(scores), _rhat(_normal_scores(folded))), _ess(scores), ess_tail(draws)


def rhat(draws: np.ndarray) -> np.ndarray:
    """Return R-hat of each scalar: the larger of the rank-normalised and the folded one."""
    split = _split(draws)
    folded = np.abs(split - np.median(split, axis=(1, 2), keepdims=True))
    return np.maximum(_rhat(_normal_scores(split)), _rhat(_normal_scores(folded)))


def ess_bulk(draws: np.ndarray) -> np.ndarray:
    """Return the effective sample size of each scalar's centre."""
    return _ess(_normal_scores(_split(draws)))


def ess_mean(draws: np.ndarray) -> np.ndarray:
    """Return the effective sample size of each scalar's mean."""
    return _ess(_split(draws))


def ess_tail(draws: np.ndarray) -> np.ndarray:
    """Return the smaller of the effective sample sizes of each scalar's 5 % and 95 % quantiles."""
    split = _split(draws)
    bounds = np.quantile(draws, TAIL, axis=(1, 2))
    return np.minimum(*(_ess((split <= bound[:, None, None]).astype(float)) for bound in bounds))


def _split(draws: np.ndarray) -> np.ndarray:
    """Cut each chain in two halves, (scalar, 2 chain, draw // 2); the middle draw of an odd number is left out."""
    half = draws.shape[2] // 2
    return np.concatenate([draws[:, :, :half], draws[:, :, draws.shape[2] - half :]], axis=1)


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """Replace values by the normal quantiles of their ranks over all chains; ties share their mean rank."""
    flat = values.reshape(len(values), -1)
    order = np.argsort(flat, axis=1)
    ordered = np.take_along_axis(flat, order, axis=1)
    places = np.broadcast_to(np.arange(1.0, flat.shape[1] + 1), flat.shape).copy()
    for row in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
        places[row] = 0.5 * (
            np.searchsorted(ordered[row], ordered[row], "left")
            + np.searchsorted(ordered[row], ordered[row], "right")
            + 1
        )
    ranks = np.empty_like(places)
    np.put_along_axis(ranks, order, places, axis=1)
    return ndtri((ranks - 0.375) / (flat.shape[1] + 0.25)).reshape(values.shape)


def _rhat(values: np.ndarray) -> np.ndarray:
    n = values.shape[2]
    within = values.var(axis=2, ddof=1).mean(axis=1)
    between = values.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((within * (n - 1) / n + between) / within)


def _ess(values: np.ndarray) -> np.ndarray:
    """Return the effective sample size by Geyer's initial monotone sequence; a constant scalar has all its draws."""
    scalars, chains, n = values.shape
    centred = values - values.mean(axis=2, keepdims=True)
    size = fft.next_fast_len(2 * n, real=True)
    spectrum = fft.rfft(centred, size, axis=2)
    covariance = fft.irfft(spectrum * spectrum.conj(), size, axis=2)[:, :, :n].mean(axis=1) / n
    within = covariance[:, 0] * n / (n - 1)
    total = covariance[:, 0] + (values.mean(axis=2).var(axis=1, ddof=1) if chains > 1 else 0.0)
    constant = total <= 1e-14 * np.maximum(1.0, (values**2).mean(axis=(1, 2)))
    safe = np.where(constant, 1.0, total)
    correlation = 1 - (within[:, None] - covariance) / safe[:, None]
    correlation[:, 0] = 1.0
    pairs = correlation[:, 0 : n - n % 2 : 2] + correlation[:, 1:n:2]
    positive = np.logical_and.accumulate(pairs > 0, axis=1)
    monotone = np.minimum.accumulate(pairs, axis=1)
    tau = -1 + 2 * np.where(positive, monotone, 0.0).sum(axis=1)
    last = positive.sum(axis=1)  # the first pair that is not positive still lends its even term, if positive
    even = correlation[np.arange(scalars), np.minimum(2 * last, n - 1)]
    tau += np.where(2 * last < n, np.maximum(even, 0.0), 0.0)
    tau = np.maximum(tau, 1 / np.log10(chains * n))
    return np.where(constant, chains * n, chains * n / tau)
