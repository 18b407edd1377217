"""The method of a report in three paragraphs, and the verdict on the sampler."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from meantime.inference.exact import EXACT_METHODS
from meantime.report.evidence import gpus_per_node, largest_job, source_facts
from meantime.report.numbers import count, label, stated

_MODELS = {
    "component_size": (
        "The logarithm of the rate of a component in jobs of one size is the component's level, plus the cluster's "
        "deviation from it, plus a slope times log2(GPUs / 64). Levels, deviations and slopes are drawn from common "
        "distributions whose widths are fitted too, so that rare components borrow from the others. Counts are Poisson "
        "with a Gamma-distributed deviation of each cell, which allows for more scatter than pure chance and widens "
        "forecasts at sizes without data. A slope of 0 is the law that the mean time to failure is one over the number "
        "of nodes times the rate."
    ),
    "component": (
        "The logarithm of the rate of a component on a cluster is the component's level plus the cluster's deviation. "
        "Both are drawn from common distributions whose widths are fitted too, so that rare components borrow from the "
        "others. Counts are Poisson. The rate of a node does not depend on the size of the job."
    ),
    "component_gamma": (
        "Rates of components come from one Gamma distribution whose shape and scale are fitted too, so that rare "
        "components borrow from the others. Counts are Poisson. The rate of a node does not depend on the job's size."
    ),
    "constant": (
        "Every cluster has one rate, the same for all components and sizes of job, with a Gamma prior. Counts are "
        "Poisson, so the posterior is a Gamma distribution, known exactly."
    ),
    "over_time": (
        "The logarithm of the rate of a component on a cluster walks from one period of the log to the next: a walk "
        "that all components of the cluster share, and one of its own each. Widths of the steps are fitted, so that "
        "quiet times stay smooth; where change points were asked for, the common walk may jump. Counts are Poisson "
        "with a Gamma-distributed deviation of each period. Forecasts walk on from the last period and widen as they "
        "go. The rate of a node does not depend on the size of the job."
    ),
    "node_frailty": (
        "Every node has a rate of its own, Gamma-distributed about that of its class. Most nodes are normal; a share, "
        "which is fitted, are lemons that fail several times as often. The probability that a node is a lemon follows "
        "from its failures and days at risk by Bayes’ rule. Jobs are taken to run on nodes of the whole fleet; the "
        "rate of a node does not depend on the size of the job."
    ),
}


def paragraphs(tree: xr.DataTree, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the method as (heading, paragraph): what counts as a failure, the model, the forecast."""
    model = str(record.get("model", ""))
    return [
        ("What counts as a failure", _rule(tree)),
        ("The model", _MODELS.get(model, f"Model {label(model)}.")),
        ("The forecast", _forecast(tree)),
    ]


def verdict(record: Mapping[str, Any]) -> str:
    """Say in a sentence or two whether the draws can be trusted."""
    if (record.get("diagnostics") or {}).get("converged") is False:
        return "The fit did not converge and was kept on request. Its figures cannot be relied on."
    if record.get("method") in EXACT_METHODS:
        return "The posterior is known exactly; its draws are independent and nothing had to converge."
    if record.get("method") == "laplace":
        return "The posterior is an approximation about its mode, corrected by importance sampling: a first look."
    return "The draws passed every check that a fit must pass before it is used."


def _rule(tree: xr.DataTree) -> str:
    facts, per_node = source_facts(tree), count(gpus_per_node(tree))
    exposure = (
        f"Exposure is the time that jobs ran, in node-days: days of runtime times GPUs over {per_node}."
        if tree["fit_data"].attrs.get("exposure_kind") == "busy"
        else "Exposure, in node-days, is taken from the source."
    )
    rule = facts.get("rule")
    if rule == "infrastructure":
        before, after = (stated(float(facts.get(name, 0))) for name in ("before_seconds", "after_seconds"))
        return (
            "Infrastructure failed a job if it ended NODE_FAIL, or if it ended FAILED and a health check of high "
            f"severity fired on one of its nodes in its last {before} or up to {after} after its end. Of several such "
            "events the one that most calls for taking the node out wins; a failure without any is called "
            f"unattributed. Cancelled, timed-out and completed jobs are no failures. {exposure}"
        )
    if rule == "interruption":
        return (
            "The log does not say how jobs ended. An attempt that is followed by another one of the same job counts as "
            f"one interruption, whatever its cause. {exposure}"
        )
    return f"The data are counts of failures; what counts as one was decided by their source. {exposure}"


def _forecast(tree: xr.DataTree) -> str:
    seen = largest_job(tree)
    where = (
        f"Sizes above {count(seen)} GPUs, the largest job in the data, are extrapolated and marked so."
        if seen
        else "The size of the largest job is not known, so every size is an extrapolation."
    )
    return (
        "A job on N nodes fails at the hazard λ = N times the sum of the rates of the components. Failures may strike "
        "while it computes, writes a checkpoint or restarts. With restart time u, interval τ, write time w, wait after "
        "a failure d, first queue q and n intervals of work, the expected wallclock is "
        "q + (1/λ + d) (exp(λu) − 1) + n (1/λ + d) exp(λu) (exp(λ(τ + w)) − 1), and ETTR is nτ divided by it. It is "
        "worked out for every draw of the posterior, which gives the interval of the expectation; runs drawn at random "
        f"with those rates give the wider range of a single run. {where}"
    )
