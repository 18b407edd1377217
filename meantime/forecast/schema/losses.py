"""Documents of losses and what could be done about them."""

from typing import Annotated, Literal

from pydantic import Field

from meantime.forecast.schema.parts import Figures, NotNegative, Part, PlanFields, Probability, Result


class MitigationRow(Part):
    """One mitigation."""

    mitigation: str
    gain_alone: Figures
    gain_last: Figures
    gain_shapley: Figures
    gpu_hours_saved_per_day: Figures
    probability_best: Probability
    checkpoint_interval_seconds_alone: NotNegative | None


class MitigateRow(Part):
    """One size of job, the mitigations from the largest Shapley share to the smallest."""

    gpus: Annotated[int, Field(ge=1)]
    ettr_before: Figures
    ettr_after: Figures
    gain_together: Figures
    mttf_hours_after: Figures
    checkpoint_interval_seconds_before: NotNegative | None
    checkpoint_interval_seconds_after: NotNegative | None
    mitigations: list[MitigationRow]


class MitigateDocument(Result):
    """What `meantime mitigate --json` prints."""

    schema_: Literal["meantime.mitigate/1"] = Field(alias="schema")
    plan: PlanFields
    rows: list[MitigateRow]


class Losses(Part):
    """Failures a day and the GPU-hours a day that they cost their own jobs, and others that they preempt."""

    failures_per_day: Figures
    lost_first_order: Figures
    lost_second_order: Figures
    lost_cost: Figures | None


class SizeLedger(Part):
    """GPU-hours a day that jobs of one size hold, by what became of them."""

    productive: Figures
    write: Figures
    lost: Figures
    restart: Figures
    detection: Figures
    preempted: Figures


class Ledger(SizeLedger):
    """GPU-hours a day of the cluster; the means add up to 24 times its GPUs."""

    unused: Figures


class GoodputRow(Losses):
    """Jobs of one size."""

    gpus: Annotated[int, Field(ge=1)]
    running: NotNegative
    ledger: SizeLedger


class ComponentRow(Losses):
    """One component."""

    component: str


class GoodputDocument(Result):
    """What `meantime goodput --json` prints."""

    schema_: Literal["meantime.goodput/1"] = Field(alias="schema")
    cluster_gpus: Annotated[int, Field(ge=1)]
    price_per_gpu_hour: NotNegative | None
    goodput: Figures
    ledger: Ledger
    second_order_share: Probability
    components: list[ComponentRow]
    rows: list[GoodputRow]
