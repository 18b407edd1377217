"""The JSON that meantime writes, as pydantic models, and the JSON schemas made from them.

Pydantic is imported when this package is; nothing else of meantime needs it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from meantime.errors import InputError
from meantime.files import write_text
from meantime.forecast.schema.decisions import IntervalDocument, PlanDocument, SimulateDocument, SparesDocument
from meantime.forecast.schema.doctor import DoctorDocument
from meantime.forecast.schema.forecasts import AheadDocument, EttrDocument, ForecastDocument, PeriodsDocument
from meantime.forecast.schema.judging import BacktestDocument, CalibrateDocument, CheckDocument, CompareDocument
from meantime.forecast.schema.logs import (
    JobsDocument,
    LogDocument,
    LossesDocument,
    QualityDocument,
    RunsDocument,
    SensitivityDocument,
    TrainingDocument,
)
from meantime.forecast.schema.losses import GoodputDocument, MitigateDocument
from meantime.forecast.schema.parts import Document

DOCUMENTS: dict[str, type[Document]] = {
    "meantime.ahead/1": AheadDocument,
    "meantime.backtest/1": BacktestDocument,
    "meantime.calibrate/1": CalibrateDocument,
    "meantime.check/1": CheckDocument,
    "meantime.compare/1": CompareDocument,
    "meantime.doctor/1": DoctorDocument,
    "meantime.ettr/1": EttrDocument,
    "meantime.forecast/1": ForecastDocument,
    "meantime.goodput/1": GoodputDocument,
    "meantime.interval/1": IntervalDocument,
    "meantime.jobs/1": JobsDocument,
    "meantime.log/1": LogDocument,
    "meantime.losses/1": LossesDocument,
    "meantime.mitigate/1": MitigateDocument,
    "meantime.periods/1": PeriodsDocument,
    "meantime.plan/1": PlanDocument,
    "meantime.quality/1": QualityDocument,
    "meantime.runs/1": RunsDocument,
    "meantime.sensitivity/1": SensitivityDocument,
    "meantime.simulate/1": SimulateDocument,
    "meantime.spares/1": SparesDocument,
    "meantime.training/1": TrainingDocument,
}
"""Every schema by its name and number."""


def checked(content: Mapping[str, Any] | str) -> Document:
    """Read a JSON document of meantime into its model.

    Parameters
    ----------
    content
        The JSON, as text or as what `json.loads` gives.

    Returns
    -------
    Document
        The model of its schema; keys that it does not know are kept.

    Raises
    ------
    InputError
        If it is no JSON, has no known schema, or does not keep to it.
    """
    try:
        values = json.loads(content) if isinstance(content, str) else dict(content)
    except (json.JSONDecodeError, TypeError, ValueError) as error:
        raise InputError(f"not JSON: {error}") from error
    name = values.get("schema") if isinstance(values, dict) else None
    if name not in DOCUMENTS:
        raise InputError(f"schema is {name!r}; expected one of {', '.join(DOCUMENTS)}")
    try:
        return DOCUMENTS[name].model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{name}: {where}: {first['msg']} ({len(error.errors())} faults)") from error


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a document of meantime.

    Raises
    ------
    InputError
        If there is no such schema.
    """
    if name not in DOCUMENTS:
        raise InputError(f"schema is {name!r}; expected one of {', '.join(DOCUMENTS)}")
    schema = DOCUMENTS[name].model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name} | {
        key: value for key, value in schema.items() if key != "title"
    }


def file_of(name: str) -> str:
    """Return the name of the file that a schema is published in: ``meantime.forecast-1.json``."""
    return f"{name.replace('/', '-')}.json"


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema into a folder, one file each."""
    paths = []
    for name in DOCUMENTS:
        paths.append(folder / file_of(name))
        write_text(paths[-1], json.dumps(json_schema(name), indent=1, ensure_ascii=False) + "\n")
    return paths
