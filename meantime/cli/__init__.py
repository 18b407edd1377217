"""The command line: parse, call the library, print. Every command is a function of the same name in Python."""

import os
import sys
from typing import Any, NoReturn, cast

import typer

from meantime.cli.app import app
from meantime.cli.forecasts import demo, ettr, forecast, planner, report
from meantime.cli.health import doctor
from meantime.cli.judging import backtest, calibrate, check, compare
from meantime.cli.logs import fit, jobs
from meantime.cli.measures import losses, quality, runs, sensitivity, training
from meantime.cli.plans import goodput, interval, mitigate, plan, simulate, spares
from meantime.cli.streams import drop_output, prepare_streams
from meantime.errors import MeantimeError

__all__ = [
    "app",
    "backtest",
    "calibrate",
    "check",
    "compare",
    "demo",
    "doctor",
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
    *(forecast, report, planner, ettr, plan, interval, spares, mitigate, goodput, simulate, doctor),
)
app.registered_commands.sort(key=lambda command: _ORDER.index(command.callback))  # as --help lists them


INTERRUPTED = 130
_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""Click's class, wherever this version of typer has it from."""


def main() -> None:
    """Run the command line; an error a user can mend is one line and exit status 2 or 3."""
    prepare_streams()
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
    except MeantimeError as error:
        _fail(str(error), error.exit_code)
    except _UsageError as error:
        _usage(error)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except OSError as error:
        drop_output()
        _fail(f"cannot go on: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", 1)
    if status == INTERRUPTED:
        print("meantime: interrupted", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)  # without waiting for threads that compile or sample
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, status: int) -> NoReturn:
    print(f"meantime: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(status)


def _usage(error: Any) -> NoReturn:
    """Say in one line what is wrong with what was typed; without a command, show the help."""
    command = error.ctx.command_path if error.ctx else "meantime"
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(error.exit_code)
    _fail(f"{error.format_message().rstrip('.')}; see `{command} --help`", error.exit_code)
