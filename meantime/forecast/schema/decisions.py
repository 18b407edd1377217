"""Documents of decisions: size of cluster, spares, checkpoint interval; and of simulated runs."""

from typing import Annotated, Literal

from pydantic import Field

from meantime.forecast.schema.parts import Figures, NotNegative, Part, PlanFields, Probability, Result


class Work(Part):
    """What a run has to do."""

    work: Annotated[float, Field(gt=0)]
    unit: str


class PlanRow(Part):
    """A run on one size of cluster."""

    gpus: Annotated[int, Field(ge=1)]
    nodes: Annotated[int, Field(ge=1)]
    extrapolated: bool
    productive_hours: NotNegative
    work_per_second: NotNegative
    checkpoint_interval_seconds: NotNegative | None
    ettr: Figures
    ettr_run: Figures
    days_to_finish: Figures
    gpu_hours: Figures
    failures_per_day: Figures
    cost: Figures | None
    probability_best: Probability
    regret: NotNegative | None
    probability_done: Probability | None
    probability_of_target: Probability | None


class PlanDocument(Result):
    """What `meantime plan --json` prints: a run planned from its work."""

    schema_: Literal["meantime.plan/1"] = Field(alias="schema")
    plan: PlanFields
    budget: Work
    aim: Literal["days", "cost"]
    within: str | None
    sureness: Probability
    target: Probability | None
    price_per_gpu_hour: NotNegative | None
    chosen_gpus: Annotated[int, Field(ge=0, description="0 if no size keeps the deadline")]
    rows: list[PlanRow]


class PoolRow(Part):
    """Means over the draws with a pool of so many spares."""

    spares: Annotated[int, Field(ge=0)]
    none_left: Probability
    wait_seconds: NotNegative


class SparesRow(Part):
    """Spares for one size of job or fleet."""

    gpus: Annotated[int, Field(ge=1)]
    nodes: Annotated[int, Field(ge=1)]
    spares: Annotated[int, Field(ge=0)]
    spares_needed: Figures
    none_left: Figures
    short_share: Figures
    wait_seconds: Figures
    nodes_in_repair: Figures
    pools: list[PoolRow]


class SparesDocument(Result):
    """What `meantime spares --json` prints."""

    schema_: Literal["meantime.spares/1"] = Field(alias="schema")
    repair_seconds: Figures
    sureness: Probability
    standby: NotNegative
    one_run: bool
    rows: list[SparesRow]


class Choice(Part):
    """One checkpoint interval and the ETTR it gives."""

    seconds: NotNegative | None
    ettr: Figures


class IntervalRow(Part):
    """Checkpoint intervals for one size."""

    gpus: Annotated[int, Field(ge=1)]
    mttf_hours: Figures
    optimum_seconds: Figures
    choices: dict[Literal["best", "cautious", "exact", "young", "daly", "stated"], Choice]
    good_from_seconds: NotNegative | None
    good_to_seconds: NotNegative | None


class IntervalDocument(Result):
    """What `meantime interval --json` prints."""

    schema_: Literal["meantime.interval/1"] = Field(alias="schema")
    plan: PlanFields
    within: Probability
    cautious_quantile: Probability
    rows: list[IntervalRow]


class SimulateRow(Part):
    """Simulated runs on one size, and what the closed forms say."""

    gpus: Annotated[int, Field(ge=1)]
    checkpoint_interval_seconds: NotNegative
    days_to_finish: Figures
    ettr_run: Figures
    failures: Figures
    days_mean_expected: NotNegative
    ettr_expected: Probability
    standard_errors: float


class SimulateDocument(Result):
    """What `meantime simulate --json` prints."""

    schema_: Literal["meantime.simulate/1"] = Field(alias="schema")
    plan: PlanFields
    runs: Annotated[int, Field(ge=2)]
    rows: list[SimulateRow]
