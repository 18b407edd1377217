"""Documents of logs: what they hold, and what was measured in them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from meantime.forecast.schema.parts import Distribution, Document, NotNegative, Part, Probability

type Count = Annotated[int, Field(ge=0)]


class QuarantinedRow(Part):
    """A row that could not be used."""

    file: str
    line: int | None
    reason: str
    text: str


class Reason(Part):
    """Why rows are in quarantine, and the first of them (null where the log was scanned)."""

    reason: str
    rows: Count
    first: QuarantinedRow | None


class Rows(Part):
    """The account of all rows: read = used + folded + quarantined; null where it is not known."""

    read: Count | None
    used: Count | None
    folded: dict[str, Count]
    quarantined: Count | None
    reasons: list[Reason]


class Mix(Part):
    """Attempts and GPU time, and their shares of the whole; null where they are not known."""

    attempts: Count | None
    gpu_hours: NotNegative | None
    share_of_attempts: Probability | None
    share_of_gpu_time: Probability | None


class StateRow(Mix):
    """Attempts in one state."""

    state: str


class Rated(Part):
    """Failures over node-days."""

    failures: Count
    node_days: NotNegative
    rate_per_1000_node_days: NotNegative | None


class SizeRow(Mix, Rated):
    """Jobs of one size, the upper edge of its bucket in GPUs."""

    job_size: Annotated[int, Field(ge=1)]


class ComponentRate(Part):
    """One component: failures that it caused, and those in which it was seen but another was taken for the cause."""

    component: str
    failures: Count
    co_occurring: Count
    rate_per_1000_node_days: NotNegative


class PeriodRow(Rated):
    """One period, by its start (UTC)."""

    period: str


class NodeRow(Rated):
    """One node."""

    node: str


class ExposureTotal(Part):
    """Node-days and GPU-hours at risk."""

    node_days: NotNegative
    gpu_hours: NotNegative
    gpus_per_node: Annotated[int, Field(ge=1)]


class FailureTotal(Part):
    """Failures by a rule, those without a cause, and those that have no place in the table."""

    total: Count
    rule: str
    unattributed: Count
    not_placed: Count


class JobsDocument(Document):
    """What `meantime jobs --json` prints of jobs and failure tables."""

    schema_: Literal["meantime.jobs/1"] = Field(alias="schema")
    source: str
    format: str
    notes: list[str]
    rows: Rows
    jobs: Count | None
    attempts: Count | None
    clusters: list[str]
    log_start: str | None
    log_end: str | None
    states: list[StateRow]
    exposure: ExposureTotal | None
    sizes: list[SizeRow]
    components: list[ComponentRate]
    periods: list[PeriodRow]
    nodes: list[NodeRow]
    failures: FailureTotal | None


class Listing(Part):
    """A table: its title, the names of its columns, and rows of values in their order."""

    title: str
    columns: list[str]
    rows: list[list[str | float | int | None]]


class LogDocument(Document):
    """What `meantime jobs --json` prints of events, outages and lives."""

    schema_: Literal["meantime.log/1"] = Field(alias="schema")
    source: str
    format: str
    kind: Literal["events", "outages", "lives"]
    notes: list[str]
    rows: Rows
    first: str | None
    last: str | None
    facts: dict[str, str | float | int]
    lists: list[Listing]


class Parts(Part):
    """A wallclock by what became of it; the parts add up to the whole."""

    productive: NotNegative
    lost: NotNegative
    restart: NotNegative
    checkpoint: NotNegative
    queue: NotNegative
    unknown: NotNegative


class RunRow(Parts):
    """A run, durations in seconds; interruptions by the infrastructure, by preemption, and others."""

    cluster: str
    run: str
    n_gpus: Count | None
    jobs: Count
    attempts: Count
    restarts: Count
    infrastructure: Count
    preempted: Count
    other: Count
    submit: str | None
    end: str | None
    running: bool
    state: str | None
    wallclock: NotNegative | None
    scheduled: NotNegative
    median_queue: NotNegative | None
    ettr: Probability | None
    user: str | None = None
    name: str | None = None


class RunsTotal(Part):
    """All runs together, weighted by their GPUs."""

    runs: Count
    attempts: Count
    infrastructure: Count
    gpu_hours: Parts
    ettr: Probability | None


class RunsDocument(Document):
    """What `meantime runs --json` prints."""

    schema_: Literal["meantime.runs/1"] = Field(alias="schema")
    source: str
    assumptions: dict[str, NotNegative]
    totals: RunsTotal
    rows: list[RunRow]


class LostBySize(Part):
    """GPU-hours that jobs of one size lost."""

    job_size: Annotated[int, Field(ge=1)]
    jobs: Count
    gpu_hours: NotNegative


class LostByComponent(Part):
    """GPU-hours that one component cost."""

    component: str
    failures: Count
    gpu_hours: NotNegative


class FirstOrder(Part):
    """What failed jobs lost themselves."""

    failures: Count
    gpu_hours: NotNegative
    by_size: list[LostBySize]
    by_component: list[LostByComponent]


class Matches(Part):
    """Preemptions and their GPU-hours that match by chance."""

    preemptions: NotNegative
    gpu_hours: NotNegative


class SecondOrder(Matches):
    """What jobs lost that gave way to the restart of a failed one; `by_size` before chance was taken off."""

    method: Literal["preempted_by", "nodes and time"] | None
    by_size: list[LostBySize]
    by_chance: Matches


class SizeMix(Mix):
    """Attempts of one job size."""

    job_size: Annotated[int, Field(ge=1)]


class LossesDocument(Document):
    """What `meantime losses --json` prints."""

    schema_: Literal["meantime.losses/1"] = Field(alias="schema")
    source: str
    log_start: str
    log_end: str
    gpu_hours: NotNegative
    capacity_gpu_hours: NotNegative | None
    utilisation: NotNegative | None
    goodput: float | None
    states: list[StateRow]
    sizes: list[SizeMix]
    lost_minutes: NotNegative
    first_order: FirstOrder
    second_order: SecondOrder
    second_order_share: Probability | None


class RuleRow(Part):
    """One component (``all``: every failure) under one rule of attribution."""

    before_minutes: NotNegative
    after_minutes: NotNegative
    severity: Literal["low", "high"]
    component: str
    failures: Count
    co_occurring: Count
    node_days: NotNegative
    rate_per_1000_node_days: NotNegative


class SensitivityDocument(Document):
    """What `meantime sensitivity --json` prints."""

    schema_: Literal["meantime.sensitivity/1"] = Field(alias="schema")
    source: str
    rows: list[RuleRow]


class Finding(Part):
    """One check: how many rows it found among how many, what that means, and rows to look at."""

    check: str
    rows: Count
    of: Count
    says: str
    examples: list[dict[str, Any]]


class RowCounts(Part):
    """Rows read, used and quarantined."""

    read: Count
    used: Count
    quarantined: Count


class QualityDocument(Document):
    """What `meantime quality --json` prints."""

    schema_: Literal["meantime.quality/1"] = Field(alias="schema")
    source: str
    rows: RowCounts
    findings: list[Finding]


class DurationRow(Part):
    """Durations of one kind, in seconds."""

    kind: str
    n: Annotated[int, Field(ge=1)]
    mean: NotNegative
    median: NotNegative
    p90: NotNegative


class TrainingRun(Parts):
    """The ledger of a run, in seconds."""

    run: str
    begin: str
    end: str
    attempts: Count
    failures: Count
    checkpoints: Count
    last_step: int | None
    wallclock: NotNegative
    ettr: Probability | None


class PlanSamples(Part):
    """Fields of a plan as samples; those that the log does not tell are left out."""

    restart: Distribution | None = None
    checkpoint_write: Distribution | None = None
    detection: Distribution | None = None
    queue: Distribution | None = None


class TrainingDocument(Document):
    """What `meantime training --json` prints."""

    schema_: Literal["meantime.training/1"] = Field(alias="schema")
    source: str
    format: str
    rows: Rows
    notes: list[str]
    durations: list[DurationRow]
    plan: PlanSamples
    runs: list[TrainingRun]
