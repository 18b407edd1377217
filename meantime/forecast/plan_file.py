"""Plans read from JSON: a plan alone, or a document of meantime that was made for one."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meantime.errors import InputError
from meantime.forecast.plan import Plan

MAX_BYTES = 50_000_000


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read the plan of a run from a JSON file.

    Parameters
    ----------
    path
        A plan as `Plan.to_dict` gives it; or a document that holds one: ``meantime.plan/1`` and the others that
        `meantime plan`, `interval` or `mitigate` print, whose key `plan` is taken, or ``meantime.forecast/1``,
        which the planner page saves too, all of whose rows without measures have the same plan.

    Returns
    -------
    Plan
        The plan. Fields that are not there keep their defaults. Where `meantime.plan/1` names a size that it chose, the
        productive time is the one of that size.

    Raises
    ------
    InputError
        If the file cannot be read, is no JSON, or holds no plan or several.
    """
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise InputError(f"{file}: is larger than {MAX_BYTES // 1_000_000} MB; expected the JSON of a plan")
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}; expected the JSON of a plan") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON ({error}); expected that of a plan") from error
    if not isinstance(content, Mapping):
        raise InputError(f'{file}: holds no plan; expected a JSON object such as {{"restart": "5min"}}')
    try:
        return Plan.from_dict(_fields(content))
    except InputError as error:
        raise InputError(f"{file}: {error}") from error


def _fields(content: Mapping[str, Any]) -> Mapping[str, Any]:
    if "schema" not in content:
        return content
    if isinstance(content.get("plan"), Mapping):
        return content["plan"] | _chosen(content)
    rows = content.get("rows")
    plans = [
        row["plan"] | {"gpus_per_node": content.get("gpus_per_node", 8)}
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, Mapping) and isinstance(row.get("plan"), Mapping) and not row.get("measures")
    ]
    if not plans:
        raise InputError(f"the document {content['schema']!r} holds no plan; expected one of meantime plan or forecast")
    if any(plan != plans[0] for plan in plans):
        raise InputError("the rows are of several plans; expected one plan for all sizes")
    return plans[0]


def _chosen(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the productive time of the size that was chosen, where the work says what each size has to do."""
    rows = content.get("rows")
    for row in rows if isinstance(rows, list) else []:
        hours = row.get("productive_hours") if isinstance(row, Mapping) else None
        if isinstance(hours, int | float) and row.get("gpus") == content.get("chosen_gpus"):
            return {"productive": f"{hours:.9g}h"}
    return {}
