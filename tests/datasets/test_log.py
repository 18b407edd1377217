"""What a reader returns, as a notebook shows it."""

import polars as pl

from meantime.datasets import Log
from meantime.datasets.log import empty_quarantine


def test_a_notebook_shows_the_account_and_escapes_the_log() -> None:
    table = pl.DataFrame({"job_id": ["<script>alert(1)</script>"]})
    log = Log(table=table, quarantine=empty_quarantine(), rows_read=3, rows_folded={"steps": 2}, source="<b>x</b>",
              format="sacct", notes=("a < b",))  # fmt: skip
    shown = log._repr_html_()
    assert "3 rows read = 1 used + 2 steps folded + 0 quarantined" in shown
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "&lt;b&gt;x" in shown
    assert "<li>a &lt; b</li>" in shown
