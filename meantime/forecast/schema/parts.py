"""What all documents are made of."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

type Probability = Annotated[float, Field(ge=0, le=1)]
type NotNegative = Annotated[float, Field(ge=0)]


class Part(BaseModel):
    """A part of a document. Keys may be added within a version, so unknown ones are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Figures(Part):
    """Mean, median and bounds of the equal-tailed 90 % interval; null where a number is not finite."""

    mean: float | None
    median: float | None
    lower: float | None
    upper: float | None


class Convention(Part):
    """The interval convention."""

    kind: Literal["eti"]
    probability: Probability


class PlanTexts(Part):
    """Fields of a plan in one row, as texts: ``"5min"``, ``"optimal"``, or the label of a distribution."""

    restart: str
    checkpoint_write: str
    checkpoint_interval: str
    queue: str
    detection: str
    productive: str


class PlanSeconds(Part):
    """The same in seconds; null where optimal or uncertain."""

    restart: NotNegative | None
    checkpoint_write: NotNegative | None
    checkpoint_interval: NotNegative | None
    queue: NotNegative | None
    detection: NotNegative | None
    productive: NotNegative | None


class Distribution(Part):
    """A duration that is not known exactly: a distribution of scipy.stats, or samples."""

    distribution: str | None = None
    args: list[float] | None = None
    kwds: dict[str, float] | None = None
    samples: list[float] | None = None
    unit: str
    label: str = ""


type Value = str | Distribution


class PlanFields(Part):
    """A plan, as `meantime.forecast.Plan.from_dict` reads it: durations as texts with their unit."""

    gpus_per_node: Annotated[int, Field(ge=1, le=1024)] = 8
    restart: Value | list[Value] = "5min"
    checkpoint_write: Value | list[Value] = "30s"
    checkpoint_interval: Value | list[Value] = "optimal"
    queue: Value | list[Value] = "0s"
    detection: Value | list[Value] = "0s"
    productive: Value | list[Value] = "30d"


class Model(Part):
    """What is recorded of the fit; nothing for a stated rate."""

    model: str | None = None
    method: str | None = None
    data_digest: str | None = None
    created: str | None = None
    versions: dict[str, str] | None = None
    cluster: str | None = None
    horizon: str | None = None


class Document(Part):
    """Any document of meantime."""

    schema_: str = Field(alias="schema")


class Result(Document):
    """The head of documents that come from draws."""

    interval: Convention
    seed: int
    gpus_per_node: Annotated[int, Field(ge=1)]
    model: Model
    notes: list[str]


def as_plain(document: Document) -> dict[str, Any]:
    """Return a document as plain values again."""
    return document.model_dump(by_alias=True)
