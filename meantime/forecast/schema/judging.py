"""Documents that judge models."""

from typing import Annotated, Literal

from pydantic import Field

from meantime.forecast.schema.parts import Convention, Document, Figures, NotNegative, Part, Probability


class CompareRow(Part):
    """One model: its expected log predictive density by leave-one-out, and its share in the best mixture."""

    model: str
    elpd: float
    elpd_se: NotNegative
    p_loo: float
    difference: float
    difference_se: NotNegative
    weight: Probability
    largest_k: float
    bad_k: Annotated[int, Field(ge=0)]


class CompareDocument(Document):
    """What `meantime compare --json` prints, best model first."""

    schema_: Literal["meantime.compare/1"] = Field(alias="schema")
    data_digest: str
    observations: Annotated[int, Field(ge=1)]
    good_k: float
    notes: list[str]
    rows: list[CompareRow]


class CheckRow(Part):
    """One statistic of the data, and what the fitted model gives for it."""

    what: str
    label: str | None
    observed: float
    predicted: Figures
    p_value: Probability
    extreme: bool


class CheckDocument(Document):
    """What `meantime check --json` prints."""

    schema_: Literal["meantime.check/1"] = Field(alias="schema")
    interval: Convention
    seed: int
    model: str
    loo_pit_p_value: Probability | None
    notes: list[str]
    rows: list[CheckRow]


class CalibrateRow(Part):
    """One quantity: the rank of its true value among posterior draws, over replicates; uniform if all is right."""

    quantity: str
    p_value: Probability
    mean_rank: Probability
    passed: bool


class CalibrateDocument(Document):
    """What `meantime calibrate --json` prints."""

    schema_: Literal["meantime.calibrate/1"] = Field(alias="schema")
    model: str
    method: str
    replicates: Annotated[int, Field(ge=1)]
    seed: int
    false_alarm: Probability
    passed: bool
    notes: list[str]
    rows: list[CalibrateRow]


class BacktestRow(Part):
    """Mean scores of one forecaster, of cells or of the totals over components."""

    forecaster: str
    scope: Literal["cells", "totals"]
    coverage: Probability | None
    mean_log_score: float | None
    mean_crps: NotNegative | None


class Prediction(Part):
    """Predicted failures: median, 90 % interval, and where what came lies in the predicted distribution."""

    median: NotNegative | None
    lower: NotNegative | None
    upper: NotNegative | None
    pit: Probability | None


class BacktestTarget(Part):
    """One count that was held out."""

    cluster: str
    component: str
    label: str
    observed: Annotated[int, Field(ge=0)]
    exposure_node_days: NotNegative
    predictions: dict[str, Prediction]


class BacktestDocument(Document):
    """What `meantime backtest --json` prints."""

    schema_: Literal["meantime.backtest/1"] = Field(alias="schema")
    interval: Convention
    model: str
    over: Literal["job_size", "period"]
    hold: Annotated[int, Field(ge=1)]
    seed: int
    notes: list[str]
    rows: list[BacktestRow]
    targets: list[BacktestTarget]
