"""Commands that judge models: `compare`, `check`, `backtest` and `calibrate`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from meantime.cli.app import app
from meantime.cli.groups import spread
from meantime.cli.options import WEEK, AsJson, Counting, FitPath, Paths, Reading, Scan, Seed, print_json
from meantime.cli.reading import table_of
from meantime.errors import InputError

SHOWN = 30
"""Rows of a check that a terminal shows."""


@app.command()
@spread
def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Fits of the same data; or, with --models, a log or counts.", show_default=False
        ),
    ],
    models: Annotated[
        str | None, typer.Option("--models", help="Fit these to the log first, comma separated: component,constant.")
    ] = None,
    *,
    reading: Reading,
    counting: Counting,
    scan: Scan = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare models by leave-one-out cross-validation: which predicts cells it has not seen.

    Example: `meantime compare size.nc component.nc`, or `meantime compare log.csv --models component,component_size`
    """
    from meantime import inference
    from meantime.forecast import compare_document

    if models is None:
        if (reading, counting, scan) != (Reading(), Counting(), None):
            raise InputError("options of reading a log were given without --models; expected the models to fit to it")
        short = len({path.stem for path in paths}) == len(paths)
        trees = {path.stem if short else str(path): inference.load_fit(path) for path in paths}
    else:
        table = table_of(paths, reading, counting, scan=scan)
        names = [name.strip() for name in models.split(",")]
        trees = {name: inference.fit(table, name, seed=seed, progress=False) for name in names}
    content = compare_document(inference.compare(trees))
    columns = {
        "model": ("model", "text"),
        "elpd": ("elpd", "number"),
        "s.e.": ("elpd_se", "number"),
        "difference": ("difference", "number"),
        "its s.e.": ("difference_se", "number"),
        "weight": ("weight", "fraction"),
        "parameters": ("p_loo", "number"),
        "bad k": ("bad_k", "count"),
    }
    title = f"Leave-one-out comparison on {content['observations']:,} cells"
    _show(content, columns, as_json=as_json, title=title, rows=content["rows"])


@app.command()
def check(
    path: FitPath,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Write the picture of LOO-PIT values to this file (PNG, SVG).")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Check a fit against its data: zeros, dispersion, largest count, totals, LOO-PIT.

    Example: `meantime check fit.nc --figure pit.png`
    """
    from meantime import inference
    from meantime.forecast import check_document

    result = inference.check(inference.load_fit(path), seed=seed)
    content = check_document(result)
    if figure is not None:
        from meantime.report.figures import loo_pit, save_figure

        save_figure(loo_pit(result), figure)
    columns = {
        "statistic": ("named", "text"),
        "observed": ("shown", "text"),
        "predicted": ("predicted", "number"),
        "P(larger)": ("p_value", "fraction"),
        "": ("mark", "text"),
    }
    rows = [
        {
            **row,
            "named": f"{row['what']} {row['label'] or ''}".strip(),
            "shown": f"{row['observed']:,.0f}" if row["observed"].is_integer() else f"{row['observed']:,.3g}",
            "mark": "*" if row["extreme"] else "",
        }
        for row in content["rows"]
    ]
    if len(rows) > SHOWN:  # the cells' statistics, then the most extreme totals in their order
        rank = sorted(range(len(rows)), key=lambda i: (rows[i]["label"] is not None, -abs(rows[i]["p_value"] - 0.5)))
        rows = [rows[i] for i in sorted(rank[:SHOWN])]
    pit = content["loo_pit_p_value"]
    named = "" if pit is None else f"; LOO-PIT uniform: p = {pit:.2g}"
    _show(content, columns, as_json=as_json, title=f"{content['model']} against its data{named}", rows=rows)


@app.command()
@spread
def backtest(
    paths: Paths,
    model: Annotated[str, typer.Option("--model", help="Name of a model that predicts rates.")] = "component_size",
    over: Annotated[
        Literal["job_size", "period"],
        typer.Option("--over", help="Hold out the largest **job_size**s, or roll forward over **period**s."),
    ] = "job_size",
    hold: Annotated[int, typer.Option("--hold", min=1, help="How many sizes or periods to predict.")] = 1,
    *,
    reading: Reading,
    counting: Counting,
    scan: Scan = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Hold out the largest job sizes or the latest periods, predict them, and score beside plain rates.

    Example: `meantime backtest log.csv --over job_size --hold 2`
    """
    from meantime import inference
    from meantime.forecast import backtest_document

    if over == "period" and counting.period is None:
        counting = replace(counting, period=WEEK)
    elif over != "period" and counting.period is not None:
        raise InputError(f"--period {counting.period} is for --over period; expected it with that")
    table = table_of(paths, reading, counting, scan=scan, model=model)
    content = backtest_document(inference.backtest(table, model, over=over, hold=hold, seed=seed))
    columns = {
        "forecaster": ("forecaster", "text"),
        "of": ("scope", "text"),
        "coverage": ("coverage", "fraction"),
        "log score": ("mean_log_score", "number"),
        "CRPS": ("mean_crps", "number"),
    }
    probability = content["interval"]["probability"]
    title = f"{hold} {over.replace('_', ' ')}s held out: coverage of {100 * probability:.0f} % intervals, mean scores"
    _show(content, columns, as_json=as_json, title=title, rows=content["rows"])


@app.command()
def calibrate(
    model: Annotated[str, typer.Option("--model", help="Name of the model.", show_default=False)],
    replicates: Annotated[int, typer.Option("--replicates", min=10, help="Data sets drawn from the prior.")] = 100,
    method: Annotated[str, typer.Option("--method", help="As of `meantime fit`.")] = "auto",
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Write the picture of the ranks to this file (PNG, SVG).")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Calibrate a model by simulation: draw data from the prior, fit them, rank the truth in the posterior.

    Exit status 3 if ranks are not uniform. Example: `meantime calibrate --model component --replicates 100`
    """
    from rich.progress import track

    from meantime import inference
    from meantime.forecast import calibrate_document
    from meantime.report.console import console

    err = console(stderr=True)
    steps = iter(track(range(replicates), "replicates", console=err, disable=not err.is_terminal, transient=True))
    result = inference.calibrate(
        model, replicates=replicates, method=method, seed=seed, advance=lambda: next(steps, None)
    )
    content = calibrate_document(result)
    if figure is not None:
        from meantime.report.figures import save_figure, sbc_ranks

        save_figure(sbc_ranks(result), figure)
    columns = {
        "quantity": ("quantity", "text"),
        "mean rank": ("mean_rank", "fraction"),
        "p (uniform)": ("p_value", "fraction"),
        "": ("mark", "text"),
    }
    rows = [{**row, "mark": "" if row["passed"] else "FAILED"} for row in content["rows"]]
    verdict = "passed" if content["passed"] else "FAILED"
    title = f"{model}: {verdict} on {replicates} replicates (false alarm {content['false_alarm']:g} in all)"
    _show(content, columns, as_json=as_json, title=title, rows=rows)
    if not content["passed"]:
        raise typer.Exit(3)


def _show(
    content: dict[str, Any],
    columns: dict[str, tuple[str, str]],
    *,
    as_json: bool,
    title: str,
    rows: list[dict[str, Any]],
) -> None:
    from meantime.report.console import console, print_rows

    if as_json:
        print_json(content)
        return
    print_rows(rows, columns, console(), title=title)
    for note in content["notes"]:
        console().print(f"Note: {note}", style="yellow")
    if len(rows) < len(content["rows"]):
        console().print(f"{len(content['rows']) - len(rows)} rows more with --json", style="dim")
