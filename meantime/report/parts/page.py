"""What the page of such a fit is made of, and which model has which."""

from collections.abc import Callable
from dataclasses import dataclass

import xarray as xr

from meantime.inference import provenance
from meantime.report.picture import Picture
from meantime.report.table import Table
from meantime.report.words import Answer, Headline


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with words, a figure and a table below it."""

    key: str
    heading: str
    sentences: tuple[str, ...] = ()
    picture: Picture | None = None
    table: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsPage:
    """What a page says beside its method, checks and provenance.

    Parameters
    ----------
    title
        Heading of the page.
    headlines, answers
        The summary: three figures to remember, and the questions a reader asks first.
    read
        What was read, as (name, value).
    sections
        The evidence.
    counted, model
        What was counted and what the model is, for the method.
    """

    title: str
    headlines: tuple[Headline, ...]
    answers: tuple[Answer, ...]
    read: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    counted: str
    model: str


def parts_page(tree: xr.DataTree, *, cluster: str | None = None) -> PartsPage | None:
    """Return what there is to say of a fit of lives, repairs or incidents; None for any other fit.

    Parameters
    ----------
    tree
        A fit.
    cluster
        Of incidents, the cluster; default the one with most of them.

    Raises
    ------
    InputError
        If there is no such cluster.
    """
    from meantime.report.parts.incidents import incidents_page
    from meantime.report.parts.lives import lives_page
    from meantime.report.parts.repairs import repairs_page

    pages: dict[str, Callable[[], PartsPage]] = {
        "lifetime": lambda: lives_page(tree),
        "lifetime_steps": lambda: lives_page(tree),
        "repair": lambda: repairs_page(tree),
        "repair_tail": lambda: repairs_page(tree),
        "incident": lambda: incidents_page(tree, cluster),
    }
    build = pages.get(str(provenance(tree).get("model")))
    return None if build is None else build()
