"""Options that commands share: the same everywhere, and none without effect."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from meantime.cli import app
from meantime.cli.options import Counting, PlanOptions, Reading, RunOptions
from meantime.datasets.published import load_llama3
from meantime.errors import InputError
from meantime.forecast import Plan, read_plan
from meantime.inference import fit, save_fit

SAMPLES = Path(__file__).parents[1] / "datasets" / "samples"
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def refused(*arguments: object) -> str:
    """What a command says when it refuses its input; the command line prints it in one line."""
    error = CliRunner().invoke(app, [str(argument) for argument in arguments]).exception
    assert isinstance(error, InputError), error
    return str(error)


@pytest.mark.parametrize(
    ("group", "commands"),
    [
        (Reading, ["jobs", "fit", "compare", "backtest", "quality", "runs", "losses", "sensitivity"]),
        (Counting, ["jobs", "fit", "compare", "backtest"]),
        (PlanOptions, ["plan", "ettr"]),
        (RunOptions, ["forecast", "interval", "mitigate", "simulate", "planner"]),
    ],
)
def test_commands_take_every_option_of_their_groups(group: type, commands: list[str]) -> None:
    wanted = set(group.__dataclass_fields__)
    for name in commands:
        assert wanted <= {parameter.name for parameter in COMMANDS[name].params}, name


@pytest.mark.parametrize(
    "command", [["jobs"], ["fit", "--output", "x.nc"], ["backtest"], ["compare", "--models", "component"]]
)
def test_events_beside_what_has_no_jobs_are_refused(command: list[str]) -> None:
    for name, kind in (("lanl.csv", "outages"), ("counts.csv", "counts"), ("events.csv", "events")):
        told = refused(command[0], SAMPLES / name, *command[1:], "--events", SAMPLES / "events.csv")
        assert f"{name} holds {kind}" in told


@pytest.mark.parametrize(
    "row",
    [
        {"time": "2025-01-01T00:00:00Z", "run": "a", "event": "run_start"},
        {"job_name": "a", "job_start_time": 1735689600.0},
        {"timestamp": "2025-01-01T00:00:00Z", "job_name": "a", "event_type": "job_started"},
    ],
)
def test_a_training_log_is_sent_to_its_command(row: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(row) + "\n")
    for command in ("jobs", "quality"):
        assert f"meantime training {path}" in refused(command, path)
    assert CliRunner().invoke(app, ["training", str(path)]).exit_code == 0


def test_options_of_a_log_without_one_are_refused() -> None:
    assert "--models" in refused("compare", "a.nc", "b.nc", "--before", "1h")
    assert "--over period" in refused("backtest", SAMPLES / "sacct.txt", "--period", "7d")


class TestPlanFile:
    plan = Plan(restart="90s", checkpoint_write="12s", queue="7min", productive="60d", gpus_per_node=4)

    def write(self, path: Path, content: object) -> Path:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def test_a_plan_alone_and_that_of_a_chosen_size(self, tmp_path: Path) -> None:
        assert read_plan(self.write(tmp_path / "a.json", self.plan.to_dict())) == self.plan
        rows = [{"gpus": 1024, "productive_hours": 694.5}, {"gpus": 2048, "productive_hours": 396.75}]
        content = {"schema": "meantime.plan/1", "plan": self.plan.to_dict(), "chosen_gpus": 2048, "rows": rows}
        chosen = read_plan(self.write(tmp_path / "b.json", content))
        assert (chosen.restart, chosen.gpus_per_node, chosen.productive) == ("90s", 4, "396.75h")
        none = read_plan(self.write(tmp_path / "c.json", content | {"chosen_gpus": 0}))
        assert none == self.plan

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("{", "is no JSON"),
            ("[1]", "holds no plan"),
            ({"schema": "meantime.jobs/1"}, "holds no plan"),
            ({"restarts": "5min"}, "unknown field 'restarts'"),
            ({"schema": "meantime.forecast/1", "rows": [{"plan": {"queue": "1s"}}, {"plan": {}}]}, "several plans"),
        ],
    )
    def test_other_files_are_refused(self, content: object, told: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=told):
            read_plan(self.write(tmp_path / "bad.json", content))

    def test_what_is_typed_goes_before_the_file(self, tmp_path: Path) -> None:
        """And the forecast that comes out is a plan again; the rows that the planner page adds for measures are not."""
        path = self.write(tmp_path / "plan.json", self.plan.to_dict())
        save_fit(fit(load_llama3(), "constant", seed=1, draws=50), tmp_path / "fit.nc")
        typed = ["forecast", str(tmp_path / "fit.nc"), "--gpus", "1024", "--plan", str(path), "--queue", "3min"]
        result = CliRunner().invoke(app, [*typed, "--json"])
        assert result.exit_code == 0, result.exception
        said = json.loads(result.stdout)
        assert read_plan(self.write(tmp_path / "out.json", said)) == replace(self.plan, queue="3min")
        said["rows"].append({**said["rows"][0], "plan": {"restart": "1s"}, "measures": ["restart x 0.1"]})
        assert read_plan(self.write(tmp_path / "out.json", said)) == replace(self.plan, queue="3min")
