"""Every document keeps to its published schema, the schemas to their models, and a client can rely on both."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from meantime.datasets import (
    Log,
    check_quality,
    describe,
    goodput,
    measure_runs,
    read,
    read_training,
    runs_document,
    sensitivity,
    sensitivity_document,
    summarise,
    training_document,
)
from meantime.datasets.simulate import simulate_cluster
from meantime.errors import InputError
from meantime.forecast import (
    Budget,
    FasterRestart,
    HotSpares,
    JobClass,
    Plan,
    ScaleComponent,
    Throughput,
    Uncertain,
    ahead_document,
    as_text,
    backtest_document,
    calibrate_document,
    check_document,
    cluster_goodput,
    compare_document,
    ettr_point,
    forecast_ahead,
    forecast_periods,
    forecast_rates,
    mitigate_document,
    mitigate_rates,
    periods_document,
    plan_intervals,
    plan_run,
    plan_spares,
    simulate_runs,
    stated_rate,
    to_json,
)
from meantime.forecast.schema import DOCUMENTS, checked, file_of, json_schema
from meantime.forecast.schema.parts import as_plain
from meantime.inference import fit

from ..models.tables import period_table

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schema"
SIZES = [1024, 4096]
PLAN = Plan(checkpoint_interval="30min", queue="5min", productive="2d")


def rates(n: int = 200) -> xr.DataArray:
    rng = np.random.default_rng(21)
    draws = np.stack([rng.gamma(50, 4 / 50, n), rng.gamma(8, 2.5 / 8, n)], axis=1) / 1000
    return xr.DataArray(
        np.repeat(draws[:, :, None], 2, axis=2),
        dims=("sample", "component", "gpus"),
        coords={"component": ["gpu", "=ib()"], "gpus": SIZES},
        attrs={"largest_job_gpus": 2048, "model": json.dumps({"model": "constant", "versions": {"jax": "1"}})},
    )


def comparison() -> xr.Dataset:
    """What `meantime.inference.compare` returns, in its form."""
    columns = ("elpd", "elpd_se", "p_loo", "difference", "difference_se", "weight", "largest_k", "bad_k")
    numbers = {name: ("model", np.array([0.0, 0.5])) for name in columns} | {"bad_k": ("model", np.array([0, 2]))}
    attrs = {"good_k": 0.7, "observations": 32, "data_digest": "sha256:0", "notes": ["few"]}
    return xr.Dataset(numbers, coords={"model": ["a", "b"]}, attrs=attrs)


def back_test() -> xr.Dataset:
    """What `meantime.inference.backtest` returns, in its form."""
    scores = ("median", "lower", "upper", "pit")
    means = {name: (("forecaster", "scope"), [[0.5]]) for name in ("coverage", "mean_log_score", "mean_crps")}
    return xr.Dataset(
        {name: (("forecaster", "target"), [[0.5]]) for name in scores}
        | {"observed": ("target", [3]), "exposure": ("target", [1e4])}
        | means,
        coords={
            "forecaster": ["component"],
            "scope": ["cells"],
            "cluster": ("target", ["A"]),
            "component": ("target", ["gpu"]),
            "job_size": ("target", [64]),
        },
        attrs={"model": "component", "over": "job_size", "hold": 1, "seed": 0, "notes": ["a"]},
    )


def calibration() -> xr.Dataset:
    """What `meantime.inference.calibrate` returns, in its form."""
    attrs = {"model": "component", "method": "nuts", "replicates": 10, "seed": 0, "false_alarm": 0.01, "passed": 1,
             "redrawn": 1, "unconverged": 1}  # fmt: skip
    numbers = {"p_value": ("quantity", [0.5]), "passed": ("quantity", [True])}
    return xr.Dataset(
        {"rank": (("quantity", "replicate"), np.full((1, 10), 0.5)), **numbers},
        coords={"quantity": ["mu"]},
        attrs=attrs,
    )


def examination() -> dict[str, Any]:
    """What `meantime.report.health.doctor` returns, in its form."""
    check = {"check": "a fit", "passed": True, "seconds": 1.2, "note": "6.5"}
    cache = {"folder": None, "used": False, "writable": False}
    return {"schema": "meantime.doctor/1", "python": "3.12.1", "system": "Linux", "processors": 2,
            "packages": {"jax": "0.12", "nutpie": None}, "devices": [{"name": "cpu:0", "kind": "cpu"}],
            "cache": cache, "checks": [check], "passed": True}  # fmt: skip


def checked_fit() -> xr.Dataset:
    """What `meantime.inference.check` returns, in its form."""
    return xr.Dataset(
        {
            "what": ("check", ["zero cells", "total by job_size"]),
            "label": ("check", ["", "64"]),
            "observed": ("check", [3.0, 40.0]),
            "predicted": (("check", "figure"), np.ones((2, 4))),
            "p_value": ("check", [0.4, 0.01]),
            "extreme": ("check", [False, True]),
        },
        attrs={"model": "component", "seed": 0, "notes": [], "loo_pit_p_value": 0.2},
    )


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    unsure = Plan(restart=Uncertain([60, 120, 600], unit="s"), checkpoint_interval="30min", queue=["0s", "5min"])
    work = Budget(work=1e9, throughput=Throughput(measured={1024: 1e4}, efficiency_per_doubling=0.95))
    mix = [JobClass(gpus=1024, running=2048), JobClass(gpus=4096, running=4096, priority=1, taken=0.5)]
    made = [
        ettr_point(6.5, 131_072),
        json.loads(to_json(forecast_rates(rates(), unsure))),
        mitigate_document(
            mitigate_rates(rates(), PLAN, [FasterRestart("1min"), ScaleComponent("=ib()", 0.3), HotSpares(4)])
        ),
        plan_run(rates(), work, Plan(checkpoint_interval="30min"), price_per_gpu_hour=2, within="2d", target=0.9),
        plan_spares(rates(), "4h"),
        plan_intervals(rates(), PLAN),
        simulate_runs(rates(), PLAN, runs=100),
        cluster_goodput(rates(), mix, 8192, price_per_gpu_hour=2),
        compare_document(comparison()),
        check_document(checked_fit()),
        calibrate_document(calibration()),
        backtest_document(back_test()),
        examination(),
        *ahead_documents(),
    ]
    return {content["schema"]: content for content in [*made, *log_documents(tmp_path_factory.mktemp("log"))]}


def ahead_documents() -> list[dict[str, Any]]:
    """Documents of a fit of rates that move: by period, and of a run that starts ahead."""
    table = period_table(clusters=1, components=1)
    tree = fit(table, "over_time", seed=2, method="laplace", progress=False, allow_unconverged=True)
    plan = Plan(checkpoint_interval="30min", productive="20d")
    return [
        periods_document(forecast_periods(tree, SIZES, plan, periods=2, seed=1)),
        ahead_document(forecast_ahead(tree, SIZES[0], plan, starts="45d", seed=1)),
    ]


def log_documents(folder: Path) -> list[dict[str, Any]]:
    """Documents of a small simulated log, as the commands of the same names print them."""
    cluster = simulate_cluster(seed=4, n_jobs=1500, n_nodes=100, days=10, noise_high=0.05)
    (folder / "training.jsonl").write_text(TRAINING)
    cluster.events.write_csv(folder / "events.csv")
    events = read(folder / "events.csv")
    assert isinstance(events, Log)
    measured = {
        "jobs": summarise(cluster.jobs, events, period="7d"),
        "log": describe(events),
        "losses": goodput(cluster.jobs, events, total_gpus=800),
        "quality": check_quality(cluster.jobs, events),
    }
    runs = measure_runs(cluster.jobs, events)
    return [
        *({"schema": f"meantime.{name}/1", **content} for name, content in measured.items()),
        runs_document(runs, source="simulated", assumptions={"restart": 300.0}),
        sensitivity_document(sensitivity(cluster.jobs, events, before=["5min", "30min"]), source="simulated"),
        training_document(read_training(folder / "training.jsonl")),
    ]


TRAINING = """\
{"time": 1704067200, "run": "a", "event": "run_start"}
{"time": 1704067500, "run": "a", "event": "step", "step": 1}
{"time": 1704070800, "run": "a", "event": "checkpoint_start", "step": 100}
{"time": 1704070830, "run": "a", "event": "checkpoint_end", "step": 100}
{"time": 1704072000, "run": "a", "event": "failure_detected"}
{"time": 1704072300, "run": "a", "event": "restart_start"}
{"time": 1704072540, "run": "a", "event": "restart_end", "step": 100}
{"time": 1704075000, "run": "a", "event": "run_end"}
not an event
"""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_published_schemas_are_those_of_the_models(name: str) -> None:
    """To renew them: python -m meantime.forecast.schema docs/schema."""
    assert json.loads((FOLDER / file_of(name)).read_text(encoding="utf-8")) == json_schema(name)


def test_nothing_else_is_published() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == {file_of(name) for name in DOCUMENTS}


def assert_held(model: Any, content: Any) -> None:
    """Everything in the content is in the model; what was left out there may be None or a default here."""
    if isinstance(content, dict):
        assert set(content) <= set(model)
        for key, value in content.items():
            assert_held(model[key], value)
    elif isinstance(content, list):
        assert len(model) == len(content)
        for one, other in zip(model, content, strict=True):
            assert_held(one, other)
    else:
        assert model == content


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_keep_to_their_schema(name: str, documents: dict[str, dict[str, Any]]) -> None:
    """By pydantic, and by a validator of JSON schemas that knows nothing of it; nothing is lost on the way."""
    text = as_text(documents[name])
    content = json.loads(text)
    model = checked(text)
    assert_held(as_plain(model), content)
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((FOLDER / file_of(name)).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(content)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_key_of_a_document_is_described(name: str, documents: dict[str, dict[str, Any]]) -> None:
    def undescribed(value: Any, schema: dict[str, Any], path: str) -> list[str]:
        options = [schema, *schema.get("anyOf", [])]
        found = [definitions[o["$ref"].split("/")[-1]] if "$ref" in o else o for o in options]
        found += [o for f in found for o in f.get("anyOf", [])]
        found = [definitions[o["$ref"].split("/")[-1]] if "$ref" in o else o for o in found]
        if isinstance(value, list):
            inner = next((f["items"] for f in found if "items" in f), None)
            return [text for item in value for text in undescribed(item, inner, f"{path}[]")] if inner else []
        if not isinstance(value, dict):
            return []
        known = next((f["properties"] for f in found if "properties" in f), None)
        if known is None:
            return []
        missing = [f"{path}.{key}" for key in value if key not in known]
        return missing + [
            text
            for key, item in value.items()
            if key in known
            for text in undescribed(item, known[key], f"{path}.{key}")
        ]

    schema = json_schema(name)
    definitions = schema["$defs"]
    assert not undescribed(documents[name], schema, "")


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (lambda d: d.pop("rows"), "rows: Field required"),
        (lambda d: d.update(schema="meantime.forecast/2"), "expected one of"),
        (lambda d: d["rows"][0].update(gpus="many"), r"rows\.0\.gpus"),
        (lambda d: d["interval"].update(probability=90), r"interval\.probability"),
        (lambda d: d["rows"][0]["ettr"].pop("mean"), r"rows\.0\.ettr\.mean"),
    ],
)
def test_damaged_documents_are_refused(damage: Any, match: str, documents: dict[str, dict[str, Any]]) -> None:
    content = json.loads(json.dumps(documents["meantime.forecast/1"]))
    damage(content)
    with pytest.raises(InputError, match=match):
        checked(content)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"rows": []}'])
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        checked(text)


def test_unknown_keys_are_kept(documents: dict[str, dict[str, Any]]) -> None:
    content = json.loads(json.dumps(documents["meantime.ettr/1"])) | {"added_later": 5}
    assert as_plain(checked(content))["added_later"] == 5


def test_schemas_need_pydantic_alone_when_asked_for() -> None:
    """Pydantic comes in with the schemas and not with forecasts."""
    import subprocess
    import sys

    code = "import sys, meantime.forecast; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_unknown_schema_is_refused() -> None:
    with pytest.raises(InputError, match="expected one of"):
        json_schema("meantime.fortune/1")


def test_stated_rates_make_documents_too() -> None:
    assert checked(plan_spares(stated_rate(6.5, [1024]), "2h")).schema_ == "meantime.spares/1"
