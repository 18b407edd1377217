"""The document of the installation check."""

from typing import Annotated, Literal

from pydantic import Field

from meantime.forecast.schema.parts import Document, NotNegative, Part


class Device(Part):
    """A device that JAX computes on."""

    name: str
    kind: str


class CacheFolder(Part):
    """Where compiled samplers are kept."""

    folder: str | None
    used: bool
    writable: bool


class DoctorCheck(Part):
    """One check of the self-test, with what it found or what went wrong."""

    check: str
    passed: bool
    seconds: NotNegative
    note: str


class DoctorDocument(Document):
    """What `meantime doctor --json` prints."""

    schema_: Literal["meantime.doctor/1"] = Field(alias="schema")
    python: str
    system: str
    processors: Annotated[int, Field(ge=1)]
    packages: dict[str, str | None]
    devices: list[Device]
    cache: CacheFolder
    checks: list[DoctorCheck]
    passed: bool
