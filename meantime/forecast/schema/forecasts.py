"""Documents of forecasts: of draws, and of one stated rate."""

from typing import Annotated, Literal

from pydantic import Field

from meantime.forecast.schema.parts import (
    Document,
    Figures,
    NotNegative,
    Part,
    PlanFields,
    PlanSeconds,
    PlanTexts,
    Result,
)


class ForecastRow(Part):
    """One size and plan."""

    gpus: Annotated[int, Field(ge=1)]
    nodes: Annotated[int, Field(ge=1)]
    extrapolated: bool
    rate_per_1000_node_days: Figures
    mttf_hours: Figures
    checkpoint_interval_seconds: Figures
    ettr: Figures
    ettr_run: Figures
    ettr_kokolis: Figures
    failures_per_day: Figures
    gpu_hours_lost_per_day: Figures
    days_to_finish: Figures
    checkpoint_interval_chosen_seconds: NotNegative | None
    plan: PlanTexts
    plan_seconds: PlanSeconds


class ForecastDocument(Result):
    """What `meantime forecast --json` prints: one row for every size and plan."""

    schema_: Literal["meantime.forecast/1"] = Field(alias="schema")
    rows: list[ForecastRow]


class PeriodRow(ForecastRow):
    """One size and plan in one period ahead."""

    period: Annotated[str, Field(description="start of the period, ISO 8601, UTC")]


class PeriodsDocument(Result):
    """What `meantime forecast --periods --json` prints: rows as of a forecast, for each period ahead."""

    schema_: Literal["meantime.periods/1"] = Field(alias="schema")
    period_days: Annotated[float, Field(gt=0)]
    rows: list[PeriodRow]


class AheadRow(Part):
    """A run of one size that starts ahead of the data: followed through moving rates, and simulated."""

    gpus: Annotated[int, Field(ge=1)]
    extrapolated: bool
    rate_per_1000_node_days: Figures
    checkpoint_interval_seconds: NotNegative
    ettr: Figures
    ettr_run: Figures
    ettr_mean_rate: Figures
    ettr_now: Figures
    days_expected: Figures
    days_to_finish: Figures
    error_followed: float | None
    error_mean_rate: float | None
    error_simulation: NotNegative | None


class AheadDocument(Result):
    """What `meantime forecast --starts --json` prints."""

    schema_: Literal["meantime.ahead/1"] = Field(alias="schema")
    plan: PlanFields
    starts: str
    rows: list[AheadRow]


class EttrForms(Part):
    """ETTR by the exact form and by the published first-order form, which can be negative."""

    renewal: Annotated[float, Field(gt=0, le=1)]
    kokolis: float


class EttrDocument(Document):
    """What `meantime ettr --json` prints: a long run at a stated rate."""

    schema_: Literal["meantime.ettr/1"] = Field(alias="schema")
    gpus: Annotated[int, Field(ge=1)]
    nodes: Annotated[int, Field(ge=1)]
    rate_per_1000_node_days: Annotated[float, Field(gt=0)]
    mttf_hours: Annotated[float, Field(gt=0)]
    checkpoint_interval_seconds: Annotated[float, Field(gt=0)]
    ettr: EttrForms
