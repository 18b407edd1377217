"""The application that the commands register with."""

from typing import Annotated

import typer

app = typer.Typer(
    name="meantime",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Fit Bayesian failure models to GPU-cluster logs and forecast MTTF and ETTR of large jobs.\n\n"
    "A first look: `meantime demo`. Your own log: `meantime jobs log.txt`, then `meantime fit log.txt`, "
    "then `meantime forecast fit.nc --gpus 1024,16384`.",
    add_completion=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from meantime import __version__

        print(f"meantime {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options of no command."""
