"""Inference: fits that have passed a convergence gate, their storage, and rates predicted from them.

PyMC and JAX are imported when a model is sampled, not before.
"""

from meantime.inference.ages import survival_curve as survival_curve
from meantime.inference.backtest import backtest as backtest
from meantime.inference.calibrate import calibrate as calibrate
from meantime.inference.carry import priors_from as priors_from
from meantime.inference.changes import change_points as change_points
from meantime.inference.check import check as check
from meantime.inference.compare import compare as compare
from meantime.inference.fitting import fit as fit
from meantime.inference.horizon import rate_over_time as rate_over_time
from meantime.inference.nodes import node_posterior as node_posterior
from meantime.inference.predict import posterior_predictive as posterior_predictive
from meantime.inference.predict import predict_rate as predict_rate
from meantime.inference.prior import prior_predictive as prior_predictive
from meantime.inference.provenance import provenance as provenance
from meantime.inference.rebuild import rebuild_model as rebuild_model
from meantime.inference.repairs import repair_hours as repair_hours
from meantime.inference.size_law import size_law as size_law
from meantime.inference.storage import load_fit as load_fit
from meantime.inference.storage import save_fit as save_fit

__all__ = [
    "backtest",
    "calibrate",
    "change_points",
    "check",
    "compare",
    "fit",
    "load_fit",
    "node_posterior",
    "posterior_predictive",
    "predict_rate",
    "prior_predictive",
    "priors_from",
    "provenance",
    "rate_over_time",
    "rebuild_model",
    "repair_hours",
    "save_fit",
    "size_law",
    "survival_curve",
]
