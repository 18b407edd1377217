"""The command line: parse, call the library, print. Every command is a function of the same name in Python."""

import sys

from meantime.cli.app import app
from meantime.cli.forecasts import demo, ettr, forecast, planner, report
from meantime.cli.judging import backtest, calibrate, check, compare
from meantime.cli.logs import fit, jobs
from meantime.cli.measures import losses, quality, runs, sensitivity, training
from meantime.cli.plans import goodput, interval, mitigate, plan, simulate, spares
from meantime.errors import MeantimeError

__all__ = [
    "app",
    "backtest",
    "calibrate",
    "check",
    "compare",
    "demo",
    "ettr",
    "fit",
    "forecast",
    "goodput",
    "interval",
    "jobs",
    "losses",
    "main",
    "mitigate",
    "plan",
    "planner",
    "quality",
    "report",
    "runs",
    "sensitivity",
    "simulate",
    "spares",
    "training",
]

_ORDER = (
    *(demo, jobs, quality, runs, losses, sensitivity, training, fit, compare, check, backtest, calibrate),
    *(forecast, report, planner, ettr, plan, interval, spares, mitigate, goodput, simulate),
)
app.registered_commands.sort(key=lambda command: _ORDER.index(command.callback))  # as --help lists them


def main() -> None:
    """Run the command line; an error a user can mend is one line and exit status 2 or 3."""
    try:
        app()
    except MeantimeError as error:
        print(f"meantime: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
