"""A progress bar of a fit, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


@contextmanager
def progress_bar(total: int, *, tune: int, show: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that is called with the number of iterations just done.

    Parameters
    ----------
    total
        Iterations of all chains together, warm-up included.
    tune
        Warm-up iterations of all chains together.
    show
        Whether to show anything.
    """
    if not show:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    lock, done = Lock(), 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("compiling", total=total)

        def advance(iterations: int) -> None:
            nonlocal done
            with lock:
                done += iterations
                bar.update(task, completed=done, description="warm-up" if done < tune else "sampling")

        yield advance
