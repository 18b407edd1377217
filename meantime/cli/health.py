"""The command that looks after the installation: `doctor`."""

from typing import Annotated

import typer

from meantime.cli.app import app
from meantime.cli.options import AsJson, print_json


@app.command()
def doctor(
    self_test: Annotated[
        bool, typer.Option("--self-test/--no-self-test", help="Fit and compute known answers.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Check the installation: versions, devices, cache folder and a short self-test. Exit status 1 if it fails."""
    from meantime.report.console import console, print_doctor
    from meantime.report.health import doctor as examine

    found = examine(self_test=self_test)
    if as_json:
        print_json(found)
    else:
        print_doctor(found, console())
    if not found["passed"]:
        raise typer.Exit(1)
