"""What judges a model, as plain values for JSON: comparisons, checks, calibration, back-tests."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.forecast.document import finite, four
from meantime.intervals import describe


def compare_document(result: xr.Dataset) -> dict[str, Any]:
    """Return what `meantime.inference.compare` returns as the document ``meantime.compare/1``, best model first."""
    names = [str(name) for name, values in result.data_vars.items() if values.dims == ("model",)]
    rows = [
        {"model": str(model), **{name: result[name].values[index].item() for name in names}}
        for index, model in enumerate(result["model"].values)
    ]
    return {
        "schema": "meantime.compare/1",
        "data_digest": result.attrs["data_digest"],
        "observations": int(result.attrs["observations"]),
        "good_k": float(result.attrs["good_k"]),
        "notes": list(result.attrs["notes"]),
        "rows": rows,
    }


def check_document(result: xr.Dataset) -> dict[str, Any]:
    """Return what `meantime.inference.check` returns as the document ``meantime.check/1``."""
    rows = [
        {
            "what": str(result["what"].values[i]),
            "label": str(result["label"].values[i]) or None,
            "observed": float(result["observed"].values[i]),
            "predicted": four(result["predicted"].values[i]),
            "p_value": float(result["p_value"].values[i]),
            "extreme": bool(result["extreme"].values[i]),
        }
        for i in range(result.sizes["check"])
    ]
    return {
        "schema": "meantime.check/1",
        "interval": describe(),
        "seed": int(result.attrs["seed"]),
        "model": str(result.attrs["model"]),
        "loo_pit_p_value": finite(result.attrs.get("loo_pit_p_value", np.nan)),
        "notes": list(result.attrs["notes"]),
        "rows": rows,
    }


def calibrate_document(result: xr.Dataset) -> dict[str, Any]:
    """Return what `meantime.inference.calibrate` returns as the document ``meantime.calibrate/1``."""
    facts = {name: result.attrs[name] for name in ("model", "method", "replicates", "seed", "false_alarm")}
    rows = [
        {
            "quantity": str(name),
            "p_value": float(result["p_value"].values[index]),
            "mean_rank": float(result["rank"].values[index].mean()),
            "passed": bool(result["passed"].values[index]),
        }
        for index, name in enumerate(result["quantity"].values)
    ]
    notes = []
    if redrawn := int(result.attrs["redrawn"]):
        notes.append(f"{redrawn} data sets were drawn again because they held numbers above a billion")
    if poor := int(result.attrs["unconverged"]):
        notes.append(f"{poor} of {facts['replicates']} fits would have been refused by a gate; they are ranked as well")
    return {
        "schema": "meantime.calibrate/1",
        **facts,
        "passed": bool(result.attrs["passed"]),
        "notes": notes,
        "rows": rows,
    }


def backtest_document(result: xr.Dataset) -> dict[str, Any]:
    """Return what `meantime.inference.backtest` returns as the document ``meantime.backtest/1``."""
    facts = {name: result.attrs[name] for name in ("model", "over", "hold", "seed")}
    scores = ("coverage", "mean_log_score", "mean_crps")
    rows = [
        {
            "forecaster": str(name),
            "scope": str(scope),
            **{score: finite(result[score].sel(forecaster=name, scope=scope)) for score in scores},
        }
        for scope in result["scope"].values
        for name in result["forecaster"].values
    ]
    return {
        "schema": "meantime.backtest/1",
        "interval": describe(),
        **facts,
        "notes": list(result.attrs["notes"]),
        "rows": rows,
        "targets": [_target(result, index) for index in range(result.sizes["target"])],
    }


def _target(result: xr.Dataset, index: int) -> dict[str, Any]:
    one = result.isel(target=index)
    label = one[str(result.attrs["over"])].values
    predictions = {
        str(name): {key: finite(one[key].sel(forecaster=name)) for key in ("median", "lower", "upper", "pit")}
        for name in result["forecaster"].values
    }
    return {
        "cluster": str(one["cluster"].item()),
        "component": str(one["component"].item()),
        "label": str(label)[:10] if np.issubdtype(label.dtype, np.datetime64) else str(label),
        "observed": int(one["observed"]),
        "exposure_node_days": float(one["exposure"]),
        "predictions": predictions,
    }
