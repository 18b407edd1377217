"""Priors as the command line takes them: from a file, or from an earlier fit."""

import json
import tomllib
from pathlib import Path
from typing import Any

from meantime.errors import InputError


def read_priors(path: Path) -> dict[str, Any]:
    """Read priors, names and numbers, from a TOML or JSON file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--priors {path}: cannot be read ({error}); expected a TOML or JSON file") from error
    try:
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise InputError(f"--priors {path}: is no {kind}: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"--priors {path}: holds no names and numbers; expected such as total_rate = 0.004")
    return content


CHANGE_RATE = 0.5
"""Change points a year expected of each cluster, where `--change-points` is given and no prior says otherwise."""


def chosen_priors(path: Path | None, last: Path | None, model: str, *, change_points: bool = False) -> Any:
    """Return the priors that the options name, or None."""
    if change_points and model != "over_time":
        raise InputError(f"--change-points: the model {model!r} has none; expected --model over_time")
    if path is not None and last is not None:
        raise InputError("--priors and --priors-from were both given; choose one")
    if path is not None:
        return read_priors(path) if not change_points else {"change_rate": CHANGE_RATE} | read_priors(path)
    if change_points and last is None:
        return {"change_rate": CHANGE_RATE}
    if last is None:
        return None
    from meantime.inference import load_fit, priors_from, provenance

    tree = load_fit(last)
    if (found := provenance(tree)["model"]) != model:
        raise InputError(f"--priors-from {last}: is a fit of {found!r}; expected one of {model!r}, or --model {found}")
    return priors_from(tree)
